"""A real server whose index is deleted, put back, and replaced by another."""

import shutil
import time
from pathlib import Path

import httpx2 as httpx

from tests.index.editions import QUESTION, make, put
from tests.server.running import Running, serving

MAX_NOTICE_SECONDS = 2.0


def wait_for_ready(running: Running, status: int) -> httpx.Response:
    start = time.monotonic()
    while True:
        reply = httpx.get(f"{running.address}/ready", timeout=10)
        if reply.status_code == status:
            assert time.monotonic() - start < MAX_NOTICE_SECONDS
            return reply
        assert time.monotonic() - start < MAX_NOTICE_SECONDS, reply.text
        time.sleep(0.02)


def ask(running: Running) -> httpx.Response:
    return httpx.post(f"{running.address}/v1/answer", json={"question": QUESTION}, timeout=60)


def test_server_follows_its_index(tmp_path: Path) -> None:
    index = make(tmp_path / "index", 1)
    with serving(tmp_path, str(index), "--scorer", "bm25", "--workers", "2") as running:
        workers = running.list_workers()
        assert ask(running).json()["answers"][0]["sentence"] == "Edition 1 is about caves."

        shutil.rmtree(index)
        reply = ask(running)
        assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
        assert "the index is gone" in reply.json()["error"]
        assert "the index is gone" in wait_for_ready(running, 503).json()["error"]
        rank = {"question": "tea?", "documents": ["Tea is hot."]}
        assert httpx.post(f"{running.address}/v1/rank", json=rank, timeout=60).status_code == 200

        index.mkdir()
        (index / "index.sqlite").write_text("no database" * 500)
        assert "not a database" in _wait_for_reason(running, "not a database")

        put(index, make(tmp_path / "new", 2))
        wait_for_ready(running, 200)
        assert ask(running).json()["answers"][0]["sentence"] == "Edition 2 is about caves."
        listed = httpx.get(f"{running.address}/v1/documents", timeout=60).json()
        assert listed["documents"][0]["name"] == "2-0"
        assert running.list_workers() == workers


def _wait_for_reason(running: Running, reason: str) -> str:
    end = time.monotonic() + MAX_NOTICE_SECONDS
    while reason not in (text := wait_for_ready(running, 503).text):
        assert time.monotonic() < end, text
        time.sleep(0.02)
    return text
