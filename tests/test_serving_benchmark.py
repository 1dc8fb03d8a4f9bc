"""The benchmark of several servers behind one address."""

import argparse
import asyncio
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from benchmarks.serving import ask, balancing, measure, pinned

from rejoinder.index.index import Index
from rejoinder.types import Document


@contextmanager
def counting(counts: Counter[int], status: int = 200) -> Iterator[int]:
    """Give the port of a server that counts connections under it."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            counts[self.server.server_address[1]] += 1  # type: ignore[index]
            super().setup()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = False  # waits until connections are closed

    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_each_server_gets_every_second_connection() -> None:
    counts: Counter[int] = Counter()
    with counting(counts) as one, counting(counts) as other, balancing([one, other]) as address:
        found = asyncio.run(ask(address, ["why?"], clients=6, seconds=0.2))

    assert counts == {one: 3, other: 3}
    assert found["requests"] >= 6
    assert found["errors"] == {}


def test_errors_are_counted() -> None:
    with counting(Counter(), status=503) as port, balancing([port]) as address:
        found = asyncio.run(ask(address, ["why?"], clients=2, seconds=0.1))

    assert found["errors"] == {"503": found["requests"]}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_a_server_starts_on_one_core() -> None:
    before = os.sched_getaffinity(0)
    with pinned(0):
        code = "import os; print(len(os.sched_getaffinity(0)))"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert found.stdout.strip() == b"1"
    assert os.sched_getaffinity(0) == before


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_real_servers_answer_behind_the_balancer(tmp_path: Path) -> None:
    with Index(tmp_path / "index", create=True) as index:
        index.add_documents([Document("tower", "Tower", ("Ada built the old tower.",))])
    options = argparse.Namespace(clients=2, seconds=0.5)

    found = measure([[str(tmp_path / "index")]], ["Who built the old tower?"], options)

    assert found["requests"] > 0
    assert found["errors"] == {}
