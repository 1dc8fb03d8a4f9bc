"""An application over a small index that computes in this process, and a client for it."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rejoinder.server.app import create_app
from rejoinder.server.metrics import Metrics
from rejoinder.server.settings import Settings
from rejoinder.server.workers.jobs import Work
from tests.server.here import Here, make_work, write_documents

collect_ignore = ["clients"]
"""Programs for environments of their own (run.py)."""


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory, documents: Path) -> Iterator[Work]:
    """Return what computes for all tests that change nothing."""
    opened = make_work(tmp_path_factory.mktemp("shared"), documents)
    yield opened
    opened.close()


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
