"""The routes: for each, what it takes, what it gives, and what it does.

The application and the OpenAPI document are both made from this table.
"""

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rejoinder import __version__
from rejoinder.documents.files import SUFFIXES
from rejoinder.server import native
from rejoinder.server.bodies import check_text, read_json, read_pieces, to_shape
from rejoinder.server.dialects import cohere, tei, v1
from rejoinder.server.information import ServerInfo, Status, describe
from rejoinder.server.messages import (
    AddDocument,
    Added,
    Answered,
    DocumentsPage,
    Job,
    ListDocuments,
    Marked,
    Ranked,
    Removed,
    RemoveDocument,
    Reply,
)
from rejoinder.server.metrics import Metrics
from rejoinder.server.pool import Backend
from rejoinder.server.problems import (
    CohereError,
    OurError,
    Problem,
    RerankError,
    Shape,
    TeiError,
    come_back,
    to_cohere,
    to_ours,
    to_rerank,
    to_tei,
)
from rejoinder.server.replies import to_json
from rejoinder.server.settings import Settings

MAX_ID = 2**63 - 1
MAX_NAME_CHARACTERS = 500


@dataclass(frozen=True, slots=True)
class Call:
    """One request, and what it may use."""

    request: Request
    settings: Settings
    backend: Backend
    metrics: Metrics

    async def read(self) -> dict[str, Any]:
        """Return the JSON object that came."""
        self.backend.check_room()
        return await read_json(
            self.request,
            max_bytes=self.settings.max_body_bytes,
            seconds=self.settings.body_timeout_seconds,
        )

    async def do(self, job: Job) -> Reply:
        """Return the reply to a job; give it up when the client goes away."""
        work = asyncio.ensure_future(self.backend.do(job))
        gone = asyncio.ensure_future(_watch(self.request))
        try:
            await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Problem(400, "the client went away")
            return work.result()
        finally:
            work.cancel()
            gone.cancel()


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


async def _answer(call: Call) -> Response:
    request = to_shape(await call.read(), native.AnswerRequest)
    return to_json(await call.do(native.answer_to_job(request, call.settings)))


async def _rank(call: Call) -> Response:
    request = to_shape(await call.read(), native.RankRequest)
    reply = await call.do(native.rank_to_job(request, call.settings))
    assert isinstance(reply, Ranked)
    return to_json(native.rank_to_response(request, reply))


async def _list(call: Call) -> Response:
    given = call.request.query_params
    contains = given.get("contains", "")
    check_text(contains, "contains")
    job = ListDocuments(
        after=_to_number(given.get("after", "0"), "after", 0, MAX_ID),
        limit=_to_number(given.get("limit", "100"), "limit", 1, 1000),
        contains=contains,
    )
    return to_json(await call.do(job))


async def _add(call: Call) -> Response:
    request = call.request
    name = request.query_params.get("name", "")
    check_text(name, "name")
    if not name.strip() or not name.isprintable() or len(name) > MAX_NAME_CHARACTERS:
        raise Problem(422, "name must be a file's name, such as ?name=tea.md")
    metadata = _read_metadata(request.query_params.getlist("meta"))
    call.backend.check_room()
    suffix = Path(name).suffix.lower()
    handle, path = tempfile.mkstemp(suffix=suffix if suffix in SUFFIXES else ".unknown")
    try:
        with os.fdopen(handle, "wb") as file:
            async for piece in read_pieces(
                request,
                max_bytes=call.settings.max_upload_bytes,
                seconds=call.settings.write_timeout_seconds,
            ):
                file.write(piece)
        # Once it is here it is added, also when the client does not wait.
        return to_json(await call.backend.do(AddDocument(name, path, metadata)))
    finally:
        Path(path).unlink(missing_ok=True)


async def _remove(call: Call) -> Response:
    id_ = _to_number(call.request.path_params["id"], "id", 0, MAX_ID)
    return to_json(await call.backend.do(RemoveDocument(id_)))


async def _mark(call: Call) -> Response:
    request = to_shape(await call.read(), native.FeedbackRequest)
    job = native.feedback_to_job(request, call.settings)
    return to_json(await call.backend.do(job))


async def _cohere(call: Call) -> Response:
    request = to_shape(await call.read(), cohere.CohereRequest)
    reply = await call.do(cohere.to_job(request, call.settings))
    return to_json(cohere.to_response(request, reply))


async def _v1(call: Call) -> Response:
    request = to_shape(await call.read(), v1.V1Request)
    job = v1.to_job(request, call.settings)
    return to_json(v1.to_response(request, job, await call.do(job)))


async def _tei(call: Call) -> Response:
    fields = await call.read()
    if fields.get("documents") is None:
        texts = to_shape(fields, tei.TeiRequest)
        return to_json(
            tei.tei_to_response(texts, await call.do(tei.tei_to_job(texts, call.settings)))
        )
    documents = to_shape(fields, tei.InfinityRequest)
    job = tei.infinity_to_job(documents, call.settings)
    return to_json(tei.infinity_to_response(documents, job, await call.do(job)))


async def _health(call: Call) -> Response:  # noqa: ARG001
    return to_json(Status("ok"))


async def _ready(call: Call) -> Response:
    if not call.backend.is_ready:
        raise come_back(503, "no worker is ready")
    return to_json(Status("ok"))


async def _info(call: Call) -> Response:
    return to_json(describe(call.backend.info, call.settings))


async def _metrics(call: Call) -> Response:
    return Response(call.metrics.show(), media_type="text/plain; version=0.0.4")


async def _openapi(call: Call) -> Response:  # noqa: ARG001
    from rejoinder.server.openapi import make_openapi

    return to_json(make_openapi(OPERATIONS, __version__))


async def _watch(request: Request) -> None:
    """Return when the client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _to_number(text: str, name: str, least: int, most: int) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 20 else -1
    if not least <= number <= most:
        raise Problem(422, f"{name} must be a number from {least} to {most}")
    return number


def _read_metadata(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        check_text(pair, "meta")
        key, mark, value = pair.partition("=")
        if not key or not mark:
            raise Problem(422, f"meta must be KEY=VALUE, found {pair!r}")
        found[key] = value
    return found


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        *("POST", "/v1/answer", "Answer a question with a sentence of the index, or of a text."),
        handle=_answer,
        takes=native.AnswerRequest,
        gives=Answered,
        statuses=ASKED,
    ),
    Operation(
        *("POST", "/v1/rank", "Rank documents, each by its best sentence."),
        handle=_rank,
        takes=native.RankRequest,
        gives=native.RankResponse,
        statuses=ASKED,
    ),
    Operation(
        *("GET", "/v1/documents", "List the documents of the index, page by page."),
        handle=_list,
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
        handle=_add,
        takes=bytes,
        gives=Added,
        statuses=(400, 401, 403, 408, 413, 422, 429, 500, 503, 504),
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
        handle=_remove,
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
        handle=_mark,
        takes=native.FeedbackRequest,
        gives=Marked,
        statuses=ASKED,
        changes=True,
    ),
    Operation(
        *("POST", "/v2/rerank", "Rank as Cohere's v2 does, with `relevant_spans`."),
        handle=_cohere,
        takes=cohere.CohereRequest,
        gives=cohere.CohereResponse,
        shape=to_cohere,
        error=CohereError,
        statuses=ASKED,
    ),
    Operation(
        *("POST", "/v1/rerank", "Rank as Cohere's v1, Jina and Voyage do."),
        handle=_v1,
        takes=v1.V1Request,
        gives=v1.V1Response | v1.VoyageResponse,
        shape=to_rerank,
        error=RerankError,
        statuses=ASKED,
    ),
    Operation(
        *("POST", "/rerank", "Rank as text-embeddings-inference, infinity and vLLM do."),
        handle=_tei,
        takes=tei.TeiRequest | tei.InfinityRequest,
        gives=list[tei.TeiResult] | tei.InfinityResponse,
        shape=to_tei,
        error=TeiError,
        statuses=ASKED,
    ),
    Operation(
        *("GET", "/info", "Say what is served, and within which limits."),
        handle=_info,
        gives=ServerInfo,
        shape=to_tei,
        error=TeiError,
        statuses=(401, 403),
    ),
    Operation(
        *("GET", "/health", "Say that the server runs."),
        handle=_health,
        gives=Status,
        is_public=True,
    ),
    Operation(
        *("GET", "/ready", "Say whether questions would be answered now."),
        handle=_ready,
        gives=Status,
        statuses=(503,),
        is_public=True,
    ),
    Operation(
        *("GET", "/metrics", "Counts and times, for Prometheus."),
        handle=_metrics,
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
