"""The running server and its connections."""

import asyncio
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette

from rejoinder.server import serve
from rejoinder.server.serve import _accept_all, listen, run_app, run_server
from rejoinder.server.settings import Settings
from tests.systems import import_pty

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def talk(
    settings: Settings,
    conversation: Callable[[Streams], Awaitable[None]],
    *,
    is_stopped: bool = False,
) -> None:
    """Run a server in this process, talk to it over one connection, and stop it with SIGTERM."""

    async def run() -> None:
        address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        server = asyncio.create_task(run_server(settings, address.set_result))
        place = urlsplit(await asyncio.wait_for(address, 120))
        # It listens already; the connection waits in the backlog.
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            await conversation((reader, writer))
        finally:
            writer.close()
            if not is_stopped:
                os.kill(os.getpid(), signal.SIGTERM)
            await server

    asyncio.run(run())


async def read_head(reader: asyncio.StreamReader) -> str:
    return (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 30)).decode()


def test_connections_have_nagle_disabled() -> None:
    with (
        listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize("begun", [b"", b"GET /health HTTP/1.1\r\nHo"])
def test_connection_without_a_request_is_closed(begun: bytes) -> None:
    async def dribble(streams: Streams) -> None:
        reader, writer = streams
        writer.write(begun)
        assert await asyncio.wait_for(reader.read(), 30) == b""

    talk(Settings(scorer="bm25", port=0, body_timeout_seconds=0.5), dribble)


def test_second_request_times_out_too() -> None:
    async def follow(streams: Streams) -> None:
        reader, writer = streams
        for _ in range(2):
            writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await read_head(reader)).startswith("HTTP/1.1 200")
            assert await reader.readexactly(len(b'{"status":"ok"}')) == b'{"status":"ok"}'
        writer.write(b"GET /he")
        assert await asyncio.wait_for(reader.read(), 30) == b""

    talk(Settings(scorer="bm25", port=0, body_timeout_seconds=0.5), follow)


def test_one_client_cannot_take_all_connections() -> None:
    async def crowd(streams: Streams) -> None:
        reader, writer = streams
        place = writer.get_extra_info("peername")
        second = await asyncio.open_connection(*place)
        third, closing = await asyncio.open_connection(*place)
        with suppress(ConnectionResetError):
            assert await asyncio.wait_for(third.read(), 30) == b""
        second[1].close()
        await second[1].wait_closed()
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await read_head(reader)).startswith("HTTP/1.1 200")
        closing.close()

    talk(Settings(scorer="bm25", port=0, max_connections_per_host=2), crowd)


def test_not_http_is_refused() -> None:
    async def babble(streams: Streams) -> None:
        reader, writer = streams
        writer.write(b"\x16\x03\x01 hello\r\n\r\n")
        assert (await read_head(reader)).startswith("HTTP/1.1 400")

    talk(Settings(scorer="bm25", port=0), babble)


def test_backlog_is_answered_during_a_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    clients: list[socket.socket] = []

    def connect_before(listening: socket.socket) -> Iterator[socket.socket]:
        for _ in range(3):
            client = socket.create_connection(listening.getsockname())
            client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            clients.append(client)
        return _accept_all(listening)

    async def say_nothing(_: Streams) -> None:
        pass

    monkeypatch.setattr(serve, "_accept_all", connect_before)
    talk(Settings(scorer="bm25", port=0), say_nothing)

    for client in clients:
        with client:
            assert client.recv(100).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("seconds", [0.1, 0.8])  # before and after the listening socket is closed
def test_idle_connection_can_still_ask_during_a_stop(seconds: float) -> None:
    async def stop(streams: Streams) -> None:
        reader, writer = streams
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(seconds)
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = await read_head(reader)
        assert head.startswith("HTTP/1.1 200")
        assert "connection: close" in head.lower()

    talk(Settings(scorer="bm25", port=0), stop, is_stopped=True)


def test_job_of_a_disconnected_client_is_abandoned() -> None:
    body = b'{"question": "is tea hot?", "text": "' + b"Tea is hot. " * 50_000 + b'"}'
    head = f"POST /v1/answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"

    async def leave(streams: Streams) -> None:
        _, writer = streams
        place = writer.get_extra_info("peername")
        writer.write(head.encode() + body)
        await writer.drain()
        writer.close()
        for _ in range(300):
            shown = await read_metrics(place)
            if 'route="/v1/answer",method="POST",status="400"} 1' in shown:
                return
            await asyncio.sleep(0.1)
        raise AssertionError(shown)

    talk(Settings(scorer="bm25", port=0), leave)


BIG = 7_000_000
"""More than the socket buffers hold."""


async def ask_for_much(writer: asyncio.StreamWriter) -> None:
    body = b'{"query": "tea?", "return_documents": true, "documents": [{"text": "Tea.", "more": "'
    body += b"a" * BIG + b'"}]}'
    head = f"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def test_connection_of_a_client_that_does_not_read_is_closed() -> None:
    async def look_away(streams: Streams) -> None:
        reader, writer = streams
        await ask_for_much(writer)
        await asyncio.sleep(2.5)
        received = await asyncio.wait_for(reader.read(), 30)
        assert received.startswith(b"HTTP/1.1 200")
        assert len(received) < BIG

    talk(Settings(scorer="bm25", port=0, body_timeout_seconds=1.0), look_away)


def test_slow_reader_gets_the_whole_reply() -> None:
    async def read_slowly(streams: Streams) -> None:
        reader, writer = streams
        await ask_for_much(writer)
        received = 0
        while received < BIG:
            received += len(await asyncio.wait_for(reader.read(BIG // 10), 30))
            await asyncio.sleep(0.15)

    talk(Settings(scorer="bm25", port=0, body_timeout_seconds=1.0), read_slowly)


async def read_metrics(place: tuple[str, int]) -> str:
    reader, writer = await asyncio.open_connection(*place)
    writer.write(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n")
    shown = (await asyncio.wait_for(reader.read(), 30)).decode()
    writer.close()
    return shown


def test_sighup_reloads_and_logs_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    scorer = tmp_path / "cascade.toml"
    scorer.write_text('name = "one"\n[[stage]]\nscorer = "bm25"\n')

    async def wait_for(logged: str) -> None:
        for _ in range(600):
            if any(message.startswith(logged) for message in caplog.messages):
                return
            await asyncio.sleep(0.1)
        raise AssertionError(caplog.messages)

    async def reload(streams: Streams) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        await wait_for("reloaded; scorer: one")
        scorer.write_text("nonsense")
        os.kill(os.getpid(), signal.SIGHUP)
        await wait_for(f"not reloaded, the old workers stay: {scorer}")
        shown = await read_metrics(streams[1].get_extra_info("peername"))
        assert "rejoinder_reloads_total 1" in shown
        assert "rejoinder_workers_ready 1" in shown

    with caplog.at_level(logging.INFO, "rejoinder.server"):
        talk(Settings(scorer=str(scorer), port=0), reload)


class StoppedEarly:
    """An application; SIGTERM arrives while it is made, if it says so."""

    is_stopping = False

    def __init__(self, *, while_made: bool) -> None:
        self.while_made = while_made

    def make_app(self) -> Starlette:
        if self.while_made:
            signal.raise_signal(signal.SIGTERM)
        return Starlette()


@pytest.mark.parametrize("while_made", [True, False])
def test_a_signal_before_the_first_request_is_not_lost(while_made: bool) -> None:
    """It ends a server that is being made as it ends any process, and stops one that is ready."""
    ended: list[int] = []

    def stop(_: str) -> None:
        signal.raise_signal(signal.SIGTERM)

    async def run() -> None:
        with listen("127.0.0.1", 0) as listening:
            app = StoppedEarly(while_made=while_made)
            await asyncio.wait_for(run_app(Settings(), app, listening, stop), 60)

    before = signal.signal(signal.SIGTERM, lambda number, _: ended.append(number))
    try:
        asyncio.run(run())
    finally:
        signal.signal(signal.SIGTERM, before)

    assert ended == [signal.SIGTERM] * while_made


def test_server_stops_with_its_terminal() -> None:
    pid, terminal = import_pty().fork()
    if pid == 0:
        arguments = [sys.executable, "-m", "rejoinder", "serve", "--scorer", "bm25", "--port", "0"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        os.execve(sys.executable, [*arguments, "--workers", "1"], environment)
    output = b""
    while b"serving ranking at" not in output:
        output += os.read(terminal, 1000)

    os.close(terminal)

    end = time.monotonic() + 60
    while (ended := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.05)
    if ended == (0, 0):
        os.kill(pid, signal.SIGKILL)
        ended = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(ended[1]) == 0


def test_without_posix_signals_the_server_serves_and_stops(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise NotImplementedError

    async def ask(streams: Streams) -> None:
        reader, writer = streams
        writer.write(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await read_head(reader)).startswith("HTTP/1.1 200")

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.delattr(signal, "SIGHUP")
    monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", refuse)
    talk(Settings(scorer="bm25", port=0), ask)

    assert signal.getsignal(signal.SIGTERM) is before
    assert "this system has no SIGHUP: restart the server to read new weights" in caplog.messages
