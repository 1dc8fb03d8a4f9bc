"""An application over a small index that computes in this process, and a client for it."""

import asyncio
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rejoinder.index.index import Index
from rejoinder.index.update import add_files
from rejoinder.runtime.static_vectors import load_vectors
from rejoinder.server.app import create_app
from rejoinder.server.messages import Failed, Info, Job, Reply, Sent
from rejoinder.server.metrics import Metrics
from rejoinder.server.problems import fail
from rejoinder.server.settings import Settings
from rejoinder.server.work import Work
from rejoinder.server.worker import do

collect_ignore = ["clients"]
"""Programs for environments of their own (run.py)."""

TEA = "# Green tea\n\nGreen tea is brewed at 75 °C. Boiling water makes it bitter.\n"
BEES = "Bees dance to tell where food is. A colony has one queen.\n"


class Here:
    """Does jobs in this process: a backend without a queue."""

    is_ready = True

    def __init__(self, work: Work) -> None:
        self._work = work
        self.info: Info = work.info

    def check_room(self) -> None:
        """There is always room."""

    async def do(self, job: Job) -> Reply:
        reply = await asyncio.to_thread(do, self._work, Sent(0, job))
        if isinstance(reply, Failed):
            raise fail(reply)
        return reply


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "tea.md").write_text(TEA, encoding="utf-8")
    (folder / "bees.txt").write_text(BEES, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory, documents: Path) -> Iterator[Work]:
    """Return what computes for all tests that change nothing."""
    opened = make_work(tmp_path_factory.mktemp("shared"), documents)
    yield opened
    opened.close()


def make_work(folder: Path, documents: Path) -> Work:
    pieces = load_vectors().pieces
    assert pieces is not None
    with Index(folder / "index", create=True) as index:
        list(add_files(index, [documents], pieces))
    return Work(folder / "index", "jaccard")


def make_client(work: Work, **settings: Any) -> TestClient:
    app = create_app(Settings(**settings), Here(work), Metrics())
    return TestClient(app, base_url="http://localhost")


@pytest.fixture
def connect(work: Work) -> Callable[..., TestClient]:
    """Return what makes a client of a server with these settings."""
    return partial(make_client, work)


@pytest.fixture
def client(work: Work) -> TestClient:
    """Return a client for what changes nothing."""
    return make_client(work)


@pytest.fixture
def fresh(tmp_path: Path, documents: Path) -> Iterator[TestClient]:
    """Return a client of an index of its own."""
    opened = make_work(tmp_path, documents)
    yield make_client(opened)
    opened.close()
