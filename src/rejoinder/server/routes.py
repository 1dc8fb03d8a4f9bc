"""All operations, and the routes of the application that they make."""

from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rejoinder import __version__
from rejoinder.server.api import cohere, native, status, tei, v1
from rejoinder.server.operation import Call, Operation, operation
from rejoinder.server.problems import Problem, respond, to_json

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]

Endpoint = Callable[[Request], Awaitable[Response]]


@operation("GET", "/openapi.json", gives=dict[str, Any], statuses=(401, 403))
async def _openapi(call: Call) -> Response:  # noqa: ARG001
    """This API as an OpenAPI 3.1 document."""
    from rejoinder.server.openapi import make_openapi

    return to_json(make_openapi(OPERATIONS, __version__))


OPERATIONS: tuple[Operation, ...] = (
    *native.OPERATIONS,
    cohere.rerank,
    v1.rerank,
    tei.rerank,
    *status.OPERATIONS,
    _openapi,
)


def make_routes(make_endpoint: Callable[[Operation], Endpoint]) -> Iterator[Route]:
    """Yield the routes of all operations; other methods on their paths get status 405."""
    in_order = sorted(OPERATIONS, key=lambda item: item.path)
    for path, group in groupby(in_order, key=lambda item: item.path):
        operations = list(group)
        for item in operations:
            yield Route(path, make_endpoint(item), methods=[item.method])
        yield Route(path, _make_refusal(operations), methods=METHODS)


def _make_refusal(operations: list[Operation]) -> Endpoint:
    allowed = ", ".join(item.method for item in operations)

    async def refuse(request: Request) -> Response:
        message = f"{request.method} is not allowed here; use {allowed}"
        return respond(Problem(405, message, headers={"allow": allowed}), operations[0].error)

    return refuse
