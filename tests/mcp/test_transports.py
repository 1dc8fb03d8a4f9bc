"""Both transports: real processes over stdio, and real connections over HTTP."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
from click.testing import CliRunner
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from rejoinder.cli import main
from rejoinder.errors import InputError
from rejoinder.mcp.server import Assistant
from rejoinder.mcp.transports import HttpTransport, open_engine, run_http, serve_stdio
from rejoinder.server.security import add_key
from rejoinder.server.settings import Settings
from tests.mcp.test_tools import MODES, TEA

QUESTION = {"question": "How hot is green tea brewed?", "top": 1}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
HEADERS = {"accept": "application/json, text/event-stream"}
MAX_SECONDS = 120


def command(*arguments: object) -> list[str]:
    return ["-m", "rejoinder", "mcp", *map(str, arguments)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def start(*arguments: object) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    line = [sys.executable, *command(*arguments)]
    return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())


async def ask(client: Client) -> str:
    result = await client.call_tool("answer", QUESTION)
    assert not result.is_error, result.content
    return str(result.structured_content["answers"][0]["sentence"])


@pytest.mark.parametrize("mode", MODES)
def test_a_client_asks_over_stdio(index: Path, mode: str) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=command(index, "--scorer", "jaccard"), env=environment()
    )

    async def work() -> str:
        async with Client(parameters, mode=mode) as client:
            assert client.server_info
            assert client.server_info.name == "rejoinder"
            return await ask(client)

    assert asyncio.run(work()) == TEA


async def use_every_reading_tool(client: Client) -> None:
    """Read, highlight and cite, and call wrongly in between."""
    found = await client.call_tool("answer", QUESTION)
    name = found.structured_content["answers"][0]["document"]
    part = await client.call_tool("read", {"document": name})
    text = part.structured_content["text"]
    for wrong in ({"question": "how hot?"}, {"question": "how hot?", "text": "a", "top": 1}):
        assert (await client.call_tool("highlight", wrong)).is_error
    shown = await client.call_tool("highlight", {"question": QUESTION["question"], "text": text})
    cited = await client.call_tool("cite", {"answer": f"{TEA} Bees are whales."})
    given = await client.call_tool("cite", {"answer": TEA, "sources": [text]})
    with pytest.raises(MCPError, match="nothing"):
        await client.call_tool("nothing", {})

    assert [item["sentence"] for item in shown.structured_content["highlights"]] == [TEA]
    verdicts = [item["verdict"] for item in cited.structured_content["sentences"]]
    assert verdicts == ["supported", "unsupported"]
    first = cited.structured_content["sentences"][0]["citations"][0]
    assert (first["sentence"], first["document"]) == (TEA, name)
    assert given.structured_content["supported"] == 1


def test_every_reading_tool_is_used_over_stdio(index: Path) -> None:
    parameters = StdioServerParameters(
        command=sys.executable, args=command(index), env=environment()
    )

    async def work() -> None:
        async with Client(parameters) as client:
            await use_every_reading_tool(client)

    asyncio.run(work())


def test_every_reading_tool_is_used_over_http(settings: Settings) -> None:
    async def work(url: str) -> None:
        async with Client(url) as client:
            await use_every_reading_tool(client)

    serve_while(replace(settings, port=0), work)


def test_stdout_has_only_the_protocol_and_the_end_of_stdin_ends_it(fresh: Settings) -> None:
    process = start(fresh.index, "--scorer", "jaccard")
    lines = [
        HELLO,
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "nothing"}},
        {"jsonrpc": "2.0", "id": 3, "method": "nothing/at/all"},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"arguments": []}},
    ]
    sent = [json.dumps(line).encode() for line in lines] + [
        b"not json",
        b'{"jsonrpc": "2.0"}',
        b"\xff",
    ]
    assert process.stdin
    assert process.stdout
    process.stdin.write(b"\n".join(sent) + b"\n")
    process.stdin.flush()
    replies = [json.loads(process.stdout.readline()) for _ in range(4)]
    call = {"name": "answer", "arguments": QUESTION}
    last = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": call}
    process.stdin.write(json.dumps(last).encode() + b"\n")
    process.stdin.flush()
    answered = json.loads(process.stdout.readline())
    rest, log = process.communicate(timeout=MAX_SECONDS)

    assert rest == b""
    assert process.returncode == 0
    codes = {reply["id"]: reply.get("error", {}).get("code") for reply in replies}
    assert codes == {1: None, 2: -32602, 3: -32601, 4: -32602}
    assert answered["result"]["structuredContent"]["answers"][0]["sentence"] == TEA
    assert b"Traceback" not in log


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(fresh: Settings, number: signal.Signals) -> None:
    process = start(fresh.index, "--scorer", "jaccard")
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(HELLO).encode() + b"\n")
    process.stdin.flush()
    process.stdout.readline()

    process.send_signal(number)
    # stdin stays open: only the signal can end it.
    status = process.wait(MAX_SECONDS)
    _, log = process.communicate()

    assert status == 0
    assert b"Traceback" not in log


@pytest.mark.usefixtures("kept_logging")
def test_the_command_serves_stdio(fresh: Settings) -> None:
    line = json.dumps(HELLO) + "\n"

    result = CliRunner().invoke(main, ["mcp", str(fresh.index), "--scorer", "jaccard"], input=line)

    assert result.exit_code == 0, result.output
    (reply,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert reply["result"]["serverInfo"]["name"] == "rejoinder"
    assert reply["result"]["capabilities"].keys() >= {"tools", "resources"}


@pytest.mark.usefixtures("kept_logging")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["nowhere"], "nowhere"),
        (["nowhere", "--http"], "nowhere"),
        (["nowhere", "--scorer", "nonsense"], "unknown scorer 'nonsense'"),
        (["nowhere", "--http", "--host", "0.0.0.0"], "give --keys FILE"),
    ],
)
def test_a_wrong_call_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], problem: str
) -> None:
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(main, ["mcp", *arguments])

    assert result.exit_code == 1
    assert problem in result.output
    assert len(result.output.splitlines()) == 1
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.usefixtures("kept_logging")
def test_settings_without_an_index_are_refused() -> None:
    with pytest.raises(InputError, match="no index"):
        serve_stdio(Settings())


def test_a_writable_index_is_created(tmp_path: Path) -> None:
    settings = Settings(index=tmp_path / "new", scorer="jaccard")

    with open_engine(settings, writable=True) as engine:
        assert engine.index.count().documents == 0


def serve_while(
    settings: Settings, work: Callable[[str], Awaitable[Any]], *, writable: bool = False
) -> Any:
    """Return the result of work with the address of a server in this process."""

    async def run() -> Any:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        with open_engine(settings, writable=writable) as engine:
            assistant = Assistant(engine, settings, writable=writable)
            transport = HttpTransport(assistant, settings, writable=writable)
            server = asyncio.create_task(run_http(transport, settings, address.set_result))
            try:
                return await work(f"{await address}/mcp")
            finally:
                signal.raise_signal(signal.SIGTERM)
                await server

    return asyncio.run(run())


@pytest.mark.parametrize("mode", MODES)
def test_a_client_asks_over_http(fresh: Settings, mode: str) -> None:
    async def work(url: str) -> list[str]:
        async with Client(url, mode=mode) as client:
            assert (await client.list_tools()).tools
            assert (await client.list_resources()).resources
            return [await ask(client) for _ in range(5)]

    assert serve_while(fresh, work) == [TEA] * 5


def test_several_clients_ask_at_once(fresh: Settings) -> None:
    async def connect(url: str) -> str:
        async with Client(url) as client:
            return await ask(client)

    async def work(url: str) -> list[str]:
        return await asyncio.gather(*(connect(url) for _ in range(8)))

    assert serve_while(fresh, work) == [TEA] * 8


def test_a_client_adds_over_http(fresh: Settings) -> None:
    async def work(url: str) -> str:
        async with Client(url) as client:
            added = await client.call_tool(
                "add", {"name": "a.md", "text": "Ferries leave at noon."}
            )
            assert not added.is_error, added.content
            found = await client.call_tool("search", {"question": "when do ferries leave?"})
            return str(found.structured_content["quotations"][0]["sentence"])

    assert serve_while(fresh, work, writable=True) == "Ferries leave at noon."


def test_keys_are_required_where_there_are_some(fresh: Settings, tmp_path: Path) -> None:
    key = add_key(tmp_path / "keys.txt", "team")

    async def work(url: str) -> list[tuple[int, str]]:
        async with httpx.AsyncClient(headers=HEADERS) as plain:
            refused = [
                await plain.post(url, json=HELLO),
                await plain.post(url, json=HELLO, headers={"authorization": "Bearer rj-wrong"}),
            ]
        bearer = httpx.AsyncClient(headers={"authorization": f"Bearer {key}"})
        async with bearer, Client(streamable_http_client(url, http_client=bearer)) as client:
            assert await ask(client) == TEA
        return [(reply.status_code, reply.json()["error"]) for reply in refused]

    settings = replace(fresh, keys=tmp_path / "keys.txt")

    assert serve_while(settings, work) == [
        (401, "an API key is required: Authorization: Bearer KEY"),
        (401, "unknown API key"),
    ]


@pytest.mark.parametrize("writable", [False, True])
def test_pages_of_other_sites_are_refused(fresh: Settings, writable: bool) -> None:
    async def work(url: str) -> list[int]:
        async with httpx.AsyncClient(headers=HEADERS) as client:
            tries: list[dict[str, str]] = [
                {"host": "evil.example"},
                {"origin": "https://evil.example"},
                {"origin": "https://good.example"},
                {},
            ]
            return [(await client.post(url, json=HELLO, headers=one)).status_code for one in tries]

    settings = replace(fresh, allowed_origins=("https://good.example",))

    assert serve_while(settings, work, writable=writable) == [403, 403, 200, 200]


def test_malformed_requests_get_errors(fresh: Settings) -> None:
    async def work(url: str) -> dict[str, tuple[int, str]]:
        json_type = {"content-type": "application/json"}
        async with httpx.AsyncClient(headers=HEADERS) as client:
            replies = {
                "not json": await client.post(url, content=b"{", headers=json_type),
                "no type": await client.post(url, content=b"{}"),
                "not rpc": await client.post(url, json={"a": 1}),
                "large": await client.post(url, content=b"x" * 2_000, headers=json_type),
                "get": await client.get(url),
                "elsewhere": await client.post(url.replace("/mcp", "/nothing"), json=HELLO),
            }
        assert replies["get"].headers["allow"]
        return {name: (reply.status_code, reply.text) for name, reply in replies.items()}

    found = serve_while(replace(fresh, max_body_bytes=1_000), work)

    statuses = {name: status for name, (status, _) in found.items()}
    assert statuses == {
        "not json": 400,
        "no type": 400,
        "not rpc": 400,
        "large": 413,
        "get": 405,
        "elsewhere": 404,
    }
    assert not any("Traceback" in text for _, text in found.values())


def test_a_full_queue_is_refused(fresh: Settings) -> None:
    async def work(url: str) -> tuple[int, str | None]:
        async with httpx.AsyncClient(headers=HEADERS) as client:
            reply = await client.post(url, json=HELLO)
        return reply.status_code, reply.headers.get("retry-after")

    assert serve_while(replace(fresh, max_waiting=0), work) == (429, "1")


@pytest.mark.usefixtures("kept_logging")
def test_serve_http_says_where_it_is(fresh: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    from rejoinder.mcp import transports

    def stop(address: str) -> None:
        httpx.get(address, timeout=MAX_SECONDS)  # from its first reply on, it handles signals
        os.kill(os.getpid(), signal.SIGTERM)

    def announce(address: str) -> None:
        real(address)
        threading.Thread(target=stop, args=[address]).start()

    real = transports._announce
    monkeypatch.setattr(transports, "_announce", announce)
    arguments = ["mcp", str(fresh.index), "--http", "--port", "0", "--scorer", "jaccard"]

    result = CliRunner().invoke(main, arguments)

    assert result.exit_code == 0, result.output
    assert logging.getLogger("mcp").level == logging.WARNING
    assert "serving MCP at http://127.0.0.1:" in result.output
