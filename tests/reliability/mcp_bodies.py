"""JSON-RPC messages of MCP clients, handled by the server over streamable HTTP in this process."""

import asyncio
import json
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import Any

from rejoinder.errors import InputError
from rejoinder.mcp.server import Assistant
from rejoinder.mcp.transports import PATH, HttpTransport, open_engine
from rejoinder.server.settings import Settings
from tests.reliability.asgi import Reply, post
from tests.server.local import make_index, write_documents

HEADERS = (
    "accept: application/json, text/event-stream",
    "content-type: application/json",
    "mcp-protocol-version: 2025-06-18",
)
BUGS = (0, -32603)
"""Codes of JSON-RPC errors that stand for an exception of the server."""
MAX_SECONDS = 60.0

QUESTION = "how hot is green tea brewed?"
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("answer", {"question": QUESTION, "top": 2, "where": {"lang": ["en"]}, "min_confidence": None}),
    ("answer", {"question": QUESTION, "budget_ms": 40}),
    ("search", {"question": QUESTION, "top": 3}),
    ("highlight", {"question": QUESTION, "text": "Green tea is brewed at 75 °C. It rained."}),
    ("cite", {"answer": "Green tea is hot.", "sources": ["Green tea is brewed at 75 °C."]}),
    ("read", {"document": "uploaded:tea.md", "from": 3, "to": 20}),
    ("add", {"name": "tea.md", "text": "# Tea\n\nTea is hot.", "metadata": {"lang": "en"}}),
)
REQUESTS: tuple[dict[str, Any], ...] = (
    {
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "ping"},
    {"method": "tools/list", "params": {}},
    {"method": "resources/list", "params": {"cursor": "1"}},
    {"method": "resources/templates/list"},
    {"method": "resources/read", "params": {"uri": "rejoinder://documents/uploaded%3Atea.md"}},
    *(
        {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
        for name, arguments in CALLS
    ),
)
MESSAGES: tuple[bytes, ...] = tuple(
    json.dumps({"jsonrpc": "2.0", "id": number, **request}, ensure_ascii=False).encode()
    for number, request in enumerate(REQUESTS)
)
"""Valid messages: every method, and every tool."""


def make_reader(folder: Path) -> Callable[[bytes], object]:
    """Return a function that posts a message; it starts the server on first use."""
    get_server = cache(lambda: _InProcess(folder / "mcp"))

    def read(raw: bytes) -> object:
        reply = get_server().post(raw)
        return _check(reply)

    return read


def _check(reply: Reply) -> object:
    """Return the result in a reply; a refusal is an InputError."""
    assert reply.status < 500, reply
    assert b"Traceback" not in reply.body, reply
    if not reply.body:  # a notification, or a response that nobody waits for
        assert reply.status == 202, reply
        return None
    message = json.loads(reply.body)
    assert isinstance(message, dict), reply
    if "result" not in message:
        error = message["error"]
        assert isinstance(error, str) or error["code"] not in BUGS, reply
        raise InputError(f"status {reply.status}: {error}")
    result = message["result"]
    assert message["jsonrpc"] == "2.0", reply
    if result.get("isError"):
        (content,) = result["content"]
        assert "internal error" not in content["text"], reply
        raise InputError(content["text"])
    return result


class _InProcess:
    """A server in a thread of its own, whose event loop lives as long as the process."""

    def __init__(self, folder: Path) -> None:
        index = make_index(folder, write_documents(folder / "documents"))
        self._settings = Settings(index=index)
        self._loop = asyncio.new_event_loop()
        self._is_ready = Event()
        self._app: Any = None
        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it logs each bad message
        Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True).start()
        assert self._is_ready.wait(MAX_SECONDS), "the MCP server has not started"
        for name, arguments in CALLS:
            if name == "add":  # the document that other messages name
                self.post(_call(name, arguments))

    def post(self, raw: bytes) -> Reply:
        """Return the reply to a message."""
        answered = post(self._app, PATH, raw, headers=HEADERS)
        return asyncio.run_coroutine_threadsafe(answered, self._loop).result(MAX_SECONDS)

    async def _serve(self) -> None:
        with open_engine(self._settings, writable=True) as engine:
            assistant = Assistant(engine, self._settings, writable=True)
            transport = HttpTransport(assistant, self._settings, writable=True)
            self._app = transport.make_app()
            async with transport.manager.run():
                self._is_ready.set()
                await asyncio.Event().wait()


def _call(name: str, arguments: dict[str, Any]) -> bytes:
    call = {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return json.dumps({"jsonrpc": "2.0", "id": 0, **call}).encode()
