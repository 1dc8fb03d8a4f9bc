"""`POST /rerank` of text-embeddings-inference, of infinity and of vLLM, on one route.

A body with `texts` is TEI's; one with `documents` is infinity's or vLLM's.  Where documents are to
be given back, infinity's clients want a string and vLLM's an object: they get the object.
"""

import time
import uuid
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

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


class TeiRequest(Struct, frozen=True):
    """A question and texts to rank for it."""

    query: str
    texts: list[str]
    raw_scores: bool | None = None
    return_text: bool | None = None
    truncate: bool | None = None
    truncation_direction: Literal["Left", "Right", "left", "right"] | None = None


class InfinityRequest(Struct, frozen=True):
    """A question and documents to rank for it."""

    query: str
    documents: list[str | Fields]
    model: str | None = None
    top_n: int | None = None
    return_documents: bool | None = None
    raw_scores: bool | None = None


class TeiResult(Struct, frozen=True):
    """A text by its place in the request."""

    index: int
    score: float
    text: str | UnsetType = UNSET


class InfinityUsage(Struct, frozen=True):
    """About how many words were read."""

    prompt_tokens: int
    total_tokens: int


class InfinityResponse(Struct, frozen=True):
    """The documents, best first."""

    object: str
    id: str
    created: int
    model: str
    usage: InfinityUsage
    results: list[DocumentResult]


def tei_to_job(request: TeiRequest, settings: Settings) -> Rank:
    """Return the job that a request means."""
    return make_job(request.query, request.texts, settings, names=("query", "texts"))


def tei_to_response(request: TeiRequest, reply: Reply) -> list[TeiResult]:
    """Return a reply as TEI gives it."""
    return [
        TeiResult(
            item.place,
            item.score if request.raw_scores else item.relevance,
            request.texts[item.place] if request.return_text else UNSET,
        )
        for item in get_ranked(reply).documents
    ]


def infinity_to_job(request: InfinityRequest, settings: Settings) -> Rank:
    """Return the job that a request means."""
    return make_job(request.query, request.documents, settings, top=request.top_n)


def infinity_to_response(request: InfinityRequest, job: Rank, reply: Reply) -> InfinityResponse:
    """Return a reply as infinity and vLLM give it."""
    ranked = get_ranked(reply)
    words = count_words(job)
    return InfinityResponse(
        object="rerank",
        id=str(uuid.uuid4()),
        created=int(time.time()),
        model=request.model or ranked.scorer,
        usage=InfinityUsage(words, words),
        results=list_results(
            ranked,
            request.documents if request.return_documents else None,
            are_raw=bool(request.raw_scores),
        ),
    )
