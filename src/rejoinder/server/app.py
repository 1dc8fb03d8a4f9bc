"""The Starlette application: every operation is authorised, measured and logged here."""

import logging
import time
import uuid
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from rejoinder.server.operation import Call, Operation
from rejoinder.server.problems import NativeError, Problem, respond
from rejoinder.server.routes import Endpoint, make_routes
from rejoinder.server.security import Guard
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import Backend

_log = logging.getLogger("rejoinder.server")


class Server:
    """The HTTP side of a server: security, metrics and logs around the operations."""

    def __init__(self, settings: Settings, backend: Backend, metrics: Metrics) -> None:
        self._settings = settings
        self._backend = backend
        self._metrics = metrics
        self._guard = Guard(settings)
        self.is_stopping = False
        """If set, every response closes its connection."""

    def make_app(self) -> Starlette:
        """Return the application."""
        origins = list(self._settings.allowed_origins)
        cors = Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type"],
        )
        return Starlette(
            routes=list(make_routes(self._make_endpoint)),
            middleware=[cors] if origins else [],
            exception_handlers={HTTPException: _respond_to_http_exception},
        )

    def _make_endpoint(self, operation: Operation) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            start = time.perf_counter()
            id_ = uuid.uuid4().hex
            key = None
            try:
                if not operation.is_public:
                    key = self._guard.check(request, writes=operation.writes)
                call = Call(request, self._settings, self._backend, self._metrics)
                response = await operation.handle(call)
            except Problem as problem:
                response = respond(problem, operation.error)
            except Exception:
                _log.exception("a request failed", extra={"request": id_})
                message = f"internal error; see request {id_} in the server's log"
                response = respond(Problem(500, message), operation.error)
            self._add_headers(response, id_)
            seconds = time.perf_counter() - start
            self._metrics.observe(operation.path, operation.method, response.status_code, seconds)
            _log.info(
                "request",
                extra={
                    "request": id_,
                    "method": operation.method,
                    "path": operation.path,
                    "status": response.status_code,
                    "milliseconds": round(1000 * seconds, 2),
                    "client": request.client.host if request.client else "",
                    **({"key": key} if key else {}),
                },
            )
            return response

        return endpoint

    def _add_headers(self, response: Response, id_: str) -> None:
        response.headers["x-request-id"] = id_
        response.headers["x-content-type-options"] = "nosniff"
        response.headers["cache-control"] = "no-store"
        if self.is_stopping:
            response.headers["connection"] = "close"


async def _respond_to_http_exception(request: Request, error: Exception) -> Response:
    """Respond to errors that Starlette raises itself, mostly 404."""
    assert isinstance(error, HTTPException)
    phrase = HTTPStatus(error.status_code).phrase.lower()
    problem = Problem(error.status_code, f"{phrase}: {request.method} {request.url.path[:200]}")
    return respond(problem, NativeError)
