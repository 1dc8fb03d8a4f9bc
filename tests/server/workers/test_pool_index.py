"""A pool in this process whose index is written, deleted, damaged and replaced."""

import asyncio
import logging
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.index.editions import QUESTION, make, put
from tests.server.load import TEXTS

from rejoinder.errors import InputError
from rejoinder.server.problems import Problem
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers import pool as pools
from rejoinder.server.workers.messages import (
    AddDocument,
    AnswerJob,
    ListDocuments,
    RankRequest,
    RemoveDocument,
)
from rejoinder.server.workers.pool import MAX_WRITES, Pool, _Worker


@pytest.fixture(autouse=True)
def _look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "WATCH_SECONDS", 0.02)


def make_pool(index: Path | None = None, workers: int = 1) -> Pool:
    return Pool(Settings(index=index, scorer="jaccard", workers=workers), Metrics())


async def submit(pool: Pool, job: Any) -> Any:
    return msgspec.json.decode(await pool.submit(job))


async def answer(pool: Pool) -> str:
    answers = await submit(pool, AnswerJob(QUESTION))
    return str(answers["answers"][0]["sentence"])


async def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)


def has_open(worker: _Worker, folder: Path) -> bool:
    """Whether a worker has files of a folder open, even deleted ones."""
    for link in Path(f"/proc/{worker._process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            if str(link.readlink()).startswith(str(folder)):
                return True
    return False


def test_pool_follows_its_index(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    index = make(tmp_path / "index", 1)

    async def follow() -> None:
        pool = make_pool(index, workers=2)
        await pool.start()
        try:
            assert (pool.index_problem, await answer(pool)) == ("", "Edition 1 is about caves.")
            assert all(has_open(worker, index) for worker in pool._workers)

            shutil.rmtree(index)
            await wait_until(lambda: bool(pool.index_problem))
            assert "the index is gone" in pool.index_problem
            assert pool.is_ready
            await pool.submit(RankRequest("tea?", TEXTS[:1]))  # needs no index
            await wait_until(lambda: not any(has_open(worker, index) for worker in pool._workers))

            index.mkdir()
            (index / "index.sqlite").write_text("no database" * 500)
            await wait_until(lambda: "not a database" in pool.index_problem)

            put(index, make(tmp_path / "new", 2))
            await wait_until(lambda: not pool.index_problem)
            assert {await answer(pool) for _ in range(4)} == {"Edition 2 is about caves."}

            put(index, make(tmp_path / "newer", 3))  # without a gap that can be seen
            await asyncio.sleep(0.2)
            assert pool.index_problem == ""
            assert await answer(pool) == "Edition 3 is about caves."
        finally:
            await pool.stop()

    asyncio.run(follow())

    logged = [record.getMessage() for record in caplog.records if record.name == pools.__name__]
    assert len(logged) == 3
    assert "not ready" in logged[0]
    assert "the index is gone" in logged[0]
    assert "not a database" in logged[1]
    assert logged[2] == "the index can be read again"


def test_index_that_is_replaced_before_the_first_look_is_noticed(tmp_path: Path) -> None:
    index, old = make(tmp_path / "index", 1), tmp_path / "old"
    new = make(tmp_path / "new", 2)

    async def replace() -> None:
        pool = make_pool(index)
        await pool.start()
        try:
            put(index, new)  # nothing is asked, and no other task has run
            assert has_open(pool._workers[0], old)
            await wait_until(lambda: not has_open(pool._workers[0], old))
            assert has_open(pool._workers[0], index)
        finally:
            await pool.stop()

    asyncio.run(replace())


def test_worker_that_is_late_opens_the_new_index_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "FOLLOW_SECONDS", 0.1)
    index = make(tmp_path / "index", 1)

    async def stall() -> None:
        pool = make_pool(index, workers=2)
        await pool.start()
        stopped = pool._workers[0]._process.pid
        try:
            assert await answer(pool) == "Edition 1 is about caves."
            os.kill(stopped, signal.SIGSTOP)
            put(index, make(tmp_path / "new", 2))
            # The pool asks it again and again.
            await wait_until(lambda: len(pool._workers[0].tasks) > 2)
            os.kill(stopped, signal.SIGCONT)
            await wait_until(lambda: not pool._workers[0].tasks)
            assert pool.index_problem == ""
            assert {await answer(pool) for _ in range(4)} == {"Edition 2 is about caves."}
        finally:
            os.kill(stopped, signal.SIGCONT)
            await pool.stop()

    asyncio.run(stall())


def test_index_that_returns_while_no_worker_runs_is_followed(tmp_path: Path) -> None:
    index = make(tmp_path / "index", 1)

    async def lose() -> None:
        pool = make_pool(index)
        await pool.start()
        try:
            shutil.rmtree(index)
            await wait_until(lambda: bool(pool.index_problem))
            pool._workers[0].kill()
            await wait_until(lambda: not pool.is_ready)
            put(index, make(tmp_path / "new", 2))
            await asyncio.sleep(0.1)
            assert pool.index_problem  # nobody could read it yet
            await wait_until(lambda: not pool.index_problem)
            assert await answer(pool) == "Edition 2 is about caves."
        finally:
            await pool.stop()

    asyncio.run(lose())


def test_writes_queue_one_behind_the_other_up_to_a_limit(tmp_path: Path) -> None:
    async def write() -> None:
        pool = make_pool(tmp_path / "index")  # which the pool creates
        await pool.start()
        try:
            text = tmp_path / "cave.txt"
            text.write_text("A cave is dark.")
            jobs = [
                asyncio.ensure_future(pool.submit(AddDocument(f"{number}.txt", str(text))))
                for number in range(MAX_WRITES + 3)
            ]
            await asyncio.sleep(0)
            assert len(pool._workers[0].tasks) == 1
            done = await asyncio.gather(*jobs, return_exceptions=True)

            refused = [item for item in done if isinstance(item, Problem)]
            assert [problem.status for problem in refused] == [429] * 3
            assert "too many writes" in str(refused[0])
            stored = await submit(pool, ListDocuments())
            assert stored["total"] == MAX_WRITES

            with pytest.raises(Problem, match="no document 99") as caught:
                await pool.submit(RemoveDocument(99))
            assert caught.value.status == 404
            await pool.submit(RemoveDocument(stored["documents"][0]["id"]))
            assert (await submit(pool, ListDocuments()))["total"] == MAX_WRITES - 1
        finally:
            await pool.stop()

    asyncio.run(write())


def test_worker_that_ends_at_once_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/true")

    with pytest.raises(InputError, match="ended before it was ready"):
        asyncio.run(make_pool().start())


def test_start_fails_if_any_worker_does_and_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = tmp_path / "first"
    once = tmp_path / "python"
    once.write_text(
        f'#!/bin/sh\ntest ! -e {first} && echo $$ > {first} && exec {sys.executable} "$@"\n'
    )
    once.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(once))
    pool = make_pool(workers=2)

    with pytest.raises(InputError, match="ended before it was ready"):
        asyncio.run(pool.start())

    assert (pool._workers, pool.is_ready) == ([], False)
    assert not Path(f"/proc/{first.read_text().strip()}").exists()
