"""What a budget cuts, on our own routes and where a request makes several jobs."""

import asyncio
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.local import LocalBackend, make_index, write_documents

from rejoinder.server.app import Server
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.jobs import JobRunner
from rejoinder.server.workers.messages import Job, TimedJob

QUESTION = "how hot is green tea brewed?"
TEXT = " ".join(f"Green tea of kind {number} is brewed hot." for number in range(90))
QUICK, SLOW = 0.02, 0.2


@dataclass
class Timed(LocalBackend):
    """A backend that notes the budget of each job, and may be slow."""

    runner: JobRunner
    seconds: float = 0.0
    budgets: list[float | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.runner)

    async def submit(self, job: Job) -> bytes:
        assert isinstance(job, TimedJob)
        self.budgets.append(job.budget_ms)
        await asyncio.sleep(self.seconds)
        return await super().submit(job)


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JobRunner]:
    folder: Path = tmp_path_factory.mktemp("budget")
    runner = JobRunner(make_index(folder, write_documents(folder / "documents")), "default")
    yield runner
    runner.close()


def connect(backend: Timed, **settings: Any) -> TestClient:
    app = Server(Settings(**settings), backend, Metrics()).make_app()
    return TestClient(app, base_url="http://localhost")


REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/answer": {"question": QUESTION, "text": TEXT},
    "/v1/rank": {"question": QUESTION, "documents": [TEXT]},
    "/v1/highlight": {"question": QUESTION, "documents": [TEXT]},
    "/opensearch/highlight": {"question": QUESTION, "context": TEXT},
    "/v1/cite": {"answer": TEXT, "sources": [TEXT]},
    "/v2/rerank": {
        "query": QUESTION,
        "documents": [TEXT],
        "relevant_spans": {"mode": "enabled"},
    },
}


@pytest.mark.parametrize("path", REQUESTS)
def test_the_header_says_what_the_budget_cut(runner: JobRunner, path: str) -> None:
    client = connect(Timed(runner))

    cut = client.post(path, json=REQUESTS[path], headers={"X-Budget-Ms": "0"})
    whole = client.post(path, json=REQUESTS[path])

    assert (cut.status_code, whole.status_code) == (200, 200)
    assert re.search(r"'[a-z-]+' scored \d+ of \d+, kept \d+", cut.headers["x-budget-cut"])
    assert "x-budget-cut" not in whole.headers


def test_what_is_cut_of_spans_is_said_too(runner: JobRunner) -> None:
    client = connect(Timed(runner))
    request = REQUESTS["/v2/rerank"]

    ranked = client.post("/v2/rerank", json=request, headers={"X-Budget-Ms": "0"})
    without = client.post(
        "/v2/rerank", json={**request, "relevant_spans": None}, headers={"X-Budget-Ms": "0"}
    )

    first, second = (reply.headers["x-budget-cut"].split("; ") for reply in (ranked, without))
    assert len(first) == len(second) + 1


def test_each_question_of_a_list_is_named_but_not_without_end(runner: JobRunner) -> None:
    client = connect(Timed(runner))
    request = {"question": [QUESTION] * 30, "text": TEXT}

    reply = client.post("/v1/answer", json=request, headers={"X-Budget-Ms": "0"})

    stages = reply.headers["x-budget-cut"].split("; ")
    assert len(stages) == 21
    assert stages[-1].endswith(" more")


def test_questions_of_open_search_share_a_budget(runner: JobRunner) -> None:
    backend = Timed(runner, SLOW)
    inputs = [{"question": f"how hot is tea {number}?", "context": "It is."} for number in range(5)]
    start = time.perf_counter()

    reply = connect(backend, workers=1).post(
        "/opensearch/highlight", json={"inputs": inputs}, headers={"X-Budget-Ms": "1000"}
    )

    elapsed = 1000 * (time.perf_counter() - start)
    assert reply.status_code == 200
    given = [budget for budget in backend.budgets if budget is not None]
    assert len(given) == 5
    assert given[0] == pytest.approx(200, abs=20)  # a fifth
    assert all(0 <= budget <= 1000 for budget in given)
    # The last one has what is left of the budget, not a budget of its own.
    assert given[-1] <= max(0.0, 1000 - 4 * 1000 * SLOW)
    assert elapsed > 5 * 1000 * SLOW


def test_a_share_that_is_not_used_is_left_to_the_others(runner: JobRunner) -> None:
    backend = Timed(runner, QUICK)
    inputs = [{"question": f"how hot is tea {number}?", "context": "It is."} for number in range(4)]

    connect(backend, workers=1).post(
        "/opensearch/highlight", json={"inputs": inputs}, headers={"X-Budget-Ms": "60000"}
    )
    without = Timed(runner)
    connect(without, workers=1).post("/opensearch/highlight", json={"inputs": inputs})

    given = [budget for budget in backend.budgets if budget is not None]
    assert given == sorted(given)
    assert given[0] == pytest.approx(15_000, rel=0.1)
    assert given[-1] > 40_000
    assert without.budgets == [None] * 4
