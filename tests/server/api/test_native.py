"""Our own routes."""

import gzip
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import make_client
from tests.server.local import TEA, make_index, write_documents

from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.index.report import FileEvent
from rejoinder.server.workers.jobs import JobRunner
from rejoinder.types import Document


def test_answer_has_its_source(client: TestClient) -> None:
    reply = client.post("/v1/answer", json={"question": "how hot is green tea brewed?"})

    assert reply.status_code == 200
    body = reply.json()
    (answer,) = body["answers"]
    assert answer["sentence"] == "Green tea is brewed at 75 °C."
    source = answer["source"]
    text = TEA.removeprefix("# ")  # offsets count without marks of Markdown
    assert text[source["start"] : source["end"]] == answer["sentence"]
    assert (source["title"], source["headings"]) == ("Green tea", [])
    assert source["anchor"] == "green-tea"
    assert answer["other_sources"] == []
    assert source["line"] == 3
    assert "Boiling water makes it bitter." in answer["context"][0]["text"]
    assert answer["matches"] is None
    assert body["abstains"] is False
    assert body["retrieved"] >= 1
    assert [stage["scorer"] for stage in body["trace"]] == ["jaccard"]
    assert "type" not in body


def test_a_question_in_another_language_is_answered_with_a_note(client: TestClient) -> None:
    english, german = (
        client.post("/v1/answer", json={"question": question}).json()
        for question in ("is green tea brewed?", "Wie wird der green tea brewed?")
    )

    assert german["answers"][0]["sentence"] == english["answers"][0]["sentence"]
    assert german["note"].startswith("the question seems to be in another language")
    assert english["note"] == ""


def test_no_hit_is_an_abstention(client: TestClient) -> None:
    body = client.post("/v1/answer", json={"question": "xylophones?"}).json()

    assert (body["answers"], body["abstains"]) == ([], True)


@pytest.mark.parametrize("text", [None, "Green tea is brewed at 75 °C."])
def test_the_least_confidence_needs_a_calibrated_scorer(
    client: TestClient, text: str | None
) -> None:
    body = {"question": "is tea brewed?", "text": text, "min_confidence": 0.5}
    response = client.post("/v1/answer", json=body)

    assert response.status_code == 422
    assert "jaccard has none" in response.json()["error"]


def test_a_list_of_questions_gets_the_answers_of_each(client: TestClient) -> None:
    questions = ["is green tea brewed?", "xylophones?", "is black tea boiled?"]
    options = {"top": 2, "where": {"suffix": ".md"}}

    body = client.post("/v1/answer", json={"question": questions, **options}).json()

    one_by_one = [
        client.post("/v1/answer", json={"question": question, **options}).json()
        for question in questions
    ]
    results = body.pop("results")
    assert body == {}
    assert [result["question"] for result in results] == questions
    for result, alone in zip(results, one_by_one, strict=True):
        assert result["answers"] == alone["answers"]
        assert result["abstains"] == alone["abstains"]


@pytest.mark.parametrize(
    ("question", "status", "problem"),
    [
        ([], 422, "question is empty"),
        (["tea?", " "], 422, "question[1] is empty"),
        (["tea?", 7], 422, "Expected `str`, got `int` - at `$.question[1]`"),
        (7, 422, "Expected `str | array`, got `int` - at `$.question`"),
        (["tea?"] * 1001, 413, "question has 1001 entries; the limit is 1000"),
        (["tea?", "a" * 10_001], 413, "question[1] has 10001 characters"),
    ],
)
def test_a_list_that_cannot_be_answered_says_why(
    client: TestClient, question: object, status: int, problem: str
) -> None:
    response = client.post("/v1/answer", json={"question": question})

    assert response.status_code == status
    assert problem in response.json()["error"]


def test_a_ranking_takes_the_least_confidence(client: TestClient) -> None:
    body = {"question": "tea?", "documents": ["Tea."], "min_confidence": 0.5}
    response = client.post("/v1/rank", json=body)

    assert response.status_code == 422
    assert "jaccard has none" in response.json()["error"]


def test_the_least_confidence_is_a_probability(client: TestClient) -> None:
    response = client.post("/v1/answer", json={"question": "tea?", "min_confidence": 2})

    assert response.status_code == 422
    assert "min_confidence" in response.json()["error"]


def test_explain_returns_matching_words(client: TestClient) -> None:
    body = client.post(
        "/v1/answer", json={"question": "is tea brewed?", "explain": True, "top": 2}
    ).json()

    matches = {match["question_word"]: match for match in body["answers"][0]["matches"]}
    assert matches["tea"].pop("weight") > 0 == matches["is"]["weight"]
    assert matches["tea"] == {"question_word": "tea", "sentence_word": "tea", "relatedness": 1.0}


def test_where_filters_documents(client: TestClient) -> None:
    request = {"question": "one queen, green tea", "where": {"suffix": [".txt", ".pdf"]}}

    (answer,) = client.post("/v1/answer", json=request).json()["answers"]

    assert answer["sentence"] == "A colony has one queen."


@pytest.fixture
def bare() -> Iterator[TestClient]:
    """Return a client of a server without an index."""
    runner = JobRunner(None, "jaccard")
    yield make_client(runner)
    runner.close()


def test_a_pasted_text_needs_no_index(bare: TestClient) -> None:
    text = "It rained.\nAda wrote it. Nobody read it."

    body = bare.post("/v1/answer", json={"question": "who wrote it?", "text": text}).json()

    (answer,) = body["answers"]
    assert answer["sentence"] == "Ada wrote it."
    source = answer["source"]
    assert text[source["start"] : source["end"]] == "Ada wrote it."
    assert source["line"] == 2
    assert answer["context"][0]["text"] == text


def test_index_routes_without_an_index_are_refused(bare: TestClient) -> None:

    for reply in (
        bare.post("/v1/answer", json={"question": "why?"}),
        bare.get("/v1/documents"),
    ):
        assert reply.status_code == 422
        assert "no index is served" in reply.json()["error"]


def test_documents_are_ranked_by_their_best_sentence(client: TestClient) -> None:
    given = ["It rained.", {"id": "b", "title": "Books", "text": "Nobody came. Ada wrote it."}]

    body = client.post(
        "/v1/rank", json={"question": "who wrote it?", "documents": given, "top": 1}
    ).json()

    (item,) = body["documents"]
    assert (item["id"], item["place"], item["rank"]) == ("b", 1, 1)
    (span,) = item["spans"]
    assert given[1]["text"][span["start"] : span["end"]] == "Ada wrote it."  # type: ignore[index]
    assert 0 < item["relevance"] < 1


def test_a_document_is_read_with_the_places_of_its_sentences(fresh: TestClient) -> None:
    content = "# Cats\n\nCats purr at 25 Hz. They sleep.\n\n## Food\n\nThey eat fish.\n"
    fresh.post("/v1/documents?name=cats.md&meta=team=red", content=content)
    (listed,) = fresh.get("/v1/documents?contains=CATS").json()["documents"]

    found = fresh.get(f"/v1/documents/{listed['id']}").json()

    assert (found["id"], found["name"], found["title"]) == (
        listed["id"],
        "uploaded:cats.md",
        "Cats",
    )
    assert found["metadata"]["team"] == "red"
    places = [
        (block["headings"], place) for block in found["blocks"] for place in block["sentences"]
    ]
    texts = {found["text"][place["start"] : place["end"]]: above for above, place in places}
    assert {"Cats purr at 25 Hz.", "They sleep.", "They eat fish."} <= texts.keys()
    assert texts["They eat fish."] == ["Cats", "Food"]
    assert [place["line"] for _, place in places][-1] == 7


def test_an_answer_has_its_context(fresh: TestClient) -> None:
    content = "# Cats\n\nThey sleep. Cats purr at 25 Hz.\n\nThey will eat fish.\n"
    fresh.post("/v1/documents?name=cats.md", content=content)

    def ask(**options: object) -> list[str]:
        request = {"question": "how do cats purr?", **options}
        (answer,) = fresh.post("/v1/answer", json=request).json()["answers"]
        return [block["text"] for block in answer["context"]]

    assert ask() == ["They sleep. Cats purr at 25 Hz."]
    assert ask(context="section") == ["Cats", *ask(), "They will eat fish."]
    assert ask(context="sentence") == []
    assert ask(text="It sleeps.\n\nCats purr. They eat.") == ["Cats purr. They eat."]
    wrong = fresh.post("/v1/answer", json={"question": "cats?", "context": "page"})
    assert wrong.status_code == 422


def test_a_document_and_its_answers_say_what_became_of_the_file(tmp_path: Path) -> None:
    path = _write(tmp_path / "cats.md")
    with Index(tmp_path / "index", create=True) as index:
        index.add([path])
        index.add_documents([Document("dogs", text="Dogs bark.")])
        index.add_upload("etc/birds.md", _write(tmp_path / "upload.md", "Birds sing."))
    runner = JobRunner(tmp_path / "index", "jaccard")
    with closing(runner), make_client(runner) as client:

        def get_states(question: str = "who does purr?") -> tuple[str | None, str | None]:
            (answer,) = client.post("/v1/answer", json={"question": question}).json()["answers"]
            source = answer["source"]
            document = client.get(f"/v1/documents/{source['document_id']}").json()
            return source["file"], document["file"]

        assert get_states() == ("unchanged", "unchanged")
        os.utime(path, (1, 1))  # as `touch` or a checkout
        assert get_states() == ("unchanged", "unchanged")
        path.write_text("Cats hiss at 25 Hz.", encoding="utf-8")  # as long as before
        os.utime(path, (2, 2))
        assert get_states() == ("changed", "changed")
        path.write_text("Cats purr at 25 Hz.", encoding="utf-8")
        assert get_states() == ("unchanged", "unchanged")
        path.write_text("Cats do not purr.", encoding="utf-8")
        assert get_states() == ("changed", "changed")
        path.unlink()
        assert get_states() == ("gone", "gone")
        path.mkdir()
        assert get_states() == ("gone", "gone")
        assert get_states("who does bark?") == (None, None)
        assert get_states("who does sing?") == (None, None)


def _write(path: Path, text: str = "Cats purr at 25 Hz.") -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("id_", "status"), [("99", 404), ("cats", 422), ("-1", 422)])
def test_a_document_that_is_not_there_cannot_be_read(
    fresh: TestClient, id_: str, status: int
) -> None:
    assert fresh.get(f"/v1/documents/{id_}").status_code == status


def test_document_is_added_answered_listed_and_removed(fresh: TestClient) -> None:
    added = fresh.post(
        "/v1/documents?name=cats.md&meta=team=red", content="Cats can purr at 25 Hz."
    )
    reply = fresh.post(
        "/v1/answer", json={"question": "do cats purr?", "where": {"team": "red"}}
    ).json()
    (listed,) = fresh.get("/v1/documents?contains=CATS").json()["documents"]
    removed = fresh.delete(f"/v1/documents/{listed['id']}")
    again = fresh.delete(f"/v1/documents/{listed['id']}")

    event = FileEvent("added", "cats.md", documents=1, sentences=1, done=1, total=1)
    assert added.json() == asdict(event)
    assert reply["answers"][0]["source"]["document"] == "uploaded:cats.md"
    assert listed["state"] == "ready"
    assert listed["bytes"] == len("Cats can purr at 25 Hz.")
    assert listed["metadata"] == {"suffix": ".md", "folder": "uploaded:", "team": "red"}
    assert removed.json() == {"id": listed["id"], "name": "uploaded:cats.md"}
    assert again.status_code == 404
    assert fresh.get("/v1/documents?contains=cats").json()["total"] == 0


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".jsonl", '{"text": "Cats can purr.", "folder": "/etc", "suffix": ".pdf"}'),
        (".csv", "text,folder,suffix\nCats can purr.,/etc,.pdf\n"),
    ],
)
def test_a_row_of_an_upload_cannot_claim_another_folder_or_type(
    fresh: TestClient, suffix: str, content: str
) -> None:
    fresh.post(f"/v1/documents?name=cats{suffix}", content=content)

    (listed,) = fresh.get("/v1/documents?contains=cats").json()["documents"]
    request = {"question": "do cats purr?", "where": {"folder": "/etc"}}
    assert listed["metadata"] == {"suffix": suffix, "folder": "uploaded:"}
    assert fresh.post("/v1/answer", json=request).json()["answers"] == []


def test_a_gzipped_page_is_unpacked_and_links_to_its_section(fresh: TestClient) -> None:
    page = (
        "<title>Pets</title><h1>Pets</h1><h2 id='cats'>Cats</h2>"
        "<p>Cats can purr at 25 Hz.</p><h2>Dogs</h2><p>Dogs do not purr at all.</p>"
    )

    added = fresh.post("/v1/documents?name=pets.html.gz", content=gzip.compress(page.encode()))
    reply = fresh.post("/v1/answer", json={"question": "do cats purr?"}).json()

    assert (added.json()["what"], added.json()["documents"]) == ("added", 1)
    (answer,) = reply["answers"]
    assert answer["sentence"] == "Cats can purr at 25 Hz."
    source = answer["source"]
    assert (source["document"], source["title"]) == ("uploaded:pets.html.gz", "Pets")
    assert (source["headings"], source["anchor"]) == (["Cats"], "cats")
    (listed,) = fresh.get("/v1/documents?contains=pets").json()["documents"]
    assert listed["metadata"] == {"suffix": ".html", "folder": "uploaded:"}


def test_a_gzipped_upload_that_is_cut_is_skipped_with_a_reason(fresh: TestClient) -> None:
    packed = gzip.compress(b"<p>Cats can purr at 25 Hz.</p>")[:-10]

    body = fresh.post("/v1/documents?name=pets.html.gz", content=packed).json()

    assert body["what"] == "skipped"
    assert body["reason"].startswith("not a gzipped file that can be read")


def test_second_upload_replaces_a_changed_file(fresh: TestClient) -> None:
    def send(text: str) -> str:
        what: str = fresh.post("/v1/documents?name=a.txt", content=text).json()["what"]
        return what

    assert [send("One."), send("One."), send("Two.")] == ["added", "unchanged", "changed"]
    assert fresh.get("/v1/documents?contains=a.txt").json()["total"] == 1


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.exe", b"MZ", "files end in .adoc"),
        ("a.pdf", b"not a PDF", ""),
        ("a.jsonl", b"{", ""),
    ],
)
def test_unreadable_upload_is_skipped_with_a_reason(
    client: TestClient, name: str, content: bytes, reason: str
) -> None:
    reply = client.post(f"/v1/documents?name={name}", content=content)

    assert reply.status_code == 200
    body = reply.json()
    assert (body["what"], body["path"]) == ("skipped", name)
    assert reason in body["reason"]
    assert body["reason"]
    assert "/tmp" not in body["reason"]


def test_documents_are_listed_in_pages(fresh: TestClient) -> None:
    for number in range(5):
        fresh.post(f"/v1/documents?name={number}.txt", content=f"Number {number}.")

    names, after = [], 0
    while after is not None:
        page = fresh.get(f"/v1/documents?limit=3&after={after}").json()
        assert page["total"] == 7
        names += [item["name"].removeprefix("uploaded:") for item in page["documents"]]
        after = page["next"]

    assert len(names) == len(set(names)) == 7


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        ("newest", ["2.txt", "1.txt", "0.txt"]),
        ("name", ["0.txt", "1.txt", "2.txt"]),
        ("sentences", ["1.txt", "0.txt", "2.txt"]),
    ],
)
def test_documents_are_sorted(fresh: TestClient, sort: str, expected: list[str]) -> None:
    for number in range(3):
        text = "One. Two." if number == 1 else "One."
        fresh.post(f"/v1/documents?name={number}.txt", content=text)

    names, after = [], 0
    while after is not None:
        page = fresh.get(f"/v1/documents?limit=2&sort={sort}&after={after}").json()
        names += [item["name"].removeprefix("uploaded:") for item in page["documents"]]
        after = page["next"]

    assert len(names) == 5
    assert [name for name in names if name in expected] == expected


def test_facets_count_the_values_of_metadata(fresh: TestClient) -> None:
    for number, team in enumerate(["red", "blue", "red"]):
        fresh.post(f"/v1/documents?name={number}.html&meta=team={team}", content=f"<p>No {number}.")

    facets = {item["key"]: item for item in fresh.get("/v1/documents/facets").json()["facets"]}

    assert facets["team"] == {
        "key": "team",
        "values": [{"value": "red", "documents": 2}, {"value": "blue", "documents": 1}],
        "distinct": 2,
        "documents": 3,
    }
    assert {"value": ".html", "documents": 3} in facets["suffix"]["values"]


def test_a_folder_is_a_facet_and_a_filter(fresh: TestClient) -> None:
    for name in ("sea/birds/gull.txt", "sea/crab.txt", "land/newt.txt"):
        kind = name.rpartition("/")[2].removesuffix(".txt")
        fresh.post(f"/v1/documents?name={name}", content=f"The {kind} lives in a folder.")

    facets = {item["key"]: item for item in fresh.get("/v1/documents/facets").json()["facets"]}
    values = {item["value"]: item["documents"] for item in facets["folder"]["values"]}
    request = {"question": "who lives in a folder?", "top": 9, "where": {"folder": "uploaded:sea"}}
    found = fresh.post("/v1/answer", json=request).json()["answers"]

    assert values["uploaded:sea"] == 2
    assert values["uploaded:sea/birds"] == values["uploaded:land"] == 1
    assert {item["source"]["document"] for item in found} == {
        "uploaded:sea/birds/gull.txt",
        "uploaded:sea/crab.txt",
    }
    reserved = fresh.post("/v1/documents?name=x.txt&meta=folder=sea", content="The cat sleeps.")
    assert reserved.status_code == 422
    assert "'folder' is reserved for the folder of the file" in reserved.json()["error"]


def test_several_documents_are_removed(fresh: TestClient) -> None:
    for number in range(3):
        fresh.post(f"/v1/documents?name=many-{number}.txt", content="One.")
    listed = fresh.get("/v1/documents?contains=many").json()["documents"]
    first, second = (item["id"] for item in listed[:2])

    reply = fresh.delete(f"/v1/documents?id={first}&id={second}&id={first}&id=999")

    assert reply.json() == {
        "removed": [
            {"id": first, "name": "uploaded:many-0.txt"},
            {"id": second, "name": "uploaded:many-1.txt"},
        ],
        "missing": [999],
    }
    assert fresh.get("/v1/documents?contains=many").json()["total"] == 1


@pytest.mark.parametrize("query", ["", "?id=x", "?" + "&".join(f"id={n}" for n in range(101))])
def test_bad_removals_are_named(fresh: TestClient, query: str) -> None:
    reply = fresh.delete(f"/v1/documents{query}")

    assert reply.status_code == 422
    assert "id must be" in reply.json()["error"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/v1/documents?sort=size", "sort must be one of added, newest, name, sentences"),
        ("/v1/documents?limit=0", "limit must be a number from 1 to 1000"),
        ("/v1/documents?after=-1", "after must be a number"),
        ("/v1/documents?after=99999999999999999999", "after must be a number"),
        ("/v1/documents?contains=%00", "null byte"),
    ],
)
def test_bad_parameters_are_named(client: TestClient, path: str, problem: str) -> None:
    reply = client.get(path)

    assert reply.status_code == 422
    assert problem in reply.json()["error"]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/v1/documents", "name must be a file name"),
        ("/v1/documents?name=%0a.txt", "is not the name of an upload"),
        ("/v1/documents?name=/etc/tea.md", "is not the name of an upload"),
        ("/v1/documents?name=../tea.md", "is not the name of an upload"),
        ("/v1/documents?name=a.txt&meta=red", "meta must be KEY=VALUE"),
    ],
)
def test_bad_uploads_are_named(client: TestClient, path: str, problem: str) -> None:
    reply = client.post(path, content=b"One.")

    assert reply.status_code == 422
    assert problem in reply.json()["error"]


def test_info_describes_the_scorer(tmp_path: Path) -> None:
    runner = JobRunner(tmp_path / "index", "default")
    body = make_client(runner).get("/info").json()
    runner.close()

    assert body["model_id"] == "default"
    assert [stage["scorer"] for stage in body["stages"]] == [
        "retrieval-order",
        "cosinet",
        "selector",
    ]
    assert body["has_index"] is True
    assert body["model_type"]["reranker"]["id2label"] == {"0": "LABEL_0"}


def test_a_server_has_a_confidence_for_requests_without_one(tmp_path: Path) -> None:
    make_index(tmp_path, write_documents(tmp_path / "docs"))
    runner = JobRunner(tmp_path / "index", "default", min_confidence=1.0)
    client = make_client(runner)
    question = "At which temperature is green tea brewed?"
    asked: dict[str, Any] = {"question": question}
    ranked = {"question": question, "documents": [TEA]}

    strict = client.post("/v1/answer", json=asked).json()
    lax = client.post("/v1/answer", json={**asked, "min_confidence": 0}).json()
    flags = [
        client.post("/v1/rank", json={**ranked, **own}).json()["abstains"]
        for own in ({}, {"min_confidence": 0})
    ]
    threshold = client.get("/info").json()["threshold"]
    runner.close()

    assert (strict["abstains"], lax["abstains"]) == (True, False)
    assert strict["answers"][0]["sentence"] == lax["answers"][0]["sentence"]
    assert flags == [True, False]
    assert threshold == 1.0


def test_a_server_cannot_compare_a_confidence_that_its_scorer_does_not_give() -> None:
    with pytest.raises(InputError, match="needs a confidence, and jaccard has none"):
        JobRunner(None, "jaccard", min_confidence=0.5)


def test_health_and_readiness(client: TestClient) -> None:
    assert client.get("/health").json() == client.get("/ready").json() == {"status": "ok"}


def test_feedback_is_stored(fresh: TestClient, tmp_path: Path) -> None:
    feedback = {"question": "how hot?", "sentence": "Green tea is brewed at 75 °C.", "right": True}

    assert fresh.post("/v1/feedback", json=feedback).json() == feedback
    with Index(tmp_path / "index") as index:
        (mark,) = Engine(index).marks()
    assert mark.right
    assert fresh.post("/v1/feedback", json={**feedback, "right": None}).status_code == 200
    with Index(tmp_path / "index") as index:
        assert Engine(index).marks() == []


@pytest.mark.parametrize(
    "change", [{"sentence": "Nobody wrote this."}, {"right": "yes"}, {"question": ""}]
)
def test_invalid_feedback_is_refused(client: TestClient, change: dict[str, str]) -> None:
    feedback = {"question": "how hot?", "sentence": "Green tea is brewed at 75 °C.", "right": True}

    assert client.post("/v1/feedback", json={**feedback, **change}).status_code == 422
