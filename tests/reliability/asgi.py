"""Requests to an ASGI application in this process, as a server passes them on."""

import asyncio
from typing import Any, NamedTuple


class Reply(NamedTuple):
    """The status and the body of a reply."""

    status: int
    body: bytes


async def post(
    app: Any, path: str, body: bytes, *, query: bytes = b"", headers: tuple[str, ...] = ()
) -> Reply:
    """Post a body; the client stays connected until there is a reply.

    Args:
        headers: further ones as `name: value`.
    """
    received = [{"type": "http.request", "body": body}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not received:
            await asyncio.Event().wait()
        return received.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    given = [header.encode().split(b": ") for header in ("host: localhost", *headers)]
    scope: dict[str, Any] = {"type": "http", "http_version": "1.1", "method": "POST", "path": path}
    scope |= {"scheme": "http", "query_string": query, "client": ("127.0.0.1", 1)}
    await app({**scope, "headers": [(name, value) for name, value in given]}, receive, send)
    return Reply(sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:]))
