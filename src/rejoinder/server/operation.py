"""An operation: one method of one route, from which the application and its OpenAPI are made."""

import asyncio
import inspect
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rejoinder.server.intake import Intake
from rejoinder.server.problems import ErrorShape, NativeError, Problem
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import Backend, Budget, Job, TimedJob

WORKER_STATUSES = (422, 429, 500, 503, 504)
"""The errors of an operation that needs a worker."""

Json = dict[str, Any]
Shape = TypeVar("Shape")

BUDGET_HEADER = "X-Budget-Ms"

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Call:
    """A request, and the parts of the server that answer it."""

    request: Request
    settings: Settings
    backend: Backend
    metrics: Metrics
    intake: Intake

    async def read(self, shape: type[Shape]) -> Shape:
        """Return the JSON body as a typed value; a full queue is reported before it is read."""
        return decode(await self.read_bytes(), shape)

    async def read_bytes(self) -> bytes:
        """Return the body; a full queue is reported before it is read."""
        self.backend.check_capacity()
        limits = self.settings.max_body_bytes, self.settings.body_timeout_seconds
        chunks = read_chunks(self.request, self.intake, *limits)
        return b"".join([chunk async for chunk in chunks])

    async def submit(self, job: Job) -> bytes:
        """Return the reply to a job as JSON; abandon it when the client disconnects."""
        if isinstance(job, TimedJob) and job.budget_ms is None:
            job = msgspec.structs.replace(job, budget_ms=self.read_budget())
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

    async def submit_each(
        self, jobs: Sequence[Job], *, shared_budget: float | None = None
    ) -> list[bytes]:
        """Return the reply to each job; no more are queued than workers can run.

        Args:
            shared_budget: the budget of all jobs together, instead of each one's own.  A job that
                takes less than its share leaves the rest to those after it.
        """
        workers = self.settings.workers
        free = asyncio.Semaphore(workers)
        start = time.monotonic()
        waiting = len(jobs)

        async def submit(job: Job) -> bytes:
            nonlocal waiting
            async with free:
                if shared_budget is not None and isinstance(job, TimedJob):
                    left = max(0.0, shared_budget - 1000 * (time.monotonic() - start))
                    share = min(1.0, workers / waiting)
                    job = msgspec.structs.replace(job, budget_ms=left * share)
                waiting -= 1
                return await self.submit(job)

        replies = [asyncio.ensure_future(submit(job)) for job in jobs]
        try:
            return await asyncio.gather(*replies)
        finally:
            for reply in replies:
                reply.cancel()

    def read_budget(self) -> float | None:
        """Return the budget in the request's header, else the server's."""
        text = self.request.headers.get(BUDGET_HEADER)
        if text is None:
            return self.settings.budget_ms
        try:
            return msgspec.convert(text, Budget, strict=False)
        except msgspec.ValidationError as error:
            raise Problem(
                422, f"{BUDGET_HEADER} must be a number of milliseconds, got {text!r:.40}: {error}"
            ) from error

    def check_question(self, question: str, name: str) -> None:
        """Refuse a question that is empty, too long, or not text."""
        check_text(question, name)
        if not question.strip():
            raise Problem(422, f"{name} is empty")
        limit = self.settings.max_question_characters
        if len(question) > limit:
            raise Problem(413, f"{name} has {len(question)} characters; the limit is {limit}")

    def check_count(self, count: int, name: str) -> None:
        """Refuse an empty list of documents or questions, or one that is too long."""
        if not count:
            raise Problem(422, f"{name} is empty")
        limit = self.settings.max_documents
        if count > limit:
            raise Problem(413, f"{name} has {count} entries; the limit is {limit}")


Handler = Callable[[Call], Awaitable[Response]]


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
    """Its errors, besides those of access control and of reading a body."""
    parameters: tuple[Json, ...] = ()
    """As OpenAPI describes them."""
    writes: bool = False
    """Whether it changes the index."""
    is_public: bool = False
    """Whether it needs no key, and answers under any host name."""


def describe_parameter(
    name: str, description: str, schema: Json, *, place: str = "query", is_required: bool = False
) -> Json:
    """Return a parameter of the query string or of the path as OpenAPI describes it."""
    described: Json = {"name": name, "in": place, "description": description}
    return described | {"required": is_required, "schema": schema}


def operation(method: str, path: str, **options: Any) -> Callable[[Handler], Operation]:
    """Return a decorator that makes an operation of a handler; its docstring is the summary."""

    def decorate(handle: Handler) -> Operation:
        return Operation(method, path, inspect.getdoc(handle) or "", handle, **options)

    return decorate


BUDGET_PARAMETER = describe_parameter(
    BUDGET_HEADER,
    "Time limit in milliseconds, queueing included, for clients that cannot set `budget_ms`. Where"
    " it ran out, the reply's header `X-Budget-Cut` names each stage that read less.",
    {"type": "number", "minimum": 0, "maximum": 600_000},
    place="header",
)


async def read_chunks(
    request: Request, intake: Intake, max_bytes: int, seconds: float
) -> AsyncIterator[bytes]:
    """Yield the body of a request as it arrives; refuse one that is too large or too slow."""
    close = {"connection": "close"}
    too_large = Problem(413, f"the body is larger than {max_bytes} bytes", headers=close)
    if int(request.headers.get("content-length", "0")) > max_bytes:
        raise too_large
    try:
        with intake.receiving() as arriving:
            async with asyncio.timeout(seconds):
                async for chunk in request.stream():
                    arriving.add(len(chunk))
                    if arriving.bytes > max_bytes:
                        raise too_large
                    yield chunk
    except TimeoutError as error:
        message = f"the body did not arrive within {seconds:g} s"
        raise Problem(408, message, headers=close) from error
    except ClientDisconnect as error:
        raise Problem(400, "the client disconnected before the body was complete") from error


def decode(body: bytes, shape: type[Shape]) -> Shape:
    """Return JSON as a typed value; an error names the field that is missing or wrong."""
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.ValidationError as error:
        raise Problem(422, str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise Problem(400, "the body is nested too deep") from error


def check_text(text: str, name: str) -> None:
    """Refuse characters that no text has: null bytes and lone surrogates."""
    if text.isascii() and "\0" not in text:
        return  # most texts, in a tenth of the time
    match = _NOT_TEXT.search(text)
    if match:
        kind = "a null byte" if match[0] == "\0" else "a lone surrogate"
        raise Problem(422, f"{name} is not text: {kind} at character {match.start()}")


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
