"""Cohere's `POST /v2/rerank`, with the sentences inside each document (`relevant_spans`)."""

import uuid
from typing import Literal

from msgspec import UNSET, Struct, UnsetType, field

from rejoinder.server.api.rerank import Fields, get_ranked, make_job
from rejoinder.server.settings import Settings
from rejoinder.server.workers.messages import Rank, RankedReport, Reply

THRESHOLD = 0.1
"""Spans above this are told, where the client does not say."""


class Spans(Struct, frozen=True):
    """Whether to tell the sentences that answer, and which."""

    mode: Literal["enabled", "disabled"] = "enabled"
    threshold: float | None = None
    max_spans: int | None = None


class CohereRequest(Struct, frozen=True):
    """A question and documents to rank for it."""

    query: str
    documents: list[str | Fields]
    model: str | None = None
    """Any name: what is served is what ranks."""
    top_n: int | None = None
    relevant_spans: Spans | None = None
    max_tokens_per_doc: int | None = None
    """Passed over: documents are read to their end, sentence by sentence."""
    priority: int | None = None
    """Passed over: requests are served in the order in which they come."""


class Span(Struct, frozen=True):
    """A sentence at `[start, end)` of the document, in code points."""

    start: int
    end: int
    score: float


class CohereResult(Struct, frozen=True):
    """A document by its place in the request."""

    index: int
    relevance_score: float
    relevant_spans: list[Span] | UnsetType = UNSET


class ApiVersion(Struct, frozen=True):
    """The version of Cohere's API."""

    version: str
    is_deprecated: bool = False
    is_experimental: bool = False


class Billed(Struct, frozen=True):
    """What Cohere would count; nobody bills here."""

    search_units: int = 1


class Meta(Struct, frozen=True):
    """What Cohere says about a reply."""

    api_version: ApiVersion
    billed_units: Billed = field(default_factory=Billed)


class CohereResponse(Struct, frozen=True):
    """The documents, best first."""

    id: str
    results: list[CohereResult]
    meta: Meta


def to_job(request: CohereRequest, settings: Settings) -> Rank:
    """Return the job that a request means."""
    spans = None if _wants_spans(request) else 0
    return make_job(request.query, request.documents, settings, top=request.top_n, spans=spans)


def to_response(request: CohereRequest, reply: Reply) -> CohereResponse:
    """Return a reply as Cohere gives it."""
    results = [
        CohereResult(item.place, item.relevance, _choose_spans(request, item))
        for item in get_ranked(reply).documents
    ]
    return CohereResponse(str(uuid.uuid4()), results, Meta(ApiVersion("2")))


def _wants_spans(request: CohereRequest) -> bool:
    return request.relevant_spans is not None and request.relevant_spans.mode == "enabled"


def _choose_spans(request: CohereRequest, item: RankedReport) -> list[Span] | UnsetType:
    wanted = request.relevant_spans
    if wanted is None or not _wants_spans(request):
        return UNSET
    threshold = THRESHOLD if wanted.threshold is None else wanted.threshold
    chosen = [
        Span(span.start, span.end, span.relevance)
        for span in item.spans
        if span.relevance > threshold
    ]
    return chosen[: wanted.max_spans] or UNSET
