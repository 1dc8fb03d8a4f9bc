"""Cohere's `POST /v2/rerank`, with the sentences inside each document (`relevant_spans`)."""

import time
import uuid
from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from starlette.responses import Response

from rejoinder.server.api.rerank import Fields, RankedSpan, RankedText, rank
from rejoinder.server.budget import CutStage, describe_cut
from rejoinder.server.operation import BUDGET_PARAMETER, Call, operation
from rejoinder.server.problems import CohereError, to_json
from rejoinder.server.workers.messages import ALL_SPANS, HighlightRequest, decode_highlights


class CohereSpanOptions(Struct, frozen=True):
    """Whether to return the sentences that answer, and which."""

    mode: Literal["enabled", "disabled"] = "enabled"
    threshold: float | None = None
    """The relevance above which they are returned; 0.1 by default."""
    max_spans: int | None = None


class CohereRequest(Struct, frozen=True):
    """A question and documents to rank for it."""

    query: str
    documents: list[str | Fields]
    model: str | None = None
    """Any name; the served scorer ranks."""
    top_n: int | None = None
    relevant_spans: CohereSpanOptions | None = None
    max_tokens_per_doc: int | None = None
    """Ignored: documents are read to their end, sentence by sentence."""
    priority: int | None = None
    """Ignored: requests are served in order of arrival."""


class CohereSpan(Struct, frozen=True):
    """A sentence at `[start, end)` of the document, in code points."""

    start: int
    end: int
    score: float


class CohereResult(Struct, frozen=True):
    """A document by its index in the request."""

    index: int
    relevance_score: float
    relevant_spans: list[CohereSpan] | UnsetType = UNSET


class CohereApiVersion(Struct, frozen=True):
    """The version of Cohere's API."""

    version: str
    is_deprecated: bool = False
    is_experimental: bool = False


class CohereBilledUnits(Struct, frozen=True):
    """Cohere's unit of billing; nothing is billed here."""

    search_units: int = 1


class CohereMeta(Struct, frozen=True):
    """The metadata of Cohere's replies."""

    api_version: CohereApiVersion
    billed_units: CohereBilledUnits = field(default_factory=CohereBilledUnits)


class CohereResponse(Struct, frozen=True):
    """The documents, best first."""

    id: str
    results: list[CohereResult]
    meta: CohereMeta


@operation(
    *("POST", "/v2/rerank"),
    takes=CohereRequest,
    gives=CohereResponse,
    error=CohereError,
    parameters=(BUDGET_PARAMETER,),
)
async def rerank(call: Call) -> Response:
    """Rank as Cohere's v2 does, with `relevant_spans`."""
    request = await call.read(CohereRequest)
    options = request.relevant_spans
    if options and options.mode == "disabled":
        options = None
    is_rated = options is not None and call.backend.info.rates_sentences
    spans = ALL_SPANS if options and not is_rated else 0
    start = time.monotonic()
    ranking, texts = await rank(
        call, request.query, request.documents, top=request.top_n, spans=spans
    )
    documents = ranking.documents
    stages = list(ranking.trace)
    if is_rated and documents:
        budget = call.read_budget()
        if budget is not None:
            budget = max(0.0, budget - 1000 * (time.monotonic() - start))
        documents, rating = await _rate(call, request.query, documents, texts, budget)
        stages += rating
    results = [
        CohereResult(item.place, item.relevance, _choose_spans(item, options)) for item in documents
    ]
    meta = CohereMeta(CohereApiVersion("2"))
    return to_json(CohereResponse(str(uuid.uuid4()), results, meta), headers=describe_cut(stages))


async def _rate(
    call: Call,
    question: str,
    documents: Sequence[RankedText],
    texts: Sequence[str],
    budget_ms: float | None,
) -> tuple[list[RankedText], list[CutStage]]:
    """Return the documents with the spans of highlighting, best first, and what its stages did."""
    given = [texts[item.place] for item in documents]
    reply = await call.submit(HighlightRequest(question, given, budget_ms=budget_ms))
    highlighted = decode_highlights(reply)
    rated = [
        msgspec.structs.replace(
            item,
            spans=sorted(
                (RankedSpan(own.start, own.end, own.score) for own in found.sentences),
                key=lambda span: -span.relevance,
            ),
        )
        for item, found in zip(documents, highlighted.documents, strict=True)
    ]
    fields = CutStage.__struct_fields__
    stages = [
        CutStage(**{name: getattr(stage, name) for name in fields}) for stage in highlighted.trace
    ]
    return rated, stages


def _choose_spans(
    item: RankedText, options: CohereSpanOptions | None
) -> list[CohereSpan] | UnsetType:
    if options is None:
        return UNSET
    threshold = 0.1 if options.threshold is None else options.threshold
    spans = [
        CohereSpan(span.start, span.end, span.relevance)
        for span in item.spans
        if span.relevance > threshold
    ]
    return spans[: options.max_spans] or UNSET
