"""A function that runs beside its caller."""

import threading
from collections.abc import Iterator

import pytest

from rejoinder.models import parallel
from rejoinder.models.parallel import running_beside

MAX_SECONDS = 60


@pytest.fixture(autouse=True)
def _two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(parallel, "count_cores", lambda: 2)
    parallel._get_threads.cache_clear()
    threads = parallel._get_threads()
    yield
    threads.shutdown()
    parallel._get_threads.cache_clear()


def test_both_run_at_the_same_time() -> None:
    meeting, ended = threading.Barrier(2, timeout=MAX_SECONDS), []

    with running_beside(lambda: meeting.wait() >= 0, on_end=lambda: ended.append(1)) as result:
        meeting.wait()  # fails unless the other thread comes, too
        assert result()

    parallel._get_threads().submit(lambda: None).result(MAX_SECONDS)
    assert ended == [1]


def test_a_function_whose_thread_is_busy_runs_in_the_caller() -> None:
    may_end, ended = threading.Event(), []
    busy = parallel._get_threads().submit(may_end.wait, MAX_SECONDS)

    with running_beside(threading.current_thread, on_end=lambda: ended.append(1)) as result:
        assert result() is threading.current_thread()
    assert ended == [1]
    may_end.set()
    assert busy.result()


def test_what_nobody_asks_for_is_not_begun() -> None:
    may_end, ended, begun = threading.Event(), [], []
    busy = parallel._get_threads().submit(may_end.wait, MAX_SECONDS)

    with running_beside(lambda: begun.append(1), on_end=lambda: ended.append(1)):
        pass

    assert ended == [1]
    may_end.set()
    assert busy.result()
    parallel._get_threads().submit(lambda: None).result(MAX_SECONDS)
    assert begun == []


def test_on_one_core_the_caller_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "count_cores", lambda: 1)
    ended: list[int] = []

    with running_beside(threading.current_thread, on_end=lambda: ended.append(1)) as result:
        assert result() is threading.current_thread()
        assert ended == []

    assert ended == [1]
