"""The routes of the application: all operations, and the page at `/`."""

from collections.abc import Awaitable, Callable, Iterator
from itertools import groupby
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from rejoinder import __version__
from rejoinder.server.api import cohere, native, open_search, status, tei, v1
from rejoinder.server.operation import Call, Json, Operation, operation
from rejoinder.server.problems import Problem, respond, to_json

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"]
PAGE = Path(__file__).parent / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGE_HEADERS = {
    "content-security-policy": POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}

Endpoint = Callable[[Request], Awaitable[Response]]


@operation("GET", "/openapi.json", gives=Json)
async def _openapi(call: Call) -> Response:  # noqa: ARG001
    """This API as an OpenAPI 3.1 document."""
    from rejoinder.server.openapi import make_openapi

    return to_json(make_openapi(OPERATIONS, __version__))


OPERATIONS: tuple[Operation, ...] = (
    *native.OPERATIONS,
    cohere.rerank,
    v1.rerank,
    tei.rerank,
    open_search.highlight,
    *status.OPERATIONS,
    _openapi,
)


class Page(StaticFiles):
    """The files of the page, under a content security policy that allows only themselves."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file."""
        response = await super().get_response(path, scope)
        response.headers.update(PAGE_HEADERS)
        return response


def make_routes(make_endpoint: Callable[[Operation], Endpoint]) -> Iterator[Route | Mount]:
    """Yield the routes of all operations and the page; an unknown method gets status 405."""
    in_order = sorted(OPERATIONS, key=lambda item: item.path)
    for path, group in groupby(in_order, key=lambda item: item.path):
        operations = list(group)
        for item in operations:
            yield Route(path, make_endpoint(item), methods=[item.method])
        yield Route(path, _make_refusal(operations), methods=METHODS)
    yield Mount("/", Page(directory=PAGE, html=True))


def _make_refusal(operations: list[Operation]) -> Endpoint:
    allowed = ", ".join(item.method for item in operations)

    async def refuse(request: Request) -> Response:
        message = f"{request.method} is not allowed here; use {allowed}"
        return respond(Problem(405, message, headers={"allow": allowed}), operations[0].error)

    return refuse
