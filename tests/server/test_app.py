"""Behaviour common to all routes."""

import logging
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from rejoinder.server.app import Server
from rejoinder.server.problems import retry_later
from rejoinder.server.routes import POLICY
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import Backend, Job, WorkerInfo

Connect = Callable[..., TestClient]


class Broken:
    """A backend with a bug."""

    info = WorkerInfo("none", [], False)
    is_ready = False
    index_problem = ""

    def check_capacity(self) -> None:
        """There is always room."""

    async def submit(self, job: Job) -> bytes:
        raise RuntimeError("the secret reason")


def connect_to(backend: Backend) -> TestClient:
    app = Server(Settings(), backend, Metrics()).make_app()
    return TestClient(app, base_url="http://localhost")


def test_internal_error_is_logged_and_not_disclosed(caplog: pytest.LogCaptureFixture) -> None:
    client = connect_to(Broken())

    with caplog.at_level(logging.ERROR, "rejoinder.server"):
        reply = client.post("/v1/answer", json={"question": "why?"})

    assert reply.status_code == 500
    assert reply.json()["code"] == "bug"
    assert "secret" not in reply.text
    assert caplog.records[0].exc_info
    assert reply.headers["x-request-id"] in reply.json()["error"]


def test_not_ready_has_retry_after() -> None:
    client = connect_to(Broken())

    reply = client.get("/ready")

    assert reply.status_code == 503
    assert reply.headers["retry-after"] == "1"


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH"])
def test_wrong_method_gets_405(client: TestClient, method: str) -> None:
    reply = client.request(method, "/v2/rerank")

    assert reply.status_code == 405
    assert reply.headers["allow"] == "POST"
    assert set(reply.json()) == {"message"}


def test_unknown_path_gets_a_native_error(client: TestClient) -> None:
    reply = client.get("/nowhere")

    assert reply.status_code == 404
    assert reply.json() == {
        **{"error": "not found: GET /nowhere", "code": "missing", "status": 404}
    }


@pytest.mark.parametrize("path", ["/../settings.py", "/%2e%2e/settings.py", "/..%2fsettings.py"])
def test_page_serves_no_other_files(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_page_has_a_strict_policy(client: TestClient) -> None:
    reply = client.get("/")

    assert reply.status_code == 200
    assert reply.headers["content-security-policy"] == POLICY
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY


def test_requests_are_counted_and_logged_without_their_text(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "rejoinder.server"):
        client.post("/v1/answer", json={"question": "a secret question?"})
        client.post("/v1/answer", content=b"{")

    shown = client.get("/metrics").text
    assert 'requests_total{route="/v1/answer",method="POST",status="200"} 1' in shown
    assert 'requests_total{route="/v1/answer",method="POST",status="400"} 1' in shown
    assert 'request_seconds_count{route="/v1/answer"} 2' in shown
    assert 'request_seconds_bucket{route="/v1/answer",le="+Inf"} 2' in shown
    lines = [record for record in caplog.records if record.message == "request"]
    statuses = [vars(line)["status"] for line in lines if vars(line)["path"] == "/v1/answer"]
    assert statuses == [200, 400]
    assert not any("secret" in str(vars(line)) for line in lines)


class Full(Broken):
    """A backend that is always full."""

    is_ready = True
    index_problem = ""

    def check_capacity(self) -> None:
        raise retry_later(429, "too many requests are waiting")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rerank", {"error": "too many requests are waiting", "error_type": "overloaded"}),
        ("/v2/rerank", {"message": "too many requests are waiting"}),
    ],
)
def test_overload_is_reported_before_the_body_is_read(path: str, body: dict[str, str]) -> None:
    client = connect_to(Full())

    reply = client.post(path, content=b"not even JSON")

    assert reply.status_code == 429
    assert reply.headers["retry-after"] == "1"
    assert reply.json() == body
