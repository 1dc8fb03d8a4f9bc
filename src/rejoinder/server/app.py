"""The Starlette application: every operation is authorised, measured and logged here."""

import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.server.intake import Intake
from rejoinder.server.operation import Call, Operation
from rejoinder.server.problems import ErrorShape, NativeError, Problem, respond
from rejoinder.server.routes import Endpoint, make_routes
from rejoinder.server.security import Guard
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import Backend

_log = logging.getLogger("rejoinder.server")


@dataclass(frozen=True, slots=True)
class Access:
    """What a gate asks about a route; `Operation` says what each field means."""

    method: str
    path: str
    error: ErrorShape = NativeError
    writes: bool = False
    is_public: bool = False


class Gate:
    """Security, metrics and logs around the handlers of requests."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._guard = Guard(settings)
        self.intake = Intake(settings.max_arriving_bytes)
        self.is_stopping = False
        """If set, every response closes its connection."""

    def wrap(self, access: Access, handle: Callable[[Request], Awaitable[Response]]) -> Endpoint:
        """Return an endpoint that authorises, measures and logs what a handler does."""

        async def endpoint(request: Request) -> Response:
            start = time.perf_counter()
            id_ = uuid.uuid4().hex
            key = None
            try:
                if not access.is_public:
                    key = self._guard.check(request, writes=access.writes)
                response = await handle(request)
            except Problem as problem:
                response = respond(problem, access.error)
            except Exception:
                _log.exception("a request failed", extra={"request": id_})
                message = f"internal error; see request {id_} in the server's log"
                response = respond(Problem(500, message), access.error)
            self._add_headers(response, id_)
            seconds = time.perf_counter() - start
            self._metrics.observe(access.path, access.method, response.status_code, seconds)
            _log.info(
                "request",
                extra={
                    "request": id_,
                    "method": access.method,
                    "path": access.path,
                    "status": response.status_code,
                    "milliseconds": round(1000 * seconds, 2),
                    "client": request.client.host if request.client else "",
                    **({"key": key} if key else {}),
                },
            )
            return response

        return endpoint

    def allow_origins(self, *headers: str) -> list[Middleware]:
        """Return the middleware that lets pages of the allowed origins send these headers."""
        cors = Middleware(
            CORSMiddleware,
            allow_origins=list(self._settings.allowed_origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type", *headers],
        )
        return [cors] if self._settings.allowed_origins else []

    def _add_headers(self, response: Response, id_: str) -> None:
        response.headers["x-request-id"] = id_
        response.headers["x-content-type-options"] = "nosniff"
        response.headers["cache-control"] = "no-store"
        if self.is_stopping:
            response.headers["connection"] = "close"


class Server(Gate):
    """The HTTP side of a server of an index: its operations behind a gate."""

    def __init__(self, settings: Settings, backend: Backend, metrics: Metrics) -> None:
        super().__init__(settings, metrics)
        self._backend = backend

    def make_app(self) -> Starlette:
        """Return the application."""
        return Starlette(
            routes=list(make_routes(self._make_endpoint)),
            middleware=self.allow_origins(),
            exception_handlers={HTTPException: respond_to_http_exception},
        )

    def _make_endpoint(self, operation: Operation) -> Endpoint:
        async def handle(request: Request) -> Response:
            call = Call(request, self._settings, self._backend, self._metrics, self.intake)
            return await operation.handle(call)

        access = Access(
            operation.method,
            operation.path,
            operation.error,
            operation.writes,
            operation.is_public,
        )
        return self.wrap(access, handle)


async def respond_to_http_exception(request: Request, error: Exception) -> Response:
    """Respond to errors that Starlette raises itself, mostly 404."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase.lower()
    message = f"{phrase}: {request.method} {request.url.path[:200]}"
    problem = Problem(error.status_code, message, headers=error.headers)
    return respond(problem, NativeError)
