"""Reads what clients send: no more than is allowed, no longer than is sensible, as typed values."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request

from rejoinder.server.problems import Problem

Shape = TypeVar("Shape")

_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


async def read_json(request: Request, *, max_bytes: int, seconds: float) -> dict[str, Any]:
    """Return the JSON object of a request.

    Raises:
        Problem: it is too large, too slow, or no JSON object.
    """
    body = bytearray()
    async for piece in read_pieces(request, max_bytes=max_bytes, seconds=seconds):
        body += piece
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Problem(400, f"the body is not JSON: {error}") from error
    except RecursionError as error:
        raise Problem(400, "the body is not JSON that can be read: nested too deep") from error
    if not isinstance(value, dict):
        raise Problem(422, "the body must be a JSON object")
    return value


async def read_pieces(request: Request, *, max_bytes: int, seconds: float) -> AsyncIterator[bytes]:
    """Yield the body of a request as it comes.

    Raises:
        Problem: it is too large, or too slow.
    """
    too_large = Problem(
        413, f"the body is larger than {max_bytes} bytes", headers={"connection": "close"}
    )
    if int(request.headers.get("content-length", "0")) > max_bytes:
        raise too_large
    received = 0
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                received += len(piece)
                if received > max_bytes:
                    raise too_large
                yield piece
    except TimeoutError as error:
        message = f"the body did not arrive within {seconds:g} s"
        raise Problem(408, message, headers={"connection": "close"}) from error
    except ClientDisconnect as error:
        raise Problem(400, "the client went away before the body was whole") from error


def to_shape(value: Any, shape: type[Shape]) -> Shape:
    """Return JSON as a typed value.

    Raises:
        Problem: a field is missing or wrong; the message names it.
    """
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise Problem(422, str(error)) from error
    except RecursionError as error:
        raise Problem(400, "the body is nested too deep") from error


def check_text(text: str, name: str) -> None:
    """Refuse what no text holds.

    Raises:
        Problem: there is a null byte or half of a surrogate pair in it.
    """
    found = _NOT_TEXT.search(text)
    if found:
        what = "a null byte" if found[0] == "\0" else "half of a surrogate pair"
        raise Problem(422, f"{name} is not text: {what} at character {found.start()}")
