"""Real workers: killed, stuck, overloaded, and replaced.

Under load, one by one and for long: tests/reliability/server_cases.py.
"""

import asyncio
import os
import signal
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx
import msgspec
import pytest
from tests.server.load import TEXTS
from tests.server.running import Running, serving

from rejoinder.errors import InputError
from rejoinder.server.problems import Problem
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import AnswerJob, RankRequest
from rejoinder.server.workers.pool import Pool

BODY: dict[str, Any] = {"query": "is tea hot?", "documents": TEXTS}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("server")
    with serving(
        folder, str(folder / "index"), "--scorer", "bm25", "--workers", "2", "--timeout", "60"
    ) as running:
        yield running


def ask(address: str) -> int:
    return httpx.post(f"{address}/v2/rerank", json=BODY, timeout=60).status_code


def test_request_survives_the_death_of_all_workers(server: Running) -> None:
    for worker in server.list_workers():
        os.kill(worker, signal.SIGKILL)

    assert ask(server.address) == 200


def test_half_a_request_harms_no_other(server: Running) -> None:
    place = urlsplit(server.address)
    head = b"POST /v2/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    for _ in range(5):
        with socket.create_connection((place.hostname or "", place.port or 0)) as half:
            half.sendall(head)

    assert ask(server.address) == 200


def test_concurrent_uploads_are_all_stored(server: Running) -> None:
    def send(number: int) -> str:
        what: str = httpx.post(
            f"{server.address}/v1/documents?name={number}.txt",
            content=f"Document {number} is here.",
            timeout=60,
        ).json()["what"]
        return what

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(send, range(12))) == {"added"}

    listed = httpx.get(f"{server.address}/v1/documents").json()
    assert listed["total"] == 12
    assert {item["state"] for item in listed["documents"]} == {"ready"}


def settle(**settings: Any) -> Settings:
    return Settings(scorer="bm25", **settings)


def run(coroutine: Any) -> Any:
    return asyncio.run(coroutine)


def test_full_queue_refuses_at_once_and_recovers() -> None:
    async def overload() -> None:
        pool = Pool(settle(workers=1, max_waiting=4), Metrics())
        await pool.start()
        try:
            jobs = [
                asyncio.ensure_future(pool.submit(RankRequest("tea?", TEXTS))) for _ in range(30)
            ]
            done = await asyncio.gather(*jobs, return_exceptions=True)
            refused = [item for item in done if isinstance(item, Problem)]
            assert {problem.status for problem in refused} == {429}
            assert all(problem.headers["retry-after"] == "1" for problem in refused)
            assert 0 < len(refused) < 30
            assert len(done) - len(refused) >= 4
            await pool.submit(RankRequest("tea?", TEXTS))
        finally:
            await pool.stop()

    run(overload())


def test_timed_out_job_costs_only_its_worker() -> None:
    async def stall() -> None:
        metrics = Metrics()
        pool = Pool(settle(workers=1, timeout_seconds=0.5), metrics)
        await pool.start()
        try:
            text = "Tea is hot. " * 300_000
            with pytest.raises(Problem) as caught:
                await pool.submit(AnswerJob("is tea hot?", text=text))
            assert caught.value.status == 504
            end = time.monotonic() + 60
            while not metrics.restarts or not pool.is_ready:
                assert time.monotonic() < end
                await asyncio.sleep(0.05)
            await pool.submit(RankRequest("tea?", TEXTS[:1]))
        finally:
            await pool.stop()

    run(stall())


def test_job_that_kills_its_workers_fails() -> None:
    async def poison() -> None:
        metrics = Metrics()
        pool = Pool(settle(workers=1), metrics)
        await pool.start()
        try:
            job = asyncio.ensure_future(
                pool.submit(AnswerJob("is tea hot?", text="Tea is hot. " * 300_000))
            )
            for _ in range(2):
                while metrics.running == 0:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.05)
                for worker in pool._workers:
                    worker.kill()
                while metrics.running:
                    await asyncio.sleep(0.01)
            with pytest.raises(Problem, match="died 2 times") as caught:
                await job
            assert caught.value.status == 500
            await pool.submit(RankRequest("tea?", TEXTS[:1]))
        finally:
            await pool.stop()

    run(poison())


def test_job_survives_when_all_workers_are_killed_at_once() -> None:
    async def kill() -> None:
        pool = Pool(settle(workers=3, timeout_seconds=120), Metrics())
        await pool.start()
        try:
            for worker in pool._workers:
                worker.kill()
            # The pool does not know yet that they died: the job goes from one to the next.
            await pool.submit(RankRequest("tea?", TEXTS[:1]))
        finally:
            await pool.stop()

    run(kill())


def test_abandoned_job_is_not_run() -> None:
    async def leave() -> None:
        metrics = Metrics()
        pool = Pool(settle(workers=1), metrics)
        await pool.start()
        try:
            jobs = [
                asyncio.ensure_future(pool.submit(RankRequest("tea?", TEXTS))) for _ in range(10)
            ]
            await asyncio.sleep(0)
            for job in jobs[2:]:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            assert [job.cancelled() for job in jobs] == [False] * 2 + [True] * 8
            await pool.submit(RankRequest("tea?", TEXTS))
            assert metrics.queued == 0
        finally:
            await pool.stop()

    run(leave())


def test_a_scorer_that_cannot_be_opened_is_named() -> None:
    async def start() -> None:
        await Pool(Settings(scorer="nonsense", workers=2), Metrics()).start()

    with pytest.raises(InputError, match="unknown scorer 'nonsense'"):
        run(start())


def test_queueing_uses_up_the_budget() -> None:
    async def wait() -> None:
        pool = Pool(Settings(scorer="jaccard", workers=1, timeout_seconds=120), Metrics())
        await pool.start()
        try:
            long = "Tea is hot. " * 30_000
            slow = [
                asyncio.ensure_future(pool.submit(AnswerJob("tea?", text=long))) for _ in range(2)
            ]
            await asyncio.sleep(0)
            hurried = await pool.submit(RankRequest("tea?", TEXTS * 20, budget_ms=20))
            assert msgspec.json.decode(hurried)["trace"][0]["timed_out"]
            await asyncio.gather(*slow)
        finally:
            await pool.stop()

    run(wait())


def write_cascade(path: Path, name: str, scorer: str = "bm25") -> Path:
    path.write_text(f'name = "{name}"\n[[stage]]\nscorer = "{scorer}"\n')
    return path


async def name_scorer(pool: Pool) -> str:
    ranking = msgspec.json.decode(await pool.submit(RankRequest("tea?", TEXTS[:1])))
    return str(ranking["scorer"])


def test_reload_opens_the_scorer_again_and_finishes_running_jobs(tmp_path: Path) -> None:
    async def reload() -> None:
        scorer = write_cascade(tmp_path / "cascade.toml", "old")
        metrics = Metrics()
        pool = Pool(Settings(scorer=str(scorer), workers=2, timeout_seconds=120), metrics)
        await pool.start()
        try:
            before = list(pool._workers)
            begun = asyncio.ensure_future(
                pool.submit(AnswerJob("tea?", text="Tea is hot. " * 10_000))
            )
            await asyncio.sleep(0)
            write_cascade(scorer, "new")
            reloading = asyncio.ensure_future(pool.reload())
            assert await name_scorer(pool) == "old"
            await reloading
            assert await name_scorer(pool) == pool.info.scorer == "new"
            await begun
            assert [await worker.wait() for worker in before] == [0, 0]
            assert (metrics.reloads, metrics.ready, metrics.restarts) == (1, 2, 0)
        finally:
            await pool.stop()

    run(reload())


@pytest.mark.parametrize("workers", [1, 2])
def test_failed_reload_keeps_the_old_workers(tmp_path: Path, workers: int) -> None:
    async def reload() -> None:
        scorer = write_cascade(tmp_path / "cascade.toml", "old")
        pool = Pool(Settings(scorer=str(scorer), workers=workers), Metrics())
        await pool.start()
        try:
            before = list(pool._workers)
            write_cascade(scorer, "new", "nowhere")
            with pytest.raises(InputError, match="nowhere"):
                await pool.reload()
            assert pool._workers == before
            assert await name_scorer(pool) == pool.info.scorer == "old"
        finally:
            await pool.stop()

    run(reload())


def test_dead_worker_is_replaced_by_one_with_the_same_scorer(tmp_path: Path) -> None:
    async def lose() -> None:
        link = tmp_path / "current.toml"
        link.symlink_to(write_cascade(tmp_path / "old.toml", "old"))
        pool = Pool(Settings(scorer=str(link), workers=1), Metrics())
        await pool.start()
        try:
            link.unlink()
            link.symlink_to(write_cascade(tmp_path / "new.toml", "new"))
            pool._workers[0].kill()
            assert await name_scorer(pool) == "old"
            await pool.reload()
            assert await name_scorer(pool) == "new"
        finally:
            await pool.stop()

    run(lose())


def test_reload_helps_if_a_dead_worker_cannot_be_replaced(tmp_path: Path) -> None:
    async def fix() -> None:
        scorer = write_cascade(tmp_path / "cascade.toml", "old")
        metrics = Metrics()
        pool = Pool(Settings(scorer=str(scorer), workers=1), metrics)
        await pool.start()
        try:
            write_cascade(scorer, "new", "nowhere")
            pool._workers[0].kill()
            while pool.is_ready:
                await asyncio.sleep(0.01)
            write_cascade(scorer, "new")
            await pool.reload()
            assert await name_scorer(pool) == "new"
            # The old supervisor does not start another worker.
            end = time.monotonic() + 60
            while len(pool._supervisors) > 1:
                assert time.monotonic() < end
                await asyncio.sleep(0.05)
            assert len(pool._workers) == 1
        finally:
            await pool.stop()

    run(fix())


def test_dead_worker_whose_scorer_is_gone_is_started_until_a_reload(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        link = tmp_path / "current.toml"
        old = write_cascade(tmp_path / "old.toml", "old")
        link.symlink_to(old)
        pool = Pool(Settings(scorer=str(link), workers=1), Metrics())
        await pool.start()
        try:
            old.unlink()
            pool._workers[0].kill()
            end = time.monotonic() + 60
            while caplog.text.count("a worker could not be started") < 2:
                assert time.monotonic() < end
                await asyncio.sleep(0.01)
            assert not pool.is_ready
            link.unlink()
            link.symlink_to(write_cascade(tmp_path / "new.toml", "new"))
            await pool.reload()
            while len(pool._supervisors) > 1:
                assert time.monotonic() < end
                await asyncio.sleep(0.01)
            assert await name_scorer(pool) == "new"
            assert len(pool._workers) == 1
        finally:
            await pool.stop()

    run(fail())
