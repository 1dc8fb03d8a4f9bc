"""Routes about the server itself; `/info` has the fields that TEI's clients read."""

from msgspec import Struct, field
from msgspec.structs import asdict
from starlette.responses import Response

from rejoinder import __version__
from rejoinder.server.operation import Call, operation
from rejoinder.server.problems import TeiError, retry_later, to_json
from rejoinder.server.workers.messages import WorkerInfo


class Status(Struct, frozen=True):
    """The state of the server."""

    status: str


class Labels(Struct, frozen=True):
    """TEI's name for the single score of a reranker."""

    id2label: dict[str, str] = field(default_factory=lambda: {"0": "LABEL_0"})
    label2id: dict[str, int] = field(default_factory=lambda: {"LABEL_0": 0})


class ModelType(Struct, frozen=True):
    """The kind of model, in TEI's terms."""

    reranker: Labels = field(default_factory=Labels)


class ServerInfo(WorkerInfo, frozen=True, kw_only=True):
    """The served models and the limits on requests."""

    model_id: str
    """The scorer, under TEI's name."""
    needs_key: bool
    budget_ms: float | None
    max_client_batch_size: int
    """The most documents per request."""
    max_concurrent_requests: int
    """The size of the queue."""
    max_body_bytes: int
    max_upload_bytes: int
    max_question_characters: int
    version: str = __version__
    model_sha: str | None = None
    model_dtype: str = "int8"
    model_type: ModelType = field(default_factory=ModelType)


@operation("GET", "/info", gives=ServerInfo, error=TeiError)
async def info(call: Call) -> Response:
    """Describe the served models and the limits on requests."""
    worker, settings = call.backend.info, call.settings
    return to_json(
        ServerInfo(
            **asdict(worker),
            model_id=worker.scorer,
            needs_key=settings.keys is not None,
            budget_ms=settings.budget_ms,
            max_client_batch_size=settings.max_documents,
            max_concurrent_requests=settings.max_waiting,
            max_body_bytes=settings.max_body_bytes,
            max_upload_bytes=settings.max_upload_bytes,
            max_question_characters=settings.max_question_characters,
        )
    )


@operation("GET", "/health", gives=Status, is_public=True)
async def health(call: Call) -> Response:  # noqa: ARG001
    """Liveness: the server runs."""
    return to_json(Status("ok"))


@operation("GET", "/ready", gives=Status, statuses=(503,), is_public=True)
async def ready(call: Call) -> Response:
    """Readiness: a worker can take requests, and the index can be read."""
    if not call.backend.is_ready:
        raise retry_later(503, "no worker is ready")
    if call.backend.index_problem:
        raise retry_later(503, call.backend.index_problem)
    return to_json(Status("ok"))


@operation("GET", "/metrics", gives=str)
async def metrics(call: Call) -> Response:
    """Counters and latencies, for Prometheus."""
    return Response(call.metrics.render(), media_type="text/plain; version=0.0.4")


OPERATIONS = (info, health, ready, metrics)
