"""`POST /v1/rerank` of Cohere, Jina and Voyage, on one route.

No key of Cohere's and Jina's replies clashes, so one reply serves both.  A request with `top_k` or
`truncation` comes from a client of Voyage, and gets Voyage's reply.
"""

import time
import uuid

from msgspec import UNSET, Struct, UnsetType
from starlette.responses import Response

from rejoinder.server.api.cohere import CohereApiVersion, CohereMeta
from rejoinder.server.api.rerank import DocumentResult, Fields, count_words, list_results, rank
from rejoinder.server.operation import BUDGET_PARAMETER, Call, operation
from rejoinder.server.problems import RerankError, to_json


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
    """Roughly how many words were read."""

    total_tokens: int


class V1Response(Struct, frozen=True):
    """The documents, best first, as Cohere's and Jina's clients expect them."""

    id: str
    model: str
    object: str
    created: int
    usage: Usage
    results: list[DocumentResult]
    meta: CohereMeta


class VoyageResult(Struct, frozen=True):
    """A document by its index in the request."""

    index: int
    relevance_score: float
    document: str | UnsetType = UNSET


class VoyageResponse(Struct, frozen=True):
    """The documents, best first, as Voyage's clients expect them."""

    object: str
    data: list[VoyageResult]
    model: str
    usage: Usage


@operation(
    *("POST", "/v1/rerank"),
    takes=V1Request,
    gives=V1Response | VoyageResponse,
    error=RerankError,
    parameters=(BUDGET_PARAMETER,),
)
async def rerank(call: Call) -> Response:
    """Rank as Cohere's v1, Jina and Voyage do."""
    request = await call.read(V1Request)
    top = request.top_n if request.top_n is not None else request.top_k
    ranking, texts = await rank(
        call, request.query, request.documents, top=top, fields=request.rank_fields
    )
    model = request.model or ranking.scorer
    usage = Usage(count_words(request.query, texts))
    if request.top_n is None and (request.top_k is not None or request.truncation is not None):
        given = texts if request.return_documents else [UNSET] * len(texts)
        data = [
            VoyageResult(item.place, item.relevance, given[item.place])
            for item in ranking.documents
        ]
        return to_json(VoyageResponse("list", data, model, usage), headers=ranking.headers)
    return to_json(
        V1Response(
            id=str(uuid.uuid4()),
            model=model,
            object="list",
            created=int(time.time()),
            usage=usage,
            results=list_results(ranking, request.documents if request.return_documents else None),
            meta=CohereMeta(CohereApiVersion("1")),
        ),
        headers=ranking.headers,
    )
