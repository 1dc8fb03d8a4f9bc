"""Measure the server under load, beside a plain one around the same encoder.

Usage: python -m benchmarks.serve [--seconds 60] [--clients 16] > serve.json

In one run: clients post 50 sentences each to `/v2/rerank`, first of `rejoinder serve`, then of
`benchmarks.plain_server` (sentence-transformers' CrossEncoder).  One client ranks 96 documents of
64 tokens, new ones each time, then does so with `/v1/rank`, which reports the time of each stage.
Then another process overloads the queue, to measure how soon a request is rejected.  Prints one
JSON object: requests per second, percentiles in milliseconds, errors, and the memory growth of
the server's processes after the first tenth of the time.

Needs the extra `serve`, the dependency group `bench`, and the package that `rejoinder train
static-vectors` names; --no-plain leaves the plain server out.
"""

import argparse
import asyncio
import json
import os
import statistics
import time
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import httpx2 as httpx

from benchmarks.common import draw_texts, get_percentiles, measure_memory, serving

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
    with serving("rejoinder", "serve", "--port") as (port, process):
        address = f"http://127.0.0.1:{port}"
        result["rejoinder"] = asyncio.run(load(address, process.pid, body, clients, seconds))
        result["documents_96_of_64_tokens"] = measure_latency(address)
    with serving("rejoinder", "serve", "--max-waiting", "8", "--port") as (port, process):
        result["overload"] = overload(f"http://127.0.0.1:{port}", body)
    if not arguments.no_plain:
        with serving("benchmarks.plain_server") as (port, process):
            address = f"http://127.0.0.1:{port}"
            result["plain"] = asyncio.run(load(address, process.pid, body, clients, seconds))
        ours, plain = (result[name]["requests_per_second"] for name in ("rejoinder", "plain"))
        result["times_as_many"] = round(ours / plain, 2)
    print(json.dumps(result, indent=2))


async def load(
    address: str, pid: int, body: dict[str, Any], clients: int, seconds: float
) -> dict[str, Any]:
    """Post from many clients for a while; return rates, percentiles, errors and memory."""
    begin = time.perf_counter()
    end = begin + seconds
    times: list[float] = []
    errors: Counter[str] = Counter()

    async def post_in_a_loop() -> None:
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

    tasks = [asyncio.create_task(post_in_a_loop()) for _ in range(clients)]
    await asyncio.sleep(seconds / 10)
    before = measure_tree_memory(pid)
    await asyncio.sleep(seconds * 0.8)
    growth = measure_tree_memory(pid) - before
    await asyncio.gather(*tasks)
    elapsed = time.perf_counter() - begin  # until the last reply
    summary = describe(times)
    return {
        "requests": len(times),
        "requests_per_second": round(len(times) / elapsed, 2),
        **summary,
        "p99_over_p50": round(summary["p99_ms"] / summary["p50_ms"], 2),
        "errors": dict(errors),
        "memory_grown_mb": round(growth, 1),
        "memory_mb": round(before, 1),
    }


def measure_latency(address: str, *, repeats: int = 50) -> dict[str, Any]:
    """Return the latency of 96 documents of 64 tokens for one client, and that of each stage."""
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
    p50 = {name: round(statistics.median(taken), 2) for name, taken in stages.items()}
    return {**describe(times), "stages_p50_ms": p50}


def overload(address: str, body: dict[str, Any], *, seconds: float = 10) -> dict[str, Any]:
    """Keep the queue full; return how soon another client is rejected, and the recovery."""
    rejections: list[float] = []
    # In another process, because the others' turns would delay the client that is timed.
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        httpx.Client(base_url=address, timeout=120) as client,
    ):
        crowd = pool.submit(overload_queue, address, body, clients=32, seconds=seconds)
        while not crowd.done():
            start = time.perf_counter()
            if client.post("/v2/rerank", json=body).status_code in {429, 503}:
                rejections.append(1000 * (time.perf_counter() - start))
            time.sleep(0.02)
        statuses = crowd.result()
        recovered = client.post("/v2/rerank", json=body).status_code
    return {
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "refused": {"requests": len(rejections), **describe(rejections)},
        "status_afterwards": recovered,
    }


def overload_queue(
    address: str, body: dict[str, Any], *, clients: int, seconds: float
) -> Counter[int]:
    """Post in a loop from many clients; return the count of each status."""
    statuses: Counter[int] = Counter()
    end = time.monotonic() + seconds

    async def post_in_a_loop() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=120) as client:
            while time.monotonic() < end:
                statuses[(await client.post("/v2/rerank", json=body)).status_code] += 1
                await asyncio.sleep(0.05)

    async def run_clients() -> None:
        await asyncio.gather(*(post_in_a_loop() for _ in range(clients)))

    asyncio.run(run_clients())
    return statuses


def describe(times: list[float]) -> dict[str, float]:
    return {**get_percentiles(times, 50, 95, 99), "max_ms": round(max(times), 2)}


def measure_tree_memory(pid: int) -> float:
    """Return the resident memory of a process and its children, in MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return measure_memory(pid, *map(int, children))


if __name__ == "__main__":
    main()
