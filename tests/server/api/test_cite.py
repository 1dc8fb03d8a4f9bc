"""`POST /v1/cite`: the index, or texts."""

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import make_client

from rejoinder.server.workers.jobs import JobRunner

ANSWER = "Green tea is brewed at 75 °C. It is sold by lighthouse keepers."
TEXT = "Water boils. Green tea is brewed at\n75 °C."


def test_the_index_is_cited(client: TestClient) -> None:
    reply = client.post("/v1/cite", json={"answer": ANSWER})

    assert reply.status_code == 200
    body = reply.json()
    first, second = body["statements"]
    assert (body["supported"], body["unsupported"]) == (1, 1)
    assert (first["start"], first["end"]) == (0, 29)
    assert first["citations"][0]["sentence"] == "Green tea is brewed at 75 °C."
    assert first["citations"][0]["source"]["line"] == 3
    assert second["verdict"] == "unsupported"
    assert second["citations"] == []


def test_texts_are_cited_without_an_index() -> None:
    runner = JobRunner(None, "jaccard")
    sources = ["It rained.", {"id": "tea", "title": "Tea", "text": TEXT}]

    with make_client(runner) as bare:
        body = bare.post("/v1/cite", json={"answer": ANSWER, "sources": sources, "top": 1}).json()
        refused = bare.post("/v1/cite", json={"answer": ANSWER})
    runner.close()

    (item,) = body["statements"][0]["citations"]
    assert (item["source"]["document"], item["source"]["title"]) == ("tea", "Tea")
    assert (
        " ".join(TEXT[item["source"]["start"] : item["source"]["end"]].split())
        == (item["sentence"])
    )
    assert refused.status_code == 422
    assert "no index is served" in refused.json()["error"]


def test_what_the_budget_left_unread_has_no_verdict(client: TestClient) -> None:
    late = client.post("/v1/cite", json={"answer": ANSWER, "budget_ms": 0}).json()
    header = client.post("/v1/cite", json={"answer": ANSWER}, headers={"X-Budget-Ms": "0"})

    assert [own["verdict"] for own in late["statements"]] == ["unread", "unread"]
    assert [own["support"] for own in late["statements"]] == [None, None]
    assert (late["supported"], late["unsupported"], late["unread"]) == (0, 0, 2)
    assert header.json()["unread"] == 2
    assert "'support' scored 0 of 0" in header.headers["x-budget-cut"]


@pytest.mark.parametrize(
    ("body", "status", "problem"),
    [
        ({"answer": ""}, 422, "the answer has no sentence"),
        ({"answer": "a\0"}, 422, "answer is not text: a null byte at character 1"),
        ({"answer": "It is.", "sources": []}, 422, "sources is empty"),
        ({"answer": "It is.", "sources": ["a"] * 1001}, 413, "sources has 1001 entries"),
        ({"answer": "It is.", "sources": ["a\0"]}, 422, "sources[0] is not text"),
        (
            {"answer": "It is.", "sources": [{"text": "a", "title": "\0"}]},
            422,
            "sources[0].title is not text",
        ),
        ({"answer": "It is.", "sources": ["<html>It is."]}, 422, "source 0 is HTML"),
        ({"answer": "It is so. " * 201}, 422, "the answer has 201 sentences"),
        ({"answer": "It is.", "min_support": 2}, 422, "$.min_support"),
        ({"answer": 7}, 422, "$.answer"),
        ({}, 422, "answer"),
    ],
)
def test_bad_requests_are_named(
    client: TestClient, body: dict[str, object], status: int, problem: str
) -> None:
    reply = client.post("/v1/cite", json=body)

    assert reply.status_code == status
    assert problem in reply.json()["error"]
