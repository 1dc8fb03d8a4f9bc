"""Errors of requests, and the JSON shape in which each kind of client expects them.

Our own routes answer `{"error", "code", "status"}`.  The routes of another service's dialect
answer as that service does, so that its clients raise their usual exceptions.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from starlette.responses import Response

from rejoinder.server.workers.messages import Failure

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
"""The `code` of each status."""

_encoder = msgspec.json.Encoder()


class Problem(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = headers or {}


def retry_later(status: int, message: str) -> Problem:
    """Return a problem that a client may retry after a second."""
    return Problem(status, message, headers={"retry-after": "1"})


def to_problem(failure: Failure) -> Problem:
    """Return the problem of a job that failed."""
    status = {"missing": 404, "input": 422, "store": 503, "bug": 500}[failure.kind]
    return (retry_later if status == 503 else Problem)(status, failure.message)


class NativeError(Struct, frozen=True):
    """An error on one of our own routes."""

    error: str
    code: str
    status: int


class CohereError(Struct, frozen=True):
    """An error as Cohere reports it."""

    message: str


class RerankError(Struct, frozen=True):
    """An error as Cohere reports it (`message`) and as Jina and Voyage do (`detail`)."""

    message: str
    detail: str


class TeiError(Struct, frozen=True):
    """An error as text-embeddings-inference reports it."""

    error: str
    error_type: str


ErrorShape = type[NativeError | CohereError | RerankError | TeiError]


def respond(problem: Problem, shape: ErrorShape) -> Response:
    """Return the response for a problem, in the shape that the client expects."""
    status, message = problem.status, problem.message
    body: Struct
    if shape is TeiError:
        kinds = {429: "overloaded", 500: "backend", 503: "unhealthy", 504: "backend"}
        body = TeiError(message, kinds.get(status, "validation"))
    elif shape is RerankError:
        body = RerankError(message, message)
    elif shape is CohereError:
        body = CohereError(message)
    else:
        body = NativeError(message, CODES.get(status, "other"), status)
    return to_json(body, status=status, headers=problem.headers)


def to_json(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a value as a JSON response; bytes are JSON already."""
    body = value if isinstance(value, bytes) else _encoder.encode(value)
    return Response(body, status, headers, media_type="application/json")
