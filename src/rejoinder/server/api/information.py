"""What a server says about itself; TEI's clients know some of the fields."""

from msgspec import Struct, field

from rejoinder import __version__
from rejoinder.server.settings import Settings
from rejoinder.server.workers.messages import FrontierPoint, Info, StageInfo


class Status(Struct, frozen=True):
    """That all is well."""

    status: str


class Labels(Struct, frozen=True):
    """TEI names the one number that a reranker gives."""

    id2label: dict[str, str] = field(default_factory=lambda: {"0": "LABEL_0"})
    label2id: dict[str, int] = field(default_factory=lambda: {"LABEL_0": 0})


class ModelType(Struct, frozen=True):
    """What kind of model is served, as TEI says it."""

    reranker: Labels = field(default_factory=Labels)


class ServerInfo(Struct, frozen=True):
    """What is served, and within which limits."""

    model_id: str
    stages: list[StageInfo]
    has_index: bool
    needs_key: bool
    threshold: float | None
    """The confidence below which there is no answer; null where nothing is calibrated."""
    tuned: dict[str, str | int | float]
    """What `rejoinder tune` wrote into the cascade's file."""
    frontier: list[FrontierPoint]
    """The cascades that it chose from, fastest first."""
    budget_ms: float | None
    max_client_batch_size: int
    max_concurrent_requests: int
    max_body_bytes: int
    max_upload_bytes: int
    max_question_characters: int
    version: str
    model_sha: str | None = None
    model_dtype: str = "int8"
    model_type: ModelType = field(default_factory=ModelType)


def describe(info: Info, settings: Settings) -> ServerInfo:
    """Return what a server says about itself."""
    return ServerInfo(
        model_id=info.scorer,
        stages=info.stages,
        has_index=info.has_index,
        needs_key=settings.keys is not None,
        threshold=info.threshold,
        tuned=info.tuned,
        frontier=info.frontier,
        budget_ms=settings.budget_ms,
        max_client_batch_size=settings.max_documents,
        max_concurrent_requests=settings.max_waiting,
        max_body_bytes=settings.max_body_bytes,
        max_upload_bytes=settings.max_upload_bytes,
        max_question_characters=settings.max_question_characters,
        version=__version__,
    )
