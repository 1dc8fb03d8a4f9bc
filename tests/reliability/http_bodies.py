"""HTTP request bodies, handled by the application and a worker as on a real server."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError
from rejoinder.server.app import Server
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from tests.server.local import LocalBackend, make_runner, write_documents


def make_reader(folder: Path, path: str) -> Callable[[bytes], object]:
    """Return a function that posts a body to a path; it creates the application on first use."""
    app: Any = None

    def read(raw: bytes) -> object:
        nonlocal app
        if app is None:
            runner = make_runner(folder / path.strip("/"), write_documents(folder / "documents"))
            app = Server(Settings(), LocalBackend(runner), Metrics()).make_app()
        status, body = asyncio.run(_post(app, path, raw))
        assert status < 500, body
        value = json.loads(body)
        if status != 200:
            raise InputError(f"status {status}: {value}")
        return value

    return read


async def _post(app: Any, path: str, raw: bytes) -> tuple[int, bytes]:
    """Call an ASGI application as a server does; the client stays connected."""
    received = [{"type": "http.request", "body": raw}]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not received:
            await asyncio.Event().wait()
        return received.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope: dict[str, Any] = {"type": "http", "http_version": "1.1", "method": "POST", "path": path}
    scope |= {"scheme": "http", "query_string": b"", "client": ("127.0.0.1", 1)}
    await app({**scope, "headers": [(b"host", b"localhost")]}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
