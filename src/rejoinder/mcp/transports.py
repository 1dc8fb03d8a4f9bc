"""Serve over stdio, or over streamable HTTP behind the keys and host checks of the HTTP server."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from mcp.server.lowlevel import Server as ProtocolServer
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message

from rejoinder.cascade.loading import load
from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.mcp.server import Assistant
from rejoinder.server.app import Access, Gate, respond_to_http_exception
from rejoinder.server.operation import read_chunks
from rejoinder.server.problems import Problem, retry_later
from rejoinder.server.serve import listen, run_app
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics, start_logging

PATH = "/mcp"

_log = logging.getLogger(__name__)


def serve_stdio(settings: Settings, *, writable: bool = False) -> None:
    """Serve a client over stdin and stdout until stdin ends, or until SIGTERM or SIGINT.

    Raises:
        InputError: the index or the scorer cannot be used.
    """
    _start_logging()
    with open_engine(settings, writable=writable) as engine:
        assistant = Assistant(engine, settings, writable=writable)
        asyncio.run(_run_stdio(assistant.make_server()))


def serve_http(settings: Settings, *, writable: bool = False) -> None:
    """Serve clients over streamable HTTP until SIGTERM or SIGINT.

    Raises:
        InputError: the settings, the address, the index or the scorer cannot be used.
    """
    settings.check()
    _start_logging()
    with open_engine(settings, writable=writable) as engine:
        assistant = Assistant(engine, settings, writable=writable)
        transport = HttpTransport(assistant, settings, writable=writable)
        asyncio.run(run_http(transport, settings, _announce))


@contextmanager
def open_engine(settings: Settings, *, writable: bool) -> Iterator[Engine]:
    """Yield an engine over the index of the settings; one that may be written is created.

    Raises:
        InputError: the index or the scorer cannot be used.
    """
    if settings.index is None:
        raise InputError("no index is given")
    scorer = load(settings.scorer, provider=settings.provider)
    with Engine(Index(settings.index, create=writable), scorer) as engine:
        engine.prepare()
        yield engine


async def _run_stdio(server: ProtocolServer[Any]) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # A thread waits for a line of stdin, and nothing can wake it.  Every change of an index is
        # a transaction, so nothing is lost.
        with suppress(NotImplementedError):  # on Windows Python's own handlers end the process
            loop.add_signal_handler(number, os._exit, 0)
    async with stdio_server() as (received, replies):
        await server.run(received, replies, server.create_initialization_options())


async def run_http(
    transport: "HttpTransport", settings: Settings, on_ready: Callable[[str], None]
) -> None:
    """Serve until SIGTERM or SIGINT, in the running event loop.

    Args:
        on_ready: called with the address of the server, without the path of the route.
    """
    with listen(settings.host, settings.port) as listening:
        async with transport.manager.run():
            await run_app(settings, transport, listening, on_ready)


def _announce(address: str) -> None:
    _log.info("serving MCP at %s%s", address, PATH, extra={"address": address + PATH})


def _start_logging() -> None:
    start_logging()
    logging.getLogger("mcp").setLevel(logging.WARNING)


class HttpTransport(Gate):
    """The one route of streamable HTTP.

    Each request is complete in itself and is answered with JSON: there are no sessions and no
    streams, because the server never asks the client anything.
    """

    def __init__(self, assistant: Assistant, settings: Settings, *, writable: bool) -> None:
        super().__init__(settings, Metrics())
        self._assistant = assistant
        self._writable = writable
        self.manager = StreamableHTTPSessionManager(
            assistant.make_server(),
            json_response=True,
            stateless=True,
            max_request_body_size=settings.max_body_bytes,
        )

    def make_app(self) -> Starlette:
        """Return the application."""
        endpoint = self.wrap(Access("POST", PATH, writes=self._writable), self._handle)
        headers = ("mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id")
        return Starlette(
            routes=[Route(PATH, endpoint, methods=["POST"])],
            middleware=self.allow_origins(*headers),
            exception_handlers={HTTPException: respond_to_http_exception},
        )

    async def _handle(self, request: Request) -> Response:
        """Return the protocol's reply to a request, once it is complete."""
        if self._assistant.is_full:
            raise retry_later(429, "too many requests are queued; retry in a second")
        limits = self._settings.max_body_bytes, self._settings.body_timeout_seconds
        chunks = read_chunks(request, self.intake, *limits)
        body = b"".join([chunk async for chunk in chunks])
        received: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Message] = []

        async def receive() -> Message:
            return received.pop() if received else await request.receive()

        async def send(message: Message) -> None:
            sent.append(message)

        await self.manager.handle_request(request.scope, receive, send)
        if not sent:
            raise Problem(400, "the client disconnected")
        response = Response(b"".join(message.get("body", b"") for message in sent))
        response.status_code = sent[0]["status"]
        response.raw_headers = list(sent[0]["headers"])
        return response
