"""Measures the server under load, beside a plain one around the same encoder.

Usage: python -m benchmarks.serve [--seconds 60] [--clients 16] > serve.json

In one run: so many clients post `/v2/rerank` with 50 sentences each, first to `rejoinder serve`,
then to `benchmarks.plain_server` (sentence-transformers' CrossEncoder).  One client ranks 96
documents of 64 tokens, new ones each time, and again by `/v1/rank`, which tells what each stage
took.  And more clients than the queue holds come from another process, for the time that
a refusal takes.  Prints one JSON object: requests per second, percentiles in milliseconds,
errors, and how much the server's processes grew after the first tenth of the time.

Needs the extra `serve`, the dependency group `bench`, and the package that `rejoinder train
static-vectors` names; --no-plain leaves the plain server out.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx2 as httpx

from benchmarks.made_up import draw_texts

QUESTION = "How are glacier caves formed in the mountains?"
WORDS, TOKENS_PER_WORD = 25, 1.3
DOCUMENTS = 96


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--sentences", type=int, default=50)
    parser.add_argument("--no-plain", action="store_true")
    arguments = parser.parse_args()
    seconds, clients = arguments.seconds, arguments.clients
    body = {"query": QUESTION, "documents": draw_texts(arguments.sentences, WORDS)}
    result: dict[str, Any] = {"seconds": seconds, "clients": clients, "cores": os.cpu_count()}
    with running("rejoinder", "serve", "--port") as (address, process):
        result["rejoinder"] = asyncio.run(load(address, process.pid, body, clients, seconds))
        result["documents_96_of_64_tokens"] = measure_latency(address)
    with running("rejoinder", "serve", "--max-waiting", "8", "--port") as (address, process):
        result["overload"] = overload(address, body)
    if not arguments.no_plain:
        with running("benchmarks.plain_server") as (address, process):
            result["plain"] = asyncio.run(load(address, process.pid, body, clients, seconds))
        ours, plain = (result[name]["requests_per_second"] for name in ("rejoinder", "plain"))
        result["times_as_many"] = round(ours / plain, 2)
    print(json.dumps(result, indent=2))


@contextmanager
def running(*module: str) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Give the address of a server that answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", *module, str(port)], stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(address, process)
        yield address, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    body = {"query": "why?", "documents": ["So."]}
    end = time.monotonic() + 300
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"a server ended with status {process.returncode} before it answered")
        try:
            if httpx.post(f"{address}/v2/rerank", json=body, timeout=60).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    sys.exit("a server did not answer within 5 minutes")


async def load(
    address: str, pid: int, body: dict[str, Any], clients: int, seconds: float
) -> dict[str, Any]:
    """Post from many clients for a while; return what was seen."""
    begin = time.perf_counter()
    end = begin + seconds
    times: list[float] = []
    errors: Counter[str] = Counter()

    async def post_again_and_again() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=120) as client:
            while time.perf_counter() < end:
                start = time.perf_counter()
                try:
                    status = (await client.post("/v2/rerank", json=body)).status_code
                except httpx.HTTPError as error:
                    errors[type(error).__name__] += 1
                    continue
                times.append(1000 * (time.perf_counter() - start))
                if status != 200:
                    errors[str(status)] += 1

    tasks = [asyncio.create_task(post_again_and_again()) for _ in range(clients)]
    await asyncio.sleep(seconds / 10)
    before = measure_memory(pid)
    await asyncio.sleep(seconds * 0.8)
    grown = measure_memory(pid) - before
    await asyncio.gather(*tasks)
    elapsed = time.perf_counter() - begin  # until the last reply
    found = describe(times)
    return {
        "requests": len(times),
        "requests_per_second": round(len(times) / elapsed, 2),
        **found,
        "p99_over_p50": round(found["p99_ms"] / found["p50_ms"], 2),
        "errors": dict(errors),
        "memory_grown_mb": round(grown, 1),
        "memory_mb": round(before, 1),
    }


def measure_latency(address: str, *, repeats: int = 50) -> dict[str, Any]:
    """Return how long one client waits for 96 documents of 64 tokens, and for what."""
    texts = draw_texts(2 * repeats * DOCUMENTS, round(64 / TOKENS_PER_WORD))
    lists = [texts[first : first + DOCUMENTS] for first in range(0, len(texts), DOCUMENTS)]
    times, stages = [], defaultdict(list)
    with httpx.Client(base_url=address, timeout=120) as client:
        for documents in lists[:repeats]:
            start = time.perf_counter()
            body = {"query": QUESTION, "documents": documents}
            client.post("/v2/rerank", json=body).raise_for_status()
            times.append(1000 * (time.perf_counter() - start))
        for documents in lists[repeats:]:
            body = {"question": QUESTION, "documents": documents}
            reply = client.post("/v1/rank", json=body).raise_for_status()
            for stage in reply.json()["trace"]:
                stages[stage["scorer"]].append(stage["milliseconds"])
    p50 = {name: round(statistics.median(found), 2) for name, found in stages.items()}
    return {**describe(times), "stages_p50_ms": p50}


def overload(address: str, body: dict[str, Any], *, seconds: float = 10) -> dict[str, Any]:
    """Keep the queue full; return how soon one more client is refused, and what follows."""
    refused: list[float] = []
    # In a process of its own, or the one more client would wait for the others' turns.
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        crowded = pool.submit(crowd, address, body, clients=32, seconds=seconds)
        while not crowded.done():
            start = time.perf_counter()
            if client.post("/v2/rerank", json=body).status_code in {429, 503}:
                refused.append(1000 * (time.perf_counter() - start))
            time.sleep(0.02)
        statuses = crowded.result()
        recovered = client.post("/v2/rerank", json=body).status_code
    return {
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "refused": {"requests": len(refused), **describe(refused)},
        "status_afterwards": recovered,
    }


def crowd(address: str, body: dict[str, Any], *, clients: int, seconds: float) -> Counter[int]:
    """Post from many clients that come back at once; return how they were answered."""
    statuses: Counter[int] = Counter()
    end = time.monotonic() + seconds

    async def come_back_at_once() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=120) as client:
            while time.monotonic() < end:
                statuses[(await client.post("/v2/rerank", json=body)).status_code] += 1
                await asyncio.sleep(0.05)

    async def come() -> None:
        await asyncio.gather(*(come_back_at_once() for _ in range(clients)))

    asyncio.run(come())
    return statuses


def describe(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {
        "p50_ms": round(statistics.median(times), 2),
        "p95_ms": round(cuts[94], 2),
        "p99_ms": round(cuts[98], 2),
        "max_ms": round(max(times), 2),
    }


def measure_memory(pid: int) -> float:
    """Return the resident memory of a process and its children, in megabytes."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    pages = sum(
        int(Path(f"/proc/{number}/statm").read_text().split()[1]) for number in (pid, *children)
    )
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
