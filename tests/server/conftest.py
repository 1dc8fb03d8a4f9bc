"""An application with a local backend over a small index, and clients for it."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rejoinder.server.app import Server
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.jobs import JobRunner
from tests.server.local import LocalBackend, make_runner, write_documents

collect_ignore = ["clients"]
"""Programs for environments of their own (run.py)."""


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory, documents: Path) -> Iterator[JobRunner]:
    """Return the job runner of all tests that only read."""
    opened = make_runner(tmp_path_factory.mktemp("shared"), documents)
    yield opened
    opened.close()


def make_client(runner: JobRunner, **settings: Any) -> TestClient:
    app = Server(Settings(**settings), LocalBackend(runner), Metrics()).make_app()
    return TestClient(app, base_url="http://localhost")


@pytest.fixture
def connect(runner: JobRunner) -> Callable[..., TestClient]:
    """Return a function that makes a client of a server with given settings."""
    return partial(make_client, runner)


@pytest.fixture
def client(runner: JobRunner) -> TestClient:
    """Return a client for tests that only read."""
    return make_client(runner)


@pytest.fixture
def fresh(tmp_path: Path, documents: Path) -> Iterator[TestClient]:
    """Return a client of a fresh index."""
    opened = make_runner(tmp_path, documents)
    yield make_client(opened)
    opened.close()
