"""The routes: for each, what it takes, what it gives, and who handles it.

The application and the OpenAPI document are both made from this table.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from rejoinder import __version__
from rejoinder.server import handlers
from rejoinder.server.api import cohere, native, tei, v1
from rejoinder.server.api.information import ServerInfo, Status
from rejoinder.server.handlers import MAX_ID, MAX_NAME_CHARACTERS, Call
from rejoinder.server.problems import (
    CohereError,
    OurError,
    RerankError,
    Shape,
    TeiError,
    to_cohere,
    to_ours,
    to_rerank,
    to_tei,
)
from rejoinder.server.replies import to_json
from rejoinder.server.workers.messages import Added, Answered, DocumentsPage, Marked, Removed


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that stands in the path or behind the question mark."""

    name: str
    where: str
    what: str
    schema: dict[str, Any]
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one route."""

    method: str
    path: str
    what: str
    handle: Callable[[Call], Awaitable[Response]]
    takes: Any = None
    gives: Any = None
    shape: Shape = to_ours
    error: type = OurError
    statuses: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    changes: bool = False
    is_public: bool = False
    """Whether it can be called without a key, and under any host name."""


ASKED = (400, 401, 403, 408, 413, 422, 429, 500, 503, 504)
"""What may go wrong where a body is read and a worker is needed."""
READ = (401, 403, 422, 429, 500, 503, 504)
"""The same without a body."""


async def _openapi(call: Call) -> Response:  # noqa: ARG001
    from rejoinder.server.openapi import make_openapi

    return to_json(make_openapi(OPERATIONS, __version__))


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        *("POST", "/v1/answer", "Answer a question with a sentence of the index, or of a text."),
        handle=handlers.answer,
        takes=native.AnswerRequest,
        gives=Answered,
        statuses=ASKED,
    ),
    Operation(
        *("POST", "/v1/rank", "Rank documents, each by its best sentence."),
        handle=handlers.rank,
        takes=native.RankRequest,
        gives=native.RankResponse,
        statuses=ASKED,
    ),
    Operation(
        *("GET", "/v1/documents", "List the documents of the index, page by page."),
        handle=handlers.list_documents,
        gives=DocumentsPage,
        statuses=READ,
        parameters=(
            Parameter(
                *("after", "query", "The last id of the page before; 0 at the beginning."),
                {"type": "integer", "minimum": 0, "maximum": MAX_ID, "default": 0},
            ),
            Parameter(
                *("limit", "query", "How many."),
                {"type": "integer", "minimum": 1, "maximum": 1000, "default": 100},
            ),
            Parameter(
                *("contains", "query", "Only those with this in their name or title."),
                {"type": "string", "default": ""},
            ),
        ),
    ),
    Operation(
        *("POST", "/v1/documents", "Add a file: the body is the file itself."),
        handle=handlers.add_document,
        takes=bytes,
        gives=Added,
        statuses=ASKED,
        parameters=(
            Parameter(
                *("name", "query", "The file's name; its ending says what it is."),
                {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARACTERS},
                is_required=True,
            ),
            Parameter(
                *("meta", "query", "KEY=VALUE, to ask for with `where`; may be repeated."),
                {"type": "array", "items": {"type": "string", "pattern": "^[^=]+=.*$"}},
            ),
        ),
        changes=True,
    ),
    Operation(
        *("DELETE", "/v1/documents/{id}", "Remove a document."),
        handle=handlers.remove_document,
        gives=Removed,
        statuses=(401, 403, 404, 422, 429, 500, 503, 504),
        parameters=(
            Parameter(
                *("id", "path", "Its id, from the list."),
                {"type": "integer", "minimum": 0, "maximum": MAX_ID},
                is_required=True,
            ),
        ),
        changes=True,
    ),
    Operation(
        *("POST", "/v1/feedback", "Say whether an answer is right, for `rejoinder train`."),
        handle=handlers.mark_answer,
        takes=native.FeedbackRequest,
        gives=Marked,
        statuses=ASKED,
        changes=True,
    ),
    Operation(
        *("POST", "/v2/rerank", "Rank as Cohere's v2 does, with `relevant_spans`."),
        handle=handlers.rerank_cohere,
        takes=cohere.CohereRequest,
        gives=cohere.CohereResponse,
        shape=to_cohere,
        error=CohereError,
        statuses=ASKED,
    ),
    Operation(
        *("POST", "/v1/rerank", "Rank as Cohere's v1, Jina and Voyage do."),
        handle=handlers.rerank_v1,
        takes=v1.V1Request,
        gives=v1.V1Response | v1.VoyageResponse,
        shape=to_rerank,
        error=RerankError,
        statuses=ASKED,
    ),
    Operation(
        *("POST", "/rerank", "Rank as text-embeddings-inference, infinity and vLLM do."),
        handle=handlers.rerank_tei,
        takes=tei.TeiRequest | tei.InfinityRequest,
        gives=list[tei.TeiResult] | tei.InfinityResponse,
        shape=to_tei,
        error=TeiError,
        statuses=ASKED,
    ),
    Operation(
        *("GET", "/info", "Say what is served, and within which limits."),
        handle=handlers.tell_info,
        gives=ServerInfo,
        shape=to_tei,
        error=TeiError,
        statuses=(401, 403),
    ),
    Operation(
        *("GET", "/health", "Say that the server runs."),
        handle=handlers.tell_health,
        gives=Status,
        is_public=True,
    ),
    Operation(
        *("GET", "/ready", "Say whether questions would be answered now."),
        handle=handlers.tell_ready,
        gives=Status,
        statuses=(503,),
        is_public=True,
    ),
    Operation(
        *("GET", "/metrics", "Counts and times, for Prometheus."),
        handle=handlers.show_metrics,
        gives=str,
        statuses=(401, 403),
    ),
    Operation(
        *("GET", "/openapi.json", "This API as an OpenAPI 3.1 document."),
        handle=_openapi,
        gives=dict[str, Any],
        statuses=(401, 403),
    ),
)
