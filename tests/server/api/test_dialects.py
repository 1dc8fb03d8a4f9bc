"""The wire format of each dialect."""

import copy
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from tests.server.conftest import make_client

from rejoinder.models.scorer import Candidates, Scores
from rejoinder.server.workers.jobs import JobRunner

Connect = Callable[..., TestClient]

DOCUMENTS = ["It rained.", "Ünïcode first. Ada wrote it.", ""]
BODY: dict[str, Any] = {"query": "who wrote it?", "documents": DOCUMENTS}


def test_cohere_v2_returns_spans_in_code_points(client: TestClient) -> None:
    request = {**BODY, "model": "rerank-v5.0-pro", "relevant_spans": {"mode": "enabled"}}

    body = client.post("/v2/rerank", json=request).json()

    assert [item["index"] for item in body["results"]] == [1, 0, 2]
    scores = [item["relevance_score"] for item in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    spans = body["results"][0]["relevant_spans"]
    assert DOCUMENTS[1][spans[0]["start"] : spans[0]["end"]] == "Ada wrote it."
    assert spans[0]["score"] == scores[0]
    assert "relevant_spans" not in body["results"][2]
    assert body["meta"]["api_version"]["version"] == "2"


def test_cohere_v2_keeps_spans_above_the_threshold(client: TestClient) -> None:
    def ask(**spans: Any) -> list[list[Any]]:
        body = client.post("/v2/rerank", json={**BODY, "relevant_spans": spans}).json()
        return [item.get("relevant_spans", []) for item in body["results"]]

    assert [len(spans) for spans in ask(mode="enabled", threshold=0.1, max_spans=1)] == [1, 1, 0]
    assert [len(spans) for spans in ask(mode="enabled", threshold=0.1)] == [2, 1, 0]
    assert [len(spans) for spans in ask(mode="enabled", threshold=0.99)] == [0, 0, 0]
    assert [len(spans) for spans in ask(mode="disabled")] == [0, 0, 0]


def test_v1_reply_serves_cohere_and_jina(client: TestClient) -> None:
    request = {
        "query": "who wrote it?",
        "documents": ["It rained.", {"text": "Ada did.", "title": "Who wrote it", "year": 1843}],
        "rank_fields": ["title", "text", "year"],
        "return_documents": True,
        "model": "jina-reranker-v1-base-en",
        "top_n": 1,
    }

    body = client.post("/v1/rerank", json=request).json()

    (item,) = body["results"]
    assert item["index"] == 1
    assert item["document"] == request["documents"][1]  # type: ignore[index]
    assert body["model"] == "jina-reranker-v1-base-en"
    assert body["object"] == "list"
    assert body["usage"]["total_tokens"] > 0
    assert body["meta"]["api_version"]["version"] == "1"
    assert body["id"]


def test_voyage_is_recognised_by_top_k(client: TestClient) -> None:
    request = {**BODY, "top_k": 2, "return_documents": True, "truncation": True}

    body = client.post("/v1/rerank", json=request).json()

    assert body["object"] == "list"
    assert [item["document"] for item in body["data"]] == [DOCUMENTS[1], DOCUMENTS[0]]
    assert set(body) == {"object", "data", "model", "usage"}


def test_tei_returns_a_sorted_array(client: TestClient) -> None:
    request = {"query": "who wrote it?", "texts": DOCUMENTS, "top_n": 1, "truncate": None}

    plain = client.post("/rerank", json=request).json()
    full = client.post("/rerank", json={**request, "return_text": True, "raw_scores": True}).json()

    assert [item["index"] for item in plain] == [1, 0, 2]
    assert set(plain[0]) == {"index", "score"}
    assert full[0]["text"] == DOCUMENTS[1]
    assert full[0]["score"] != plain[0]["score"]


def test_infinity_and_vllm_are_recognised_by_documents(client: TestClient) -> None:
    request = {**BODY, "texts": None, "top_n": 2, "return_documents": True}

    body = client.post("/rerank", json=request).json()

    assert body["object"] == "rerank"
    assert [item["index"] for item in body["results"]] == [1, 0]
    assert body["results"][0]["document"] == {"text": DOCUMENTS[1]}
    assert body["usage"]["prompt_tokens"] == body["usage"]["total_tokens"]


class Diverged:
    """A scorer whose scores are not numbers."""

    name = "diverged"

    def score(self, question: str, candidates: Candidates) -> Scores:
        return np.full(len(candidates), np.nan)


def test_a_score_that_is_not_finite_is_null_and_its_relevance_0() -> None:
    runner = JobRunner(None, "jaccard")
    runner._scorer = Diverged()
    client = make_client(runner)

    v1, v2, infinity = (
        client.post(path, json={**BODY, "raw_scores": True}).json()["results"]
        for path in ("/v1/rerank", "/v2/rerank", "/rerank")
    )
    tei = client.post("/rerank", json={"query": "why?", "texts": DOCUMENTS, "raw_scores": True})

    assert [item["relevance_score"] for item in (*v1, *v2)] == [0] * 6
    assert [item["relevance_score"] for item in infinity] == [None] * 3
    assert [item["score"] for item in tei.json()] == [None] * 3


def test_null_means_absent(client: TestClient) -> None:
    nothing = dict.fromkeys(
        ["model", "top_n", "top_k", "return_documents", "rank_fields", "relevant_spans"]
    )

    for path in ("/v1/rerank", "/v2/rerank", "/rerank"):
        assert client.post(path, json={**BODY, **nothing, "unknown": {}}).status_code == 200


SHAPES = {
    "/v2/rerank": {"message"},
    "/v1/rerank": {"message", "detail"},
    "/rerank": {"error", "error_type"},
    "/v1/rank": {"error", "code", "status"},
}


@pytest.mark.parametrize("path", SHAPES)
@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"query": "", "question": ""}, 422),
        ({"query": " \n", "question": " \n"}, 422),
        ({"query": 5, "question": 5}, 422),
        ({"query": None, "question": None}, 422),
        ({"query": "a\0b", "question": "a\0b"}, 422),
        ({"query": "x" * 10_001, "question": "x" * 10_001}, 413),
        ({"documents": []}, 422),
        ({"documents": "one"}, 422),
        ({"documents": ["a", 5]}, 422),
        ({"documents": ["a", {"title": "no text"}]}, 422),
        ({"documents": ["a\0b"]}, 422),
        ({"documents": ["a"] * 1001}, 413),
        ({"top_n": 0, "top": 0}, 422),
        ({"top_n": "two", "top": "two"}, 422),
    ],
)
def test_bad_input_is_reported_in_the_dialects_shape(
    client: TestClient, path: str, change: dict[str, Any], status: int
) -> None:
    body = {**BODY, "question": BODY["query"], **change}

    reply = client.post(path, json=body)

    assert reply.status_code == status
    assert set(reply.json()) == SHAPES[path]


def test_tei_error_has_a_type(client: TestClient) -> None:
    reply = client.post("/rerank", json={"query": "why?", "texts": []})

    assert reply.json() == {"error": "texts is empty", "error_type": "validation"}


def test_a_long_document_is_read_to_its_end(connect: Connect) -> None:
    long = "It rained all day long. " * 500 + "Ada wrote it."

    body = connect().post("/v2/rerank", json={**BODY, "documents": ["Ada.", long]}).json()

    assert body["results"][0]["index"] == 1


DIALECTS: dict[str, dict[str, Any]] = {
    "/v1/rank": {"question": "who wrote it?", "documents": DOCUMENTS * 100},
    "/v2/rerank": {"query": "who wrote it?", "documents": DOCUMENTS * 100},
    "/v1/rerank": {"query": "who wrote it?", "documents": DOCUMENTS * 100},
    "/v1/rerank#voyage": {"query": "who wrote it?", "documents": DOCUMENTS * 100, "top_k": 2},
    "/rerank": {"query": "who wrote it?", "texts": DOCUMENTS * 100},
    "/rerank#infinity": {"query": "who wrote it?", "documents": DOCUMENTS * 100},
}


class Slow:
    """Scores candidates in batches of 5 ms."""

    name = "größer\n"
    is_pointwise = True

    def score(self, question: str, candidates: Candidates) -> Scores:
        time.sleep(0.005)
        return np.zeros(len(candidates))


@pytest.fixture
def slow(runner: JobRunner) -> TestClient:
    slowed = copy.copy(runner)
    slowed._scorer = Slow()
    return make_client(slowed)


@pytest.mark.parametrize("route", DIALECTS)
def test_a_budget_may_be_a_header(slow: TestClient, route: str) -> None:
    def ask(**headers: str) -> str | None:
        reply = slow.post(route.partition("#")[0], json=DIALECTS[route], headers=headers)
        assert reply.status_code == 200
        if route == "/v1/rank":
            (stage,) = reply.json()["trace"]
            return str(stage["scored"]) if stage["timed_out"] else None
        return reply.headers.get("x-budget-cut")

    assert ask() is None
    assert ask(**{"X-Budget-Ms": "60000"}) is None
    cut = ask(**{"X-Budget-Ms": "1"})

    assert cut
    if route != "/v1/rank":
        assert re.fullmatch(r"'gr\\xf6\\xdfer\\n' scored \d+ of 300, kept \d+", cut)


def test_a_budget_in_the_body_overrides_the_header(slow: TestClient) -> None:
    body = {**DIALECTS["/v1/rank"], "budget_ms": 60000}

    reply = slow.post("/v1/rank", json=body, headers={"X-Budget-Ms": "1"})

    assert not any(stage["timed_out"] for stage in reply.json()["trace"])


@pytest.mark.parametrize("budget", ["soon", "-1", "nan", "1e9", ""])
def test_a_budget_header_that_is_no_number_is_refused(client: TestClient, budget: str) -> None:
    reply = client.post("/v2/rerank", json=BODY, headers={"X-Budget-Ms": budget})

    assert reply.status_code == 422
    assert "X-Budget-Ms must be a number of milliseconds" in reply.json()["message"]
