"""A real server that answers from a real search engine, which is stopped and comes back."""

from pathlib import Path

import httpx2 as httpx
import pytest

from rejoinder.index.index import Index
from rejoinder.retrieval.export import export_index
from tests.retrieval.servers import find_port, get_url, qdrant_server
from tests.server.running import Running, serving


def ask(running: Running) -> httpx.Response:
    body = {"question": "how many queens has a colony?"}
    return httpx.post(f"{running.address}/v1/answer", json=body, timeout=60)


def is_ready(running: Running) -> bool:
    return httpx.get(f"{running.address}/ready", timeout=30).status_code == 200


def test_server_answers_from_a_search_engine(tmp_path: Path) -> None:
    if get_url("qdrant"):
        pytest.skip("stops the engine, which is not this test's own")
    (tmp_path / "bees.md").write_text("# Bees\n\nA colony has one queen. Bees dance.\n")
    port, folder = find_port(), tmp_path / "engine"
    folder.mkdir()
    with qdrant_server(port, folder) as pattern, Index(tmp_path / "index", create=True) as index:
        url = pattern.format(name="docs")
        index.add([tmp_path / "bees.md"])
        export_index(index, url)
    with qdrant_server(port, folder):
        options = ["--retriever", url, "--scorer", "bm25", "--workers", "1"]
        server = serving(tmp_path, *options)
        running = server.__enter__()
    try:  # the engine has stopped
        reply = ask(running)
        assert (reply.status_code, reply.json()["code"]) == (503, "unavailable")
        assert f"Qdrant at 127.0.0.1:{port}/docs: " in reply.json()["error"]
        assert "open-sesame" not in reply.text + running.log.read_text()
        running.wait_until(lambda: not is_ready(running), "not ready without the engine")
        assert "Qdrant at" in httpx.get(f"{running.address}/ready", timeout=30).json()["error"]
        with qdrant_server(port, folder):
            running.wait_until(lambda: is_ready(running), "ready with the engine")
            (answer,) = ask(running).json()["answers"]
            assert answer["sentence"] == "A colony has one queen."
            assert [block["text"] for block in answer["context"]] == [
                "A colony has one queen. Bees dance."
            ]
            listed = httpx.get(f"{running.address}/v1/documents", timeout=60)
            assert listed.status_code == 422
            assert "needs an index on this machine" in listed.json()["error"]
            processes = Path(f"/proc/{running.list_workers()[0]}/cmdline").read_bytes()
            assert b"open-sesame" not in processes
    finally:
        server.__exit__(None, None, None)
