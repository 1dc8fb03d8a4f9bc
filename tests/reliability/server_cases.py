"""Server faults: overload, bad clients, dead workers, reloads, stops, and a soak test."""

import asyncio
import os
import random
import signal
import statistics
import time
from functools import partial
from itertools import cycle
from pathlib import Path

import httpx2 as httpx

from tests.reliability.bundles import write_small_bundle
from tests.reliability.case import Case, Found
from tests.reliability.mixed_load import ask_anything
from tests.reliability.server_faults import ask_slowly, begin, leave
from tests.server.load import TEXTS, Load, ask_for_one, loading
from tests.server.local import make_index, write_documents
from tests.server.running import MAX_SECONDS, Running, serving

SMALL = ("--scorer", "bm25", "--workers", "2", "--timeout", str(MAX_SECONDS))
"""Workers that start fast and have little to compute: only the faults matter."""
MAX_REFUSAL_SECONDS = 1.0
MAX_CLOSE_SECONDS = 45
"""More than twice the server's timeout of 20 s: it checks its readers every 20 s."""
AT_ONCE = 40
"""Concurrent slow clients; they finish together, so there are fewer than the queue holds."""
MAX_GROWN = 0.05
WARM_SECONDS = 600
"""A soak test that is longer than this warms up first."""
WARM_STEPS = 170
"""Of 30 requests each: memory grows until the buffers and the token caches are full."""


def overload(folder: Path, requests: int) -> Found:
    """Overload the queue; each request is answered or refused at once, and the server recovers."""
    refusals: list[float] = []

    def ask(client: httpx.Client) -> None:
        start = time.perf_counter()
        reply = client.post("/v1/rank", json={"question": "is tea hot?", "documents": TEXTS * 10})
        seconds = time.perf_counter() - start
        if reply.status_code == 200:
            return
        refusals.append(seconds)
        assert reply.status_code in {429, 503}, reply.text
        assert reply.headers["retry-after"]
        assert seconds <= MAX_REFUSAL_SECONDS, f"refused after {seconds:.2f} s"
        time.sleep(0.05)

    options = ("--scorer", "bm25", "--workers", "1", "--max-waiting", "4")
    with serving(folder, *options) as running:
        with loading(running.address, clients=24, ask=ask) as load:
            running.wait_until(
                lambda: load.answered >= requests or bool(load.failed),
                f"{requests} requests",
                seconds=MAX_SECONDS + requests / 10,
            )
        assert refusals, "no request was refused: too few clients"
        with httpx.Client(base_url=running.address, timeout=MAX_SECONDS) as client:
            ask_for_one(client)
        left = _count_jobs(running)
    _check(load)
    cuts = statistics.quantiles(refusals, n=20)
    note = (
        f"{len(refusals):,} refused, after {1000 * statistics.median(refusals):.0f} ms (p50),"
        f" {1000 * cuts[-1]:.0f} ms (p95)"
    )
    return Found(load.answered, left, note)


def send_slowly(folder: Path, clients: int) -> Found:
    """Send requests slowly; they are answered, and other clients are not affected."""

    async def meet(address: str) -> int:
        answered = 0
        for first in range(0, clients, AT_ONCE):
            count = min(AT_ONCE, clients - first)
            requests = (ask_slowly(address, seconds=2) for _ in range(count))
            answered += sum(await asyncio.gather(*requests))
        return answered

    with serving(folder, *SMALL) as running, loading(running.address, clients=4) as load:
        answered = asyncio.run(meet(running.address))
    _check(load)
    note = f"answered, as were {load.answered:,} requests of others meanwhile"
    return Found(clients, clients - answered, note)


def never_finish(folder: Path, clients: int) -> Found:
    """Begin requests and never finish; connections are closed, other clients are not affected."""
    with serving(folder, *SMALL) as running, loading(running.address, clients=4) as load:
        load.wait_for(20)
        before = running.count_files()
        connections = [begin(running.address, number) for number in range(clients)]
        running.wait_until(lambda: running.count_files() >= before + clients, "all to be there")
        start = time.monotonic()
        while (left := running.count_files() - before) > 0:
            if time.monotonic() - start > MAX_CLOSE_SECONDS:
                break
            time.sleep(0.2)
        seconds = time.monotonic() - start
        for connection in connections:
            connection.close()
    _check(load)
    note = f"all ended within {seconds:.0f} s; {load.answered:,} requests of others meanwhile"
    return Found(clients, max(0, left), note)


def disconnect(folder: Path, clients: int) -> Found:
    """Disconnect in the middle; no job or connection leaks, and other clients are not affected."""
    rng = random.Random(0)
    with serving(folder, *SMALL) as running:
        with loading(running.address, clients=2) as load:
            load.wait_for(4)
            before = running.count_files()
            for _ in range(clients):
                leave(running.address, rng)
                time.sleep(0.005)  # lets the server notice before abandoned jobs fill the queue
            running.wait_until(lambda: running.count_files() <= before, "connections to end")
        running.wait_until(lambda: _count_jobs(running) == 0, "jobs to end")
    _check(load)
    note = f"nothing of them stays; {load.answered:,} requests of others meanwhile"
    return Found(clients, 0, note)


def kill_workers(folder: Path, kills: int) -> Found:
    """Kill workers with -9, one after the other; no request fails."""
    rng = random.Random(0)
    with serving(folder, *SMALL) as running, loading(running.address) as load:
        for number in range(kills):
            load.wait_for(10)
            os.kill(rng.choice(running.list_workers()), signal.SIGKILL)
            running.wait_until(partial(_has_replaced, running, number + 1), "another worker")
        repeated = running.read_metric("jobs_retried_total")
    _check(load)
    note = f"{load.answered:,} requests, {repeated:.0f} of them done again by another worker"
    return Found(kills, 0, note)


def reload_bundles(folder: Path, reloads: int) -> Found:
    """Reload between two bundles and a corrupt one; no reply mixes them.

    Once the server has logged the reload, replies come from the new bundle.
    """
    bundles = [write_small_bundle(folder / name, seed) for seed, name in enumerate(("red", "blue"))]
    corrupt = write_small_bundle(folder / "corrupt", 2)
    weights = corrupt / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    link = folder / "current"
    _point(link, bundles[0])
    now: list[tuple[float, ...] | None] = [None]
    known: set[tuple[float, ...]] = set()

    def ask(client: httpx.Client) -> tuple[float, ...]:
        expected = now[0]
        reply = client.post("/v1/rank", json={"question": "is tea hot?", "documents": TEXTS})
        assert reply.status_code == 200, reply.text
        documents = sorted(reply.json()["documents"], key=lambda item: int(item["place"]))
        scores = tuple(item["score"] for item in documents)
        # If the expectation is the same before and after, it held all the time.
        if expected is not None and expected is now[0]:
            assert scores == expected, "scores of the bundle before"
        assert not known or scores in known, "scores of no bundle"
        return scores

    with serving(folder, "--scorer", str(link), "--workers", "2") as running:
        with httpx.Client(base_url=running.address, timeout=MAX_SECONDS) as client:
            scores = []
            for bundle in (bundles[1], bundles[0]):
                _reload(running, link, bundle, "reloaded")
                scores.append(ask(client))
        known.update(scores)
        assert len(known) == 2, "the bundles give the same scores"
        now[0] = scores[1]
        order = cycle([(bundles[1], scores[0]), (corrupt, scores[0]), (bundles[0], scores[1])])
        refused = 0
        with loading(running.address, clients=4, ask=ask) as load:
            for _, (bundle, expected) in zip(range(reloads), order, strict=False):
                is_corrupt = bundle == corrupt
                refused += is_corrupt
                now[0] = expected if is_corrupt else None
                _reload(running, link, bundle, "not reloaded" if is_corrupt else "reloaded")
                now[0] = expected
                load.wait_for(10)
    _check(load)
    note = (
        f"{load.answered:,} requests, each answered by one bundle; {refused} corrupt ones refused"
    )
    return Found(reloads, 0, note)


def stop(folder: Path, stops: int) -> Found:
    """Stop a server under load; accepted requests are answered."""
    answered = 0
    for _ in range(stops):
        with serving(folder, *SMALL) as running, loading(running.address) as load:
            load.wait_for(20)
            load.may_be_refused = True
            assert running.stop() == 0, running.log.read_text()[-2000:]
        _check(load)
        answered += load.answered
    return Found(stops, 0, f"{answered:,} requests, none of which failed")


def soak(folder: Path, seconds: int) -> Found:
    """Mix all requests, over the shipped cascade and an index that changes."""
    index = make_index(folder, write_documents(folder / "documents"))
    sizes = []
    with serving(folder, str(index), "--workers", "2", "--timeout", str(MAX_SECONDS)) as running:
        with loading(running.address, clients=6, ask=ask_anything) as load:
            is_long = seconds >= WARM_SECONDS
            for _ in range(WARM_STEPS if is_long else 1):
                load.wait_for(30)
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                sizes.append(running.measure_memory())
                time.sleep(0.5)
        restarts = int(running.read_metric("worker_restarts_total"))
    third = len(sizes) // 3
    before, after = max(sizes[:third]), max(sizes[-third:])
    grown = after - before if is_long else 0.0
    _check(load)
    lost = restarts + (int(grown) if grown > MAX_GROWN * before else 0)
    note = (
        f"{seconds / 60:.2g} minutes; {before:.0f} MB in the first third, {after:.0f} in the last"
    )
    return Found(load.answered, lost, note)


def _count_jobs(running: Running) -> int:
    return int(running.read_metric("jobs_queued") + running.read_metric("jobs_running"))


def _has_replaced(running: Running, workers: int) -> bool:
    restarts = running.read_metric("worker_restarts_total")
    return restarts >= workers and running.read_metric("workers_ready") == 2


def _reload(running: Running, link: Path, bundle: Path, message: str) -> None:
    logged = _count_logged(running.log, message)
    _point(link, bundle)
    running.process.send_signal(signal.SIGHUP)
    running.wait_until(lambda: _count_logged(running.log, message) > logged, message)


def _count_logged(log: Path, message: str) -> int:
    return log.read_text().count(f'"message": "{message}')


def _point(link: Path, to: Path) -> None:
    fresh = link.with_name("fresh")
    fresh.symlink_to(to)
    fresh.replace(link)


def _check(load: Load) -> None:
    """Fail with the reasons if any request failed."""
    reasons = sorted(set(load.failed))[:3]
    assert not reasons, f"{len(load.failed)} requests failed: {reasons}"


FAILED = "requests that failed"
CASES = [
    Case(
        "server",
        "more requests than may wait",
        overload,
        300,
        20_000,
        f"{FAILED}, or were refused later than after {MAX_REFUSAL_SECONDS:g} s",
    ),
    Case("server", "slow clients", send_slowly, 20, 500, FAILED),
    Case("server", "clients that never finish", never_finish, 0, 30, "connections kept"),
    Case("server", "clients that leave", disconnect, 40, 2_000, "jobs or connections kept"),
    Case("server", "worker killed with -9", kill_workers, 2, 100, FAILED),
    Case("server", "new weights", reload_bundles, 3, 100, "answers of the wrong bundle, or mixed"),
    Case("server", "stop under load", stop, 1, 500, FAILED),
    Case(
        "server",
        "mixed load, in requests",
        soak,
        5,
        30 * 60,
        f"{FAILED}, workers, megabytes grown where it is more than {MAX_GROWN:.0%}",
    ),
]
"""The short form of clients that never finish is in `tests/server/test_serve.py`."""
