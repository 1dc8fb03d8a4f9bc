"""The application: routes from the table, one way in, one way out."""

import logging
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route

from rejoinder.server.guard import Guard
from rejoinder.server.handlers import Call
from rejoinder.server.metrics import Metrics
from rejoinder.server.problems import Problem, name_status, respond, to_ours
from rejoinder.server.routes import OPERATIONS, Operation
from rejoinder.server.settings import Settings
from rejoinder.server.static import Page
from rejoinder.server.workers.backend import Backend

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

Endpoint = Callable[[Request], Awaitable[Response]]

_log = logging.getLogger("rejoinder.server")


class Server:
    """Turns requests into calls: lets them in, counts and logs them, tells of problems."""

    def __init__(self, settings: Settings, backend: Backend, metrics: Metrics) -> None:
        self._settings = settings
        self._backend = backend
        self._metrics = metrics
        self._guard = Guard(settings)
        self.is_stopping = False
        """Every response then ends its connection."""

    def make_app(self) -> Starlette:
        """Return the application."""
        allowed = list(self._settings.allowed_origins)
        cors = Middleware(
            CORSMiddleware,
            allow_origins=allowed,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["authorization", "content-type"],
        )
        return Starlette(
            routes=[*self._list_routes(), Mount("/", Page())],
            middleware=[cors] if allowed else [],
            exception_handlers={HTTPException: _say_http},
        )

    def _list_routes(self) -> Iterator[BaseRoute]:
        in_order = sorted(OPERATIONS, key=lambda operation: operation.path)
        for path, group in groupby(in_order, key=lambda operation: operation.path):
            operations = list(group)
            for operation in operations:
                yield Route(path, self._make_endpoint(operation), methods=[operation.method])
            yield Route(path, _make_refusal(operations), methods=METHODS)

    def _make_endpoint(self, operation: Operation) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            start = time.perf_counter()
            id_ = uuid.uuid4().hex
            key = None
            try:
                if not operation.is_public:
                    key = self._guard.check(request, changes=operation.changes)
                call = Call(request, self._settings, self._backend, self._metrics)
                response = await operation.handle(call)
            except Problem as problem:
                response = respond(problem, operation.shape)
            except Exception:
                _log.exception("a request failed", extra={"request": id_})
                message = f"something went wrong here; the server's log has it as {id_}"
                response = respond(Problem(500, message), operation.shape)
            self._finish(response, id_)
            seconds = time.perf_counter() - start
            self._metrics.see(operation.path, operation.method, response.status_code, seconds)
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

    def _finish(self, response: Response, id_: str) -> None:
        response.headers["x-request-id"] = id_
        response.headers["x-content-type-options"] = "nosniff"
        response.headers["cache-control"] = "no-store"
        if self.is_stopping:
            response.headers["connection"] = "close"


def create_app(settings: Settings, backend: Backend, metrics: Metrics | None = None) -> Starlette:
    """Return an application that lets a backend compute."""
    return Server(settings, backend, metrics or Metrics()).make_app()


def _make_refusal(operations: list[Operation]) -> Endpoint:
    allowed = ", ".join(operation.method for operation in operations)

    async def refuse(request: Request) -> Response:
        problem = Problem(
            405, f"{request.method} is not allowed here: {allowed}", headers={"allow": allowed}
        )
        return respond(problem, operations[0].shape)

    return refuse


async def _say_http(request: Request, error: Exception) -> Response:
    """Tell of what starlette itself finds wrong: mostly, that there is nothing here."""
    assert isinstance(error, HTTPException)
    what = name_status(error.status_code).lower()
    problem = Problem(error.status_code, f"{what}: {request.method} {request.url.path[:200]}")
    return respond(problem, to_ours)
