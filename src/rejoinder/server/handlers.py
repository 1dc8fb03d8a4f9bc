"""What each route does: a request becomes a job for a worker, its reply a response."""

import asyncio
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from rejoinder.documents.discovery import SUFFIXES
from rejoinder.server.api import cohere, native, tei, v1
from rejoinder.server.api.information import Status, describe
from rejoinder.server.bodies import check_text, read_json, read_pieces, to_shape
from rejoinder.server.metrics import Metrics
from rejoinder.server.problems import Problem, come_back
from rejoinder.server.replies import to_json
from rejoinder.server.settings import Settings
from rejoinder.server.workers.backend import Backend
from rejoinder.server.workers.messages import (
    AddDocument,
    Job,
    ListDocuments,
    Ranked,
    RemoveDocument,
    Reply,
)

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


async def answer(call: Call) -> Response:
    """Answer a question."""
    request = to_shape(await call.read(), native.AnswerRequest)
    return to_json(await call.do(native.answer_to_job(request, call.settings)))


async def rank(call: Call) -> Response:
    """Rank documents."""
    request = to_shape(await call.read(), native.RankRequest)
    reply = await call.do(native.rank_to_job(request, call.settings))
    assert isinstance(reply, Ranked)
    return to_json(native.rank_to_response(request, reply))


async def list_documents(call: Call) -> Response:
    """List the documents of the index."""
    given = call.request.query_params
    contains = given.get("contains", "")
    check_text(contains, "contains")
    job = ListDocuments(
        after=_to_number(given.get("after", "0"), "after", 0, MAX_ID),
        limit=_to_number(given.get("limit", "100"), "limit", 1, 1000),
        contains=contains,
    )
    return to_json(await call.do(job))


async def add_document(call: Call) -> Response:
    """Add a file to the index."""
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


async def remove_document(call: Call) -> Response:
    """Remove a document from the index."""
    id_ = _to_number(call.request.path_params["id"], "id", 0, MAX_ID)
    return to_json(await call.backend.do(RemoveDocument(id_)))


async def mark_answer(call: Call) -> Response:
    """Keep whether an answer was right."""
    request = to_shape(await call.read(), native.FeedbackRequest)
    job = native.feedback_to_job(request, call.settings)
    return to_json(await call.backend.do(job))


async def rerank_cohere(call: Call) -> Response:
    """Rank as Cohere's v2 does."""
    request = to_shape(await call.read(), cohere.CohereRequest)
    reply = await call.do(cohere.to_job(request, call.settings))
    return to_json(cohere.to_response(request, reply))


async def rerank_v1(call: Call) -> Response:
    """Rank as Cohere's v1, Jina and Voyage do."""
    request = to_shape(await call.read(), v1.V1Request)
    job = v1.to_job(request, call.settings)
    return to_json(v1.to_response(request, job, await call.do(job)))


async def rerank_tei(call: Call) -> Response:
    """Rank as text-embeddings-inference, infinity and vLLM do."""
    fields = await call.read()
    if fields.get("documents") is None:
        texts = to_shape(fields, tei.TeiRequest)
        return to_json(
            tei.tei_to_response(texts, await call.do(tei.tei_to_job(texts, call.settings)))
        )
    documents = to_shape(fields, tei.InfinityRequest)
    job = tei.infinity_to_job(documents, call.settings)
    return to_json(tei.infinity_to_response(documents, job, await call.do(job)))


async def tell_health(call: Call) -> Response:  # noqa: ARG001
    """Say that the server runs."""
    return to_json(Status("ok"))


async def tell_ready(call: Call) -> Response:
    """Say whether a worker is ready."""
    if not call.backend.is_ready:
        raise come_back(503, "no worker is ready")
    return to_json(Status("ok"))


async def tell_info(call: Call) -> Response:
    """Say what is served."""
    return to_json(describe(call.backend.info, call.settings))


async def show_metrics(call: Call) -> Response:
    """Show counts and times."""
    return Response(call.metrics.show(), media_type="text/plain; version=0.0.4")


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
