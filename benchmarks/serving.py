"""Measure two servers of one core each behind one address, beside one of them.

Usage: python -m benchmarks.serving --data DATA [--cache FOLDER] [--seconds 60] [--clients 16]
           [--engine qdrant] > benchmarks/results/serving.json

Each `rejoinder serve` has one core (as with taskset), one worker, and a copy of the index of
`benchmarks.engines` that nobody writes; a balancer in this process gives each connection to the
next server.  Clients ask `/v1/answer` the questions of the index, one after the other.  With
--engine the two servers then answer from a search engine on the same machine, which takes time of
the same cores: this is reported only.  Prints one JSON object, and exits with 1 where two servers
answer fewer than 1.8 times as many questions as one.  Needs Linux, and as many cores as servers.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count, cycle
from pathlib import Path
from typing import Any

import httpx2 as httpx

from benchmarks.common import describe_machine, get_percentiles, serving
from benchmarks.corpora.indexes import build_index, compute_source_digest
from benchmarks.corpora.pooled import read_pool
from benchmarks.engines import ENGINES, QUESTIONS, SENTENCES, choose_part, compute_digest
from rejoinder.retrieval.export import export_index

HOST = "127.0.0.1"
AIM = 1.8
"""How many times the requests of one server two of them answer, at least."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--engine", choices=ENGINES)
    options = parser.parse_args()
    pool = choose_part(read_pool(options.data), SENTENCES, QUESTIONS)
    name = f"engines-{compute_digest(pool)}-{compute_source_digest()}"
    options.cache.mkdir(parents=True, exist_ok=True)
    questions = [question.text for question in pool.questions]
    result: dict[str, Any] = {"seconds": options.seconds, "clients": options.clients}
    with (
        build_index(options.cache / name, pool.documents) as index,
        tempfile.TemporaryDirectory() as folder,
    ):
        copies = [str(shutil.copytree(index.folder, Path(folder) / str(core))) for core in range(2)]
        for label, places in (("one", copies[:1]), ("two", copies)):
            result[label] = measure([[place] for place in places], questions, options)
        if options.engine:
            with ENGINES[options.engine][1]() as pattern:
                url = pattern.format(name="serving")
                export_index(index, url)
                servers = [["--retriever", url]] * 2
                result[f"two over {options.engine}"] = measure(servers, questions, options)
    rates = [result[label]["requests_per_second"] for label in ("one", "two")]
    result |= {"times_as_many": round(rates[1] / rates[0], 2), "machine": describe_machine()}
    print(json.dumps(result, indent=2))
    sys.exit(result["times_as_many"] < AIM)


def measure(
    servers: Sequence[Sequence[str]], questions: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    """Return the rate of servers with these arguments, each on a core of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    with ExitStack() as stack:
        ports = []
        for core, arguments in enumerate(servers):
            command = ("rejoinder", "serve", *arguments, "--workers", "1", "--port")
            with pinned(core):  # also what it starts
                port, _ = stack.enter_context(serving(*command, env=environment))
            ports.append(port)
        address = stack.enter_context(balancing(ports))
        return asyncio.run(ask(address, questions, options.clients, options.seconds))


@contextmanager
def pinned(core: int) -> Iterator[None]:
    """Start processes on one core."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {sorted(before)[core]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def balancing(ports: Sequence[int]) -> Iterator[str]:
    """Give the address of a balancer that gives each connection to the next port."""
    started: Future[tuple[str, Callable[[], object]]] = Future()
    chosen = cycle(ports)

    connections: set[asyncio.Task[Any]] = set()

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        connections.add(task)
        task.add_done_callback(connections.discard)
        server_reader, server_writer = await asyncio.open_connection(HOST, next(chosen))
        await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))

    async def listen() -> None:
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(connect, HOST, 0)
        port = server.sockets[0].getsockname()[1]
        stop = partial(loop.call_soon_threadsafe, ended.set)
        started.set_result((f"http://{HOST}:{port}", stop))
        async with server:
            await ended.wait()
        if connections:
            await asyncio.wait(connections, timeout=10)

    thread = threading.Thread(target=lambda: asyncio.run(listen()))
    thread.start()
    address, stop = started.result()
    try:
        yield address
    finally:
        stop()
        thread.join()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # the other side is gone
    finally:
        writer.close()


async def ask(
    address: str, questions: Sequence[str], clients: int, seconds: float
) -> dict[str, Any]:
    """Ask from many clients for a while; return the rate, percentiles and errors."""
    bodies = [{"question": question} for question in questions]
    return await post_all(address, "/v1/answer", bodies, clients, seconds)


async def post_all(
    address: str, path: str, bodies: Sequence[Mapping[str, Any]], clients: int, seconds: float
) -> dict[str, Any]:
    """Post bodies in turn from many clients for a while; return the rate, percentiles, errors."""
    begin = time.perf_counter()
    times: list[float] = []
    errors: Counter[str] = Counter()

    async def post_in_a_loop(first: int) -> None:
        async with httpx.AsyncClient(base_url=address, timeout=120) as client:
            for place in count(first, clients):
                start = time.perf_counter()
                reply = await client.post(path, json=bodies[place % len(bodies)])
                times.append(1000 * (time.perf_counter() - start))
                if reply.status_code != 200:
                    errors[str(reply.status_code)] += 1
                if time.perf_counter() - begin > seconds:
                    return

    await asyncio.gather(*map(post_in_a_loop, range(clients)))
    elapsed = time.perf_counter() - begin  # until the last reply
    return {
        "requests": len(times),
        "requests_per_second": round(len(times) / elapsed, 2),
        **get_percentiles(times, 50, 95, 99),
        "errors": dict(errors),
    }


if __name__ == "__main__":
    main()
