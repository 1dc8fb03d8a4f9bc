"""An operation: one method of one route, with its handler and its types.

The application and the OpenAPI document are both made from operations.
"""

import asyncio
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rejoinder.server.problems import ErrorShape, NativeError, Problem
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import AnswerRequest, Backend, Job, RankRequest

BODY_STATUSES = (400, 401, 403, 408, 413, 422, 429, 500, 503, 504)
"""The errors of an operation that reads a body and needs a worker."""
WORKER_STATUSES = (401, 403, 422, 429, 500, 503, 504)
"""The errors of an operation that needs a worker."""

Shape = TypeVar("Shape")

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the parts of the server that answer it."""

    request: Request
    settings: Settings
    backend: Backend
    metrics: Metrics

    async def read(self, shape: type[Shape]) -> Shape:
        """Return the JSON body as a typed value.

        Raises:
            Problem: the queue is full, or the body is too large, too slow, or not of this type.
        """
        return decode(await self.read_bytes(), shape)

    async def read_bytes(self) -> bytes:
        """Return the body.

        Raises:
            Problem: the queue is full, or the body is too large or too slow.
        """
        self.backend.check_capacity()
        limits = self.settings.max_body_bytes, self.settings.body_timeout_seconds
        chunks = [chunk async for chunk in read_chunks(self.request, *limits)]
        return b"".join(chunks)

    async def submit(self, job: Job) -> bytes:
        """Return the reply to a job as JSON; abandon it when the client disconnects."""
        if isinstance(job, AnswerRequest | RankRequest) and job.budget_ms is None:
            job = msgspec.structs.replace(job, budget_ms=self.settings.budget_ms)
        reply = asyncio.ensure_future(self.backend.submit(job))
        disconnect = asyncio.ensure_future(_wait_for_disconnect(self.request))
        try:
            await asyncio.wait({reply, disconnect}, return_when=asyncio.FIRST_COMPLETED)
            if not reply.done():
                raise Problem(400, "the client disconnected")
            return reply.result()
        finally:
            reply.cancel()
            disconnect.cancel()

    def check_question(self, question: str, name: str) -> None:
        """Refuse a question that cannot be answered.

        Raises:
            Problem: it is empty, too long, or not text.
        """
        check_text(question, name)
        if not question.strip():
            raise Problem(422, f"{name} is empty")
        limit = self.settings.max_question_characters
        if len(question) > limit:
            raise Problem(413, f"{name} has {len(question)} characters; the limit is {limit}")

    def check_count(self, documents: int, name: str) -> None:
        """Refuse an empty list of documents, or one that is too long.

        Raises:
            Problem: there is no document, or there are too many.
        """
        if not documents:
            raise Problem(422, f"{name} is empty")
        limit = self.settings.max_documents
        if documents > limit:
            raise Problem(413, f"{name} has {documents} entries; the limit is {limit}")


Handler = Callable[[Call], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the path or of the query string."""

    name: str
    place: str
    description: str
    schema: dict[str, Any]
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one route."""

    method: str
    path: str
    summary: str
    handle: Handler
    takes: Any = None
    gives: Any = None
    error: ErrorShape = NativeError
    statuses: tuple[int, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    writes: bool = False
    """Whether it changes the index."""
    is_public: bool = False
    """Whether it needs no key, and answers under any host name."""


def operation(method: str, path: str, **options: Any) -> Callable[[Handler], Operation]:
    """Return a decorator that makes an operation of a handler; its docstring is the summary."""

    def decorate(handle: Handler) -> Operation:
        return Operation(method, path, inspect.getdoc(handle) or "", handle, **options)

    return decorate


async def read_chunks(request: Request, max_bytes: int, seconds: float) -> AsyncIterator[bytes]:
    """Yield the body of a request as it arrives.

    Raises:
        Problem: it is too large or too slow, or the client disconnects.
    """
    too_large = Problem(
        413, f"the body is larger than {max_bytes} bytes", headers={"connection": "close"}
    )
    if int(request.headers.get("content-length", "0")) > max_bytes:
        raise too_large
    received = 0
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                received += len(chunk)
                if received > max_bytes:
                    raise too_large
                yield chunk
    except TimeoutError as error:
        message = f"the body did not arrive within {seconds:g} s"
        raise Problem(408, message, headers={"connection": "close"}) from error
    except ClientDisconnect as error:
        raise Problem(400, "the client disconnected before the body was complete") from error


def decode(body: bytes, shape: type[Shape]) -> Shape:
    """Return JSON as a typed value.

    Raises:
        Problem: it is not JSON, or a field is missing or wrong; the message names it.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise Problem(422, str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise Problem(400, "the body is nested too deep") from error


def check_text(text: str, name: str) -> None:
    """Refuse characters that no text has.

    Raises:
        Problem: the text has a null byte or a lone surrogate.
    """
    match = _NOT_TEXT.search(text)
    if match:
        kind = "a null byte" if match[0] == "\0" else "a lone surrogate"
        raise Problem(422, f"{name} is not text: {kind} at character {match.start()}")


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
