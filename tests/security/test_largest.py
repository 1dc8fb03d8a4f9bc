"""The largest request of each route that computes: answered or given up in time and memory."""

import threading
import time
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.security.test_requests import LONG
from tests.server.running import MAX_SECONDS, Running, serving

QUESTION = "how hot is tea?"
LARGEST: dict[str, dict[str, Any]] = {
    "/v1/highlight": {"question": QUESTION, "documents": [LONG]},
    "/opensearch/highlight": {"question": QUESTION, "context": LONG},
    "/v1/cite": {"answer": "Tea is hot. " * 199, "sources": [LONG]},
    "/v1/rank": {"question": QUESTION, "documents": [LONG], "spans": 10**6},
    "/v2/rerank": {
        "query": QUESTION,
        "documents": [LONG],
        "relevant_spans": {"mode": "enabled", "threshold": -1},
    },
}
TIMEOUT = 10
MAX_MEGABYTES = 2_000
MAX_REPLY = 300_000_000


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
@pytest.mark.parametrize("path", LARGEST)
def test_the_largest_body_is_answered_or_given_up(tmp_path: Path, path: str) -> None:
    with serving(tmp_path, "--workers", "1", "--timeout", str(TIMEOUT)) as running:
        replies: list[httpx.Response] = []

        def ask() -> None:
            replies.append(
                httpx.post(running.address + path, json=LARGEST[path], timeout=MAX_SECONDS)
            )

        asking = threading.Thread(target=ask)
        asking.start()
        megabytes = [measure(running)]
        while asking.is_alive():
            assert httpx.get(f"{running.address}/health", timeout=MAX_SECONDS).status_code == 200
            megabytes.append(measure(running))
            asking.join(0.1)
        running.wait_until(
            lambda: httpx.get(f"{running.address}/ready").status_code == 200, "another worker"
        )

    (reply,) = replies
    assert reply.status_code in {200, 422, 504}, reply.text[:500]
    assert reply.elapsed.total_seconds() < 3 * TIMEOUT + 20
    assert len(reply.content) < MAX_REPLY
    assert max(megabytes) < MAX_MEGABYTES


def measure(running: Running) -> float:
    """Return the memory of the server and its workers; of a worker that is replaced, nothing."""
    start = time.monotonic()
    while time.monotonic() < start + MAX_SECONDS:
        try:
            return running.measure_memory()
        except (FileNotFoundError, IndexError, ProcessLookupError):
            continue
    raise AssertionError("the server is gone")
