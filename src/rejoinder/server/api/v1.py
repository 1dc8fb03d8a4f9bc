"""`POST /v1/rerank` of Cohere, Jina and Voyage, on one route.

Cohere's and Jina's replies have no key that means two things, so one reply serves both.  Voyage's
clients are known by `top_k`, or by `truncation`, and get their own.
"""

import time
import uuid

from msgspec import UNSET, Struct, UnsetType

from rejoinder.server.api.cohere import ApiVersion, Meta
from rejoinder.server.api.rerank import (
    DocumentResult,
    Fields,
    count_words,
    get_ranked,
    list_results,
    make_job,
)
from rejoinder.server.settings import Settings
from rejoinder.server.workers.messages import Rank, Reply


class V1Request(Struct, frozen=True):
    """A question and documents to rank for it."""

    query: str
    documents: list[str | Fields]
    model: str | None = None
    top_n: int | None = None
    top_k: int | None = None
    """Voyage's name for `top_n`."""
    return_documents: bool | None = None
    rank_fields: list[str] | None = None
    truncation: bool | None = None
    max_chunks_per_doc: int | None = None


class Usage(Struct, frozen=True):
    """About how many words were read."""

    total_tokens: int


class V1Response(Struct, frozen=True):
    """The documents, best first, as Cohere's and Jina's clients expect them."""

    id: str
    model: str
    object: str
    created: int
    usage: Usage
    results: list[DocumentResult]
    meta: Meta


class VoyageResult(Struct, frozen=True):
    """A document by its place in the request."""

    index: int
    relevance_score: float
    document: str | UnsetType = UNSET


class VoyageResponse(Struct, frozen=True):
    """The documents, best first, as Voyage's clients expect them."""

    object: str
    data: list[VoyageResult]
    model: str
    usage: Usage


def to_job(request: V1Request, settings: Settings) -> Rank:
    """Return the job that a request means."""
    top = request.top_n if request.top_n is not None else request.top_k
    return make_job(request.query, request.documents, settings, top=top, fields=request.rank_fields)


def to_response(request: V1Request, job: Rank, reply: Reply) -> V1Response | VoyageResponse:
    """Return a reply as the client that asked expects it."""
    return _to_voyage(request, job, reply) if is_voyage(request) else _to_v1(request, job, reply)


def is_voyage(request: V1Request) -> bool:
    """Whether a request comes from a client of Voyage."""
    return request.top_n is None and (request.top_k is not None or request.truncation is not None)


def _to_v1(request: V1Request, job: Rank, reply: Reply) -> V1Response:
    ranked = get_ranked(reply)
    return V1Response(
        id=str(uuid.uuid4()),
        model=request.model or ranked.scorer,
        object="list",
        created=int(time.time()),
        usage=Usage(count_words(job)),
        results=list_results(ranked, request.documents if request.return_documents else None),
        meta=Meta(ApiVersion("1")),
    )


def _to_voyage(request: V1Request, job: Rank, reply: Reply) -> VoyageResponse:
    ranked = get_ranked(reply)
    data = [
        VoyageResult(
            item.place,
            item.relevance,
            job.texts[item.place] if request.return_documents else UNSET,
        )
        for item in ranked.documents
    ]
    return VoyageResponse("list", data, request.model or ranked.scorer, Usage(count_words(job)))
