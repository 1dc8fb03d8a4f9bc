"""`POST /rerank` of text-embeddings-inference, infinity and vLLM, on one route.

A body with `texts` is TEI's; one with `documents` is infinity's or vLLM's.  To return a document,
infinity's clients expect a string and vLLM's an object: they get the object.
"""

import time
import uuid
from typing import Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from rejoinder.server.api.rerank import DocumentResult, Fields, count_words, list_results, rank
from rejoinder.server.operation import BUDGET_PARAMETER, Call, decode, operation
from rejoinder.server.problems import TeiError, to_json


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
    """A text by its index in the request."""

    index: int
    score: float | None
    """Null for a raw score that is not finite."""
    text: str | UnsetType = UNSET


class InfinityUsage(Struct, frozen=True):
    """Roughly how many words were read."""

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


class _Probe(Struct, frozen=True):
    documents: msgspec.Raw = msgspec.Raw(b"null")


@operation(
    *("POST", "/rerank"),
    takes=TeiRequest | InfinityRequest,
    gives=list[TeiResult] | InfinityResponse,
    error=TeiError,
    parameters=(BUDGET_PARAMETER,),
)
async def rerank(call: Call) -> Response:
    """Rank as text-embeddings-inference, infinity and vLLM do."""
    body = await call.read_bytes()
    if bytes(decode(body, _Probe).documents) == b"null":
        return await _rank_texts(call, decode(body, TeiRequest))
    return await _rank_documents(call, decode(body, InfinityRequest))


async def _rank_texts(call: Call, request: TeiRequest) -> Response:
    ranking, _ = await rank(call, request.query, request.texts, name="texts")
    results = [
        TeiResult(
            item.place,
            item.score if request.raw_scores else item.relevance,
            request.texts[item.place] if request.return_text else UNSET,
        )
        for item in ranking.documents
    ]
    return to_json(results, headers=ranking.headers)


async def _rank_documents(call: Call, request: InfinityRequest) -> Response:
    ranking, texts = await rank(call, request.query, request.documents, top=request.top_n)
    words = count_words(request.query, texts)
    response = InfinityResponse(
        object="rerank",
        id=str(uuid.uuid4()),
        created=int(time.time()),
        model=request.model or ranking.scorer,
        usage=InfinityUsage(words, words),
        results=list_results(
            ranking,
            request.documents if request.return_documents else None,
            are_raw=bool(request.raw_scores),
        ),
    )
    return to_json(response, headers=ranking.headers)
