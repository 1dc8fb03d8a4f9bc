"""What a client can cost the server: the largest, longest and deepest request of every route.

Bodies that are no JSON, slow bodies and disconnects are in tests/server/test_bodies.py, hosts and
origins in tests/server/test_security.py, slow and idle connections in tests/server/test_serve.py,
overload and clients that never finish in tests/reliability/server_cases.py.
"""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from rejoinder.server.routes import OPERATIONS
from tests.server.bodies import GOOD
from tests.server.conftest import make_client
from tests.server.local import make_runner, write_documents
from tests.server.running import serving

Connect = Callable[..., TestClient]

MAX_SECONDS = 20
LONG = "Tea is hot. " * 600_000
"""About the most text that a body may have."""
BODIES: dict[str, Any] = {
    **{path: bodies[0] for path, bodies in GOOD.items()},
    "/v1/highlight": {"question": "how hot is tea?", "documents": ["Tea is hot."]},
    "/v1/cite": {"answer": "Tea is hot.", "sources": ["Tea is hot."]},
    "/opensearch/highlight": {"question": "how hot is tea?", "context": "Tea is hot."},
}
"""A valid body of each route that takes JSON."""
ITEMS = {
    "/v1/answer": "question",
    "/v1/rank": "documents",
    "/v1/highlight": "documents",
    "/v1/cite": "sources",
    "/v1/rerank": "documents",
    "/v2/rerank": "documents",
    "/rerank": "texts",
    "/opensearch/highlight": "inputs",
}
"""The field of each body that is a list of texts."""
JSON_PATHS = sorted(
    item.path for item in OPERATIONS if item.takes is not None and item.takes is not bytes
)
PATHS = pytest.mark.parametrize("path", JSON_PATHS)


def nest(depth: int) -> Any:
    value: Any = "tea"
    for _ in range(depth):
        value = [value]
    return value


def test_every_route_is_attacked_here() -> None:
    assert sorted(BODIES) == JSON_PATHS
    assert sorted([*ITEMS, "/v1/feedback"]) == JSON_PATHS


@PATHS
def test_a_body_beyond_the_limit_is_refused(connect: Connect, path: str) -> None:
    client = connect(max_body_bytes=1_000)

    declared = client.post(path, content=b"[" + b" " * 1_000)
    streamed = client.post(path, content=(b"x" * 100 for _ in range(100)))

    assert (declared.status_code, streamed.status_code) == (413, 413)
    assert declared.headers["connection"] == "close"


@PATHS
def test_bodies_that_arrive_share_their_memory(connect: Connect, path: str) -> None:
    client = connect(max_arriving_bytes=10)

    reply = client.post(path, json=BODIES[path])

    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "1"
    assert client.post("/v1/documents?name=a.txt", content=b"x" * 11).status_code == 503


@PATHS
@pytest.mark.parametrize("depth", [400, 5_000, 1_000_000])
def test_json_of_any_depth_is_read_or_refused(client: TestClient, path: str, depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for body in (deep, b'{"query":"tea","question":"tea","documents":[{"text":%b}]}' % deep):
        status = client.post(path, content=body).status_code
        assert status in {400, 413, 422} or (status == 200 and depth == 400)


@PATHS
@pytest.mark.parametrize("depth", [100, 500, 900])
def test_unknown_fields_of_any_depth_are_ignored(client: TestClient, path: str, depth: int) -> None:
    reply = client.post(path, json={**BODIES[path], "unknown": nest(depth)})

    assert reply.status_code in {200, 400, 422}
    assert "internal error" not in reply.text


@pytest.mark.parametrize("depth", [100, 400, 900])
@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_documents_with_deep_fields_are_answered_or_refused(
    client: TestClient, path: str, depth: int
) -> None:
    documents = [{"text": nest(depth), "year": 10**400, "more": {"deep": nest(depth)}}]
    request = {
        "query": "tea",
        "documents": documents,
        "rank_fields": ["text", "more", "year"],
        "return_documents": True,
    }

    reply = client.post(path, json=request)

    assert reply.status_code in {200, 400, 413, 422}


@pytest.mark.parametrize("path", ITEMS)
def test_too_many_items_are_refused(client: TestClient, path: str) -> None:
    item = {"question": "a", "context": "b"} if path.startswith("/opensearch") else "tea"
    body = {**BODIES[path], ITEMS[path]: [item] * 1_001}

    assert client.post(path, json=body).status_code == 413


@PATHS
def test_a_question_without_end_is_refused(client: TestClient, path: str) -> None:
    name = next(key for key in ("question", "query", "answer") if key in BODIES[path])
    body = {**BODIES[path], name: LONG[:1_000_000]}
    start = time.process_time()

    reply = client.post(path, json=body)

    assert reply.status_code in {413, 422}
    assert len(reply.content) < 1_000
    assert time.process_time() - start < MAX_SECONDS


@pytest.mark.parametrize("unit", ["<!---->", "<!-- -->", "<?xml>", "<!--"])
@pytest.mark.parametrize("path", ["/v1/highlight", "/opensearch/highlight", "/v1/cite"])
def test_a_text_of_comments_does_not_hold_up_the_server(
    client: TestClient, path: str, unit: str
) -> None:
    field = {"/v1/cite": "sources", "/v1/highlight": "documents"}.get(path, "context")
    text = unit * 5_000
    body = {**BODIES[path], field: text if field == "context" else [text]}
    start = time.process_time()

    client.post(path, json=body)

    assert time.process_time() - start < MAX_SECONDS


@pytest.mark.parametrize(
    "headers",
    [
        {"x-budget-ms": "9" * 60_000},
        {"host": "a" * 60_000},
        {"origin": "http://" + "a" * 60_000},
        {"authorization": "Bearer " + "a" * 60_000},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_an_error_does_not_repeat_a_header_without_end(
    client: TestClient, headers: dict[str, str]
) -> None:
    reply = client.post("/v1/answer", json=BODIES["/v1/answer"], headers=headers)

    assert reply.status_code in {200, 403, 422}
    assert reply.status_code == 200 or len(reply.content) < 1_000


@pytest.mark.parametrize(
    "path", ["/" + "a" * 60_000, "/v1/documents?name=a.txt&meta=" + "a" * 9_999]
)
def test_an_error_does_not_repeat_a_path_without_end(client: TestClient, path: str) -> None:
    reply = client.post(path)

    assert reply.status_code in {404, 405, 422}
    assert len(reply.content) < 1_000


def test_thousands_of_ranges_of_a_file_are_served_in_no_time(client: TestClient) -> None:
    ranges = ",".join(f"{n}-{n + 1}" for n in range(0, 20_000, 2))
    start = time.process_time()

    client.get("/", headers={"range": f"bytes={ranges}"})
    client.get("/style.css", headers={"range": "bytes=" + "0-," * 20_000 + "0-1"})

    assert time.process_time() - start < 5


async def send(address: str, raw: bytes) -> list[int]:
    """Return the status of each reply to bytes as they are, until the server closes."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(raw)
    try:
        received = await asyncio.wait_for(reader.read(), MAX_SECONDS)
    finally:
        writer.close()
    lines = received.split(b"\r\n")
    return [int(line.split()[1]) for line in lines if line.startswith(b"HTTP/1.1 ")]


HEAD = b"POST /v1/rank HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
RANK = json.dumps({"question": "why?", "documents": ["a"]}).encode()
SMUGGLED = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, "--scorer", "bm25", "--workers", "1") as running:
        yield running.address


@pytest.mark.parametrize(
    "raw",
    [
        HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
        HEAD + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\n" + RANK,
        HEAD + b"Content-Length: -1\r\n\r\n" + RANK,
        HEAD + b"Content-Length: 1_0\r\n\r\n" + RANK,
        HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\n" + RANK,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\n" + RANK,
        HEAD + b"Transfer-Encoding: xchunked\r\n\r\n" + RANK,
        HEAD.replace(b"Host: localhost", b"Host: localhost\r\nHost: evil.example") + b"\r\n",
        HEAD.replace(b"Host: localhost\r\n", b"") + b"\r\n",
        HEAD + b"X-Name: a\nb\r\n\r\n",
        b"POST http://evil.example/v1/rank HTTP/1.1\r\nHost: evil.example\r\n"
        b"Connection: close\r\n\r\n",
    ],
    ids=[
        *("both lengths", "two lengths", "negative", "underscore", "huge", "negative chunk"),
        *("unknown coding", "two hosts", "no host", "line end", "absolute"),
    ],
)
def test_requests_that_two_servers_read_differently_are_refused(address: str, raw: bytes) -> None:
    statuses = asyncio.run(send(address, raw))

    assert statuses
    assert all(400 <= status < 500 for status in statuses), statuses


def test_a_web_socket_is_not_opened(address: str) -> None:
    raw = (
        b"GET /v1/documents HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\n"
        b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGVhIGlzIGhvdCB0b2RheQ==\r\n\r\n"
    )
    close = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

    assert asyncio.run(send(address, raw + close))[0] == 403


def test_many_open_connections_leave_room_for_others(address: str) -> None:
    async def hold(count: int) -> list[int]:
        host, port = address.removeprefix("http://").split(":")
        opened = [await asyncio.open_connection(host, int(port)) for _ in range(count)]
        for _, writer in opened:
            writer.write(HEAD + b"Content-Length: 8000000\r\n\r\n" + b"x" * 1_000)
        statuses = await send(
            address, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        )
        for _, writer in opened:
            writer.close()
        return statuses

    assert asyncio.run(hold(200)) == [200]


def test_a_document_cannot_name_or_title_itself_without_end(tmp_path: Path) -> None:
    runner = make_runner(tmp_path, write_documents(tmp_path / "documents"))
    client = make_client(runner)
    long = "tea" * 100_000
    rows = [{"id": f"{long}{n}", "title": long, "text": "Keepers sell tea."} for n in range(2)]
    lines = "\n".join(map(json.dumps, rows))
    page = f"<title>{long}</title><h1 id='{long}'>{long}</h1><p>Lighthouse keepers sell ice.</p>"
    client.post("/v1/documents?name=rows.jsonl", content=lines)
    client.post("/v1/documents?name=page.html", content=page)

    for question in ("what do keepers sell?", "who sells ice?"):
        reply = client.post("/v1/answer", json={"question": question, "top": 9})
        assert reply.json()["answers"]
        assert len(reply.content) < 20_000
    listed = client.get("/v1/documents").json()
    runner.close()

    assert listed["total"] == 5, "the two rows are two documents"
    assert len(json.dumps(listed)) < 20_000
