"""Hostile bodies: each gets a 4xx in the right shape."""

import asyncio
from collections.abc import Callable

import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

from rejoinder.server.intake import Intake
from rejoinder.server.operation import read_chunks
from rejoinder.server.problems import Problem

Connect = Callable[..., TestClient]

ROUTES = {
    "/v1/answer": {"error", "code", "status"},
    "/v1/rank": {"error", "code", "status"},
    "/v2/rerank": {"message"},
    "/v1/rerank": {"message", "detail"},
    "/rerank": {"error", "error_type"},
}


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\x00\x00",
        b"\xff\xfe",
        b'{"query": "\\ud800"}',
        b'{"query": "\xed\xa0\x80"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"query": NaN}',
        b"[]",
        b"null",
        b'"text"',
        b'{"query": ' + b"9" * 5000 + b"}",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_body_that_is_not_a_json_object_is_refused(
    client: TestClient, path: str, body: bytes
) -> None:
    reply = client.post(path, content=body)

    assert reply.status_code in {400, 422}
    assert set(reply.json()) == ROUTES[path]
    assert "Traceback" not in reply.text


@pytest.mark.parametrize("path", ROUTES)
def test_a_question_of_ten_megabytes_is_refused(client: TestClient, path: str) -> None:
    body = b'{"query": "' + b"x" * 10_000_000 + b'"}'

    reply = client.post(path, content=body)

    assert reply.status_code == 413
    assert set(reply.json()) == ROUTES[path]


def test_body_without_content_length_is_limited(connect: Connect) -> None:
    client = connect(max_body_bytes=1000)

    reply = client.post("/v1/answer", content=(b"x" * 100 for _ in range(100)))

    assert reply.status_code == 413


def test_upload_has_its_own_limit(connect: Connect) -> None:
    client = connect(max_upload_bytes=10)

    assert client.post("/v1/documents?name=a.txt", content=b"x" * 11).status_code == 413
    assert client.get("/v1/documents").json()["total"] == 2


def test_deep_metadata_is_refused(client: TestClient) -> None:
    body = b'{"question": "why?", "where": ' + b'{"a":' * 500 + b"1" + b"}" * 501

    assert client.post("/v1/answer", content=body).status_code in {400, 422}


def test_slow_body_times_out() -> None:
    async def receive() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def read() -> None:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        async for _ in read_chunks(request, Intake(1000), 1000, 0.1):
            pass

    with pytest.raises(Problem, match=r"did not arrive within 0\.1 s") as caught:
        asyncio.run(read())
    assert caught.value.status == 408


def test_disconnect_is_not_a_server_error() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def read() -> None:
        request = Request({"type": "http", "method": "POST", "headers": []}, receive)
        async for _ in read_chunks(request, Intake(1000), 1000, 1):
            pass

    with pytest.raises(Problem, match="disconnected") as caught:
        asyncio.run(read())
    assert caught.value.status == 400
