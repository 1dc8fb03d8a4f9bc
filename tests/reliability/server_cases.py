"""Server faults: overload, bad clients, dead workers, reloads, stops, and a soak test."""

import asyncio
import random
import re
import shutil
import signal
import statistics
import time
from collections.abc import Sequence
from functools import partial
from itertools import cycle
from pathlib import Path

import httpx2 as httpx

from tests.index import editions
from tests.reliability import server_faults
from tests.reliability.bundles import write_small_bundle
from tests.reliability.case import Case, Outcome
from tests.reliability.server_faults import ask_slowly, begin
from tests.reliability.soak import MAX_GROWTH, soak
from tests.reliability.worker_kills import kill_workers, kill_workers_of_lists
from tests.server.load import TEXTS, ask_for_one, loading
from tests.server.running import MAX_SECONDS, Running, serving

SMALL = ("--scorer", "bm25", "--workers", "2", "--timeout", str(MAX_SECONDS))
"""Workers that start fast and have little to compute: only the faults matter."""
SHIPPED = ("--workers", "2", "--timeout", str(MAX_SECONDS))
"""Workers with the default cascade, as users have them."""
MAX_REJECTION_SECONDS = 1.0
MAX_CLOSE_SECONDS = 45
"""More than twice the server's timeout of 20 s: it checks its readers every 20 s."""
AT_ONCE = 40
"""Concurrent slow clients; they finish together, so there are fewer than the queue holds."""
MAX_NOTICE_SECONDS = 2.0
"""Until `/ready` reports that the index is gone, or back."""


def overload(folder: Path, requests: int) -> Outcome:
    """Overload the queue; each request is answered or rejected at once, and the server recovers."""
    rejections: list[float] = []

    def ask(client: httpx.Client) -> None:
        start = time.perf_counter()
        reply = client.post("/v1/rank", json={"question": "is tea hot?", "documents": TEXTS * 10})
        seconds = time.perf_counter() - start
        if reply.status_code == 200:
            return
        rejections.append(seconds)
        assert reply.status_code in {429, 503}, reply.text
        assert reply.headers["retry-after"]
        assert seconds <= MAX_REJECTION_SECONDS, f"rejected after {seconds:.2f} s"
        time.sleep(0.05)

    options = ("--scorer", "bm25", "--workers", "1", "--max-waiting", "4")
    with serving(folder, *options) as running:
        with loading(running.address, clients=24, ask=ask) as load:
            running.wait_until(
                lambda: load.answered >= requests or bool(load.failed),
                f"{requests} requests",
                seconds=MAX_SECONDS + requests / 10,
            )
        assert rejections, "no request was rejected: too few clients"
        with httpx.Client(base_url=running.address, timeout=MAX_SECONDS) as client:
            ask_for_one(client)
        left = _count_jobs(running)
    load.check()
    percentiles = statistics.quantiles(rejections, n=20)
    note = (
        f"{len(rejections):,} rejected, after {1000 * statistics.median(rejections):.0f} ms (p50),"
        f" {1000 * percentiles[-1]:.0f} ms (p95)"
    )
    return Outcome(load.answered, left, note)


def send_slowly(folder: Path, clients: int) -> Outcome:
    """Send requests slowly; they are answered, and other clients are not affected."""

    async def send_all(address: str) -> int:
        answered = 0
        for first in range(0, clients, AT_ONCE):
            count = min(AT_ONCE, clients - first)
            requests = (ask_slowly(address, seconds=2) for _ in range(count))
            answered += sum(await asyncio.gather(*requests))
        return answered

    with serving(folder, *SMALL) as running, loading(running.address, clients=4) as load:
        answered = asyncio.run(send_all(running.address))
    load.check()
    note = f"all answered; meanwhile {load.answered:,} requests of other clients"
    return Outcome(clients, clients - answered, note)


def never_finish(folder: Path, clients: int) -> Outcome:
    """Begin requests and never finish; connections are closed, other clients are not affected."""
    with serving(folder, *SMALL) as running, loading(running.address, clients=4) as load:
        load.wait_for(20)
        before = running.count_files()
        connections = [begin(running.address, number) for number in range(clients)]
        running.wait_until(
            lambda: running.count_files() >= before + clients, "all connections to open"
        )
        start = time.monotonic()
        while (left := running.count_files() - before) > 0:
            if time.monotonic() - start > MAX_CLOSE_SECONDS:
                break
            time.sleep(0.2)
        seconds = time.monotonic() - start
        for connection in connections:
            connection.close()
    load.check()
    note = (
        f"all closed within {seconds:.0f} s; meanwhile {load.answered:,} requests of other clients"
    )
    return Outcome(clients, max(0, left), note)


def disconnect(folder: Path, clients: int) -> Outcome:
    """Disconnect in the middle; no job or connection leaks, and other clients are not affected."""
    rng = random.Random(0)
    with serving(folder, *SMALL) as running:
        with loading(running.address, clients=2) as load:
            load.wait_for(4)
            before = running.count_files()
            for _ in range(clients):
                server_faults.disconnect(running.address, rng)
                time.sleep(0.005)  # lets the server notice before abandoned jobs fill the queue
            running.wait_until(lambda: running.count_files() <= before, "connections to close")
        running.wait_until(lambda: _count_jobs(running) == 0, "jobs to end")
    load.check()
    note = f"nothing leaked; meanwhile {load.answered:,} requests of other clients"
    return Outcome(clients, 0, note)


def reload_bundles(folder: Path, reloads: int) -> Outcome:
    """Reload between two bundles and a corrupt one; no reply mixes them.

    Once the server has logged the reload, replies come from the new bundle.
    """
    bundles = [write_small_bundle(folder / name, seed) for seed, name in enumerate(("red", "blue"))]
    corrupt = write_small_bundle(folder / "corrupt", 2)
    weights = corrupt / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-50])
    link = folder / "current"
    _point(link, bundles[0])
    current: list[tuple[float, ...] | None] = [None]
    known: set[tuple[float, ...]] = set()

    def ask(client: httpx.Client) -> tuple[float, ...]:
        expected = current[0]
        reply = client.post("/v1/rank", json={"question": "is tea hot?", "documents": TEXTS})
        assert reply.status_code == 200, reply.text
        documents = sorted(reply.json()["documents"], key=lambda item: int(item["place"]))
        scores = tuple(item["score"] for item in documents)
        # Compare only if no reload happened between request and reply.
        if expected is not None and expected is current[0]:
            assert scores == expected, "scores of the previous bundle"
        assert not known or scores in known, "scores of neither bundle"
        return scores

    with serving(folder, "--scorer", str(link), "--workers", "2") as running:
        with httpx.Client(base_url=running.address, timeout=MAX_SECONDS) as client:
            scores = []
            for bundle in (bundles[1], bundles[0]):
                _reload(running, link, bundle, "reloaded")
                scores.append(ask(client))
        known.update(scores)
        assert len(known) == 2, "both bundles give the same scores"
        current[0] = scores[1]
        order = cycle([(bundles[1], scores[0]), (corrupt, scores[0]), (bundles[0], scores[1])])
        refused = 0
        with loading(running.address, clients=4, ask=ask) as load:
            for _, (bundle, expected) in zip(range(reloads), order, strict=False):
                is_corrupt = bundle == corrupt
                refused += is_corrupt
                current[0] = expected if is_corrupt else None
                _reload(running, link, bundle, "not reloaded" if is_corrupt else "reloaded")
                current[0] = expected
                load.wait_for(10)
    load.check()
    note = (
        f"{load.answered:,} requests, each answered by one bundle; {refused} corrupt ones refused"
    )
    return Outcome(reloads, 0, note)


class Editions:
    """Which editions of an index may answer now, and the requests that were refused."""

    def __init__(self) -> None:
        self.first = self.last = 1
        self.absences = 0
        """Times that the index went and came back; odd while there is none to answer from."""
        self.refused = 0

    def ask(self, client: httpx.Client) -> None:
        """Ask; the answer is of an edition that is there during the request."""
        least, absences = self.first, self.absences
        reply = client.post("/v1/answer", json={"question": editions.QUESTION})
        if reply.status_code == 503 and (absences % 2 or self.absences != absences):
            assert re.search("the index is (gone|incomplete)", reply.json()["error"]), reply.text
            self.refused += 1
            return
        assert reply.status_code == 200, reply.text
        (answer,) = reply.json()["answers"]
        edition = int(answer["source"]["document"].partition("-")[0])
        assert answer["sentence"] == f"Edition {edition} is about caves.", answer
        assert least <= edition <= self.last, f"edition {edition}, not {least} to {self.last}"


def replace_index(folder: Path, replacements: int, options: Sequence[str] = SMALL) -> Outcome:
    """Replace the index under load; answers are of the edition that is there during the request.

    Every tenth time the index is gone for a while, and requests may then get status 503.
    """
    link = folder / "current"
    link.symlink_to(editions.make(folder / "1", 1))
    state = Editions()
    with serving(folder, str(link), *options) as running:
        with loading(running.address, clients=4, ask=state.ask) as load:
            for edition in range(2, replacements + 2):
                place = editions.make(folder / str(edition), edition)
                state.last = edition
                if edition % 10 == 2:
                    state.absences += 1
                    link.unlink()
                    _wait_for_ready(running, 503)
                    link.symlink_to(place)
                    _wait_for_ready(running, 200)
                    state.absences += 1
                else:
                    editions.point(link, place)
                state.first = edition
                shutil.rmtree(folder / str(edition - 1))
                load.wait_for(10)
        restarts = int(running.read_metric("worker_restarts_total"))
    load.check()
    note = f"{load.answered:,} requests, {state.refused} of them refused while there was no index"
    return Outcome(replacements, restarts, note)


def rebuild_index(folder: Path, rebuilds: int) -> Outcome:
    """Delete the index under load, and make the next edition at the same path.

    From the deletion until `/ready` says that the new one can be read, requests may get status
    503; then all answers are of the new edition.
    """
    place = editions.make(folder / "index", 1)
    state = Editions()
    with serving(folder, str(place), *SHIPPED) as running:
        with loading(running.address, clients=4, ask=state.ask) as load:
            for edition in range(2, rebuilds + 2):
                state.absences += 1
                shutil.rmtree(place)
                state.last = edition
                editions.make(place, edition)
                _wait_for_ready(running, 200)
                state.first = edition
                state.absences += 1
                load.wait_for(10)
        restarts = int(running.read_metric("worker_restarts_total"))
    load.check()
    note = f"{load.answered:,} requests, {state.refused} of them refused while there was no index"
    return Outcome(rebuilds, restarts, note)


def stop(folder: Path, stops: int) -> Outcome:
    """Stop a server under load; accepted requests are answered."""
    answered = 0
    for _ in range(stops):
        with serving(folder, *SMALL) as running, loading(running.address) as load:
            load.wait_for(20)
            load.may_be_refused = True
            assert running.stop() == 0, running.log.read_text()[-2000:]
        load.check()
        answered += load.answered
    return Outcome(stops, 0, f"{answered:,} requests, no failures")


def _wait_for_ready(running: Running, status: int) -> None:
    def has_status() -> bool:
        return httpx.get(f"{running.address}/ready", timeout=MAX_SECONDS).status_code == status

    running.wait_until(has_status, f"/ready answers {status}", seconds=MAX_NOTICE_SECONDS)


def _count_jobs(running: Running) -> int:
    return int(running.read_metric("jobs_queued") + running.read_metric("jobs_running"))


def _reload(running: Running, link: Path, bundle: Path, message: str) -> None:
    logged = _count_logged(running.log, message)
    _point(link, bundle)
    running.process.send_signal(signal.SIGHUP)
    running.wait_until(lambda: _count_logged(running.log, message) > logged, message)


def _count_logged(log: Path, message: str) -> int:
    return log.read_text().count(f'"message": "{message}')


def _point(link: Path, to: Path) -> None:
    new_link = link.with_name("new")
    new_link.symlink_to(to)
    new_link.replace(link)


FAILED = "failed requests"
CASES = [
    Case(
        "server",
        "more requests than the queue holds",
        overload,
        300,
        20_000,
        f"{FAILED} and rejections after more than {MAX_REJECTION_SECONDS:g} s",
    ),
    Case("server", "slow clients", send_slowly, 20, 500, FAILED),
    Case("server", "clients that never finish", never_finish, 0, 30, "leaked connections"),
    Case("server", "clients that disconnect", disconnect, 40, 2_000, "leaked jobs or connections"),
    Case("server", "worker killed with -9", kill_workers, 2, 100, FAILED),
    Case(
        "server",
        "worker killed with -9 under lists of questions",
        kill_workers_of_lists,
        2,
        100,
        f"{FAILED}, questions of a list that are not answered once and right",
    ),
    Case(
        "server", "bundle reloaded", reload_bundles, 3, 100, "answers of the wrong bundle or of two"
    ),
    Case(
        "server",
        "index replaced or deleted",
        replace_index,
        3,
        50,
        "answers of another index than the current one, failed requests beyond status 503 while"
        " there is none",
    ),
    Case(
        "server",
        "index replaced or deleted, default cascade",
        partial(replace_index, options=SHIPPED),
        2,
        50,
        "answers of another index than the current one, failed requests beyond status 503 while"
        " there is none",
    ),
    Case(
        "server",
        "index rebuilt in place, default cascade",
        rebuild_index,
        2,
        50,
        "answers of another index than the current one, failed requests beyond status 503 until it"
        " is rebuilt",
    ),
    Case("server", "stop under load", stop, 1, 500, FAILED),
    Case(
        "server",
        "mixed load, in requests",
        soak,
        5,
        30 * 60,
        f"{FAILED}, restarted workers, changed files that are not followed, and memory growth of"
        f" more than {MAX_GROWTH:.0%}, in MB",
    ),
]
"""The short form of clients that never finish is in `tests/server/test_serve.py`."""
