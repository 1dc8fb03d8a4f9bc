"""Everything that can go wrong with a request, and the shapes in which each client expects it.

Our own routes answer `{"error", "code", "status"}`.  The routes of a dialect answer as its own
service does, so that its clients raise what they always raise.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus

from msgspec import Struct
from starlette.responses import Response

from rejoinder.server.replies import to_json
from rejoinder.server.workers.messages import Failed

CODES = {
    400: "malformed",
    401: "unauthorized",
    403: "forbidden",
    404: "missing",
    405: "method",
    408: "slow",
    413: "too-large",
    422: "invalid",
    429: "busy",
    500: "bug",
    503: "unavailable",
    504: "timeout",
}
"""Why, in one word, by status."""


class Problem(Exception):
    """A request that is answered with an error."""

    def __init__(
        self, status: int, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = dict(headers or {})


def come_back(status: int, message: str, *, seconds: int = 1) -> Problem:
    """Return the problem of a request that may be repeated later."""
    return Problem(status, message, headers={"retry-after": str(seconds)})


class OurError(Struct, frozen=True):
    """An error on one of our own routes."""

    error: str
    code: str
    status: int


class CohereError(Struct, frozen=True):
    """An error as Cohere says it."""

    message: str


class RerankError(Struct, frozen=True):
    """An error as Cohere says it and as Jina and Voyage say it."""

    message: str
    detail: str


class TeiError(Struct, frozen=True):
    """An error as text-embeddings-inference says it."""

    error: str
    error_type: str


Shape = Callable[[Problem], Struct]


def to_ours(problem: Problem) -> OurError:
    """Return a problem in our own shape."""
    return OurError(problem.message, CODES.get(problem.status, "other"), problem.status)


def to_cohere(problem: Problem) -> CohereError:
    """Return a problem as Cohere says it."""
    return CohereError(problem.message)


def to_rerank(problem: Problem) -> RerankError:
    """Return a problem as Cohere, Jina and Voyage say it."""
    return RerankError(problem.message, problem.message)


def to_tei(problem: Problem) -> TeiError:
    """Return a problem as text-embeddings-inference says it."""
    kinds = {429: "overloaded", 500: "backend", 503: "unhealthy", 504: "backend"}
    return TeiError(problem.message, kinds.get(problem.status, "validation"))


def respond(problem: Problem, shape: Shape) -> Response:
    """Return the response that tells a client of a problem."""
    return to_json(shape(problem), status=problem.status, headers=problem.headers)


def name_status(status: int) -> str:
    """Return what a status is called: 404 is Not Found."""
    return HTTPStatus(status).phrase


def fail(reply: Failed) -> Problem:
    """Return the problem that a worker's failure is."""
    match reply.kind:
        case "missing":
            return Problem(404, reply.message)
        case "input":
            return Problem(422, reply.message)
        case "store":
            return come_back(503, reply.message)
        case _:
            return Problem(500, reply.message)
