"""`/v1/highlight`, OpenSearch's highlighter, and Cohere's spans on the same scale."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.server.conftest import make_client
from tests.server.local import make_runner, write_documents

from rejoinder.server.workers.jobs import JobRunner

PAGE = "<!DOCTYPE html><p>Caves are formed by meltwater.</p>"
CAVES = "# Caves\n\nCaves are cold. 🧊 Most caves are formed by meltwater.\n\nNobody goes in."
QUESTION = "how are caves formed?"


@pytest.fixture(scope="module")
def rated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of a server with the default cascade."""
    folder = tmp_path_factory.mktemp("rated")
    write_documents(folder / "documents")
    runner = JobRunner(None, "default")
    yield make_client(runner)
    runner.close()


def test_each_sentence_of_each_document_is_rated(rated: TestClient) -> None:
    documents: list[Any] = [CAVES, {"text": "It rained.", "id": "b", "title": "Weather"}, ""]

    body = rated.post("/v1/highlight", json={"question": QUESTION, "documents": documents}).json()

    first, second, empty = body["documents"]
    assert [item["is_highlighted"] for item in first["sentences"]] == [False, True, False]
    answer = first["sentences"][1]
    assert CAVES[answer["start"] : answer["end"]].endswith("Most caves are formed by meltwater.")
    assert (second["id"], len(second["sentences"]), empty["sentences"]) == ("b", 1, [])
    assert first["pruned"] is None
    assert body["threshold"] < 0.5
    assert [stage["scorer"] for stage in body["trace"]] == ["cosinet", "selector"]


def test_documents_are_pruned_on_request(rated: TestClient) -> None:
    request = {"question": QUESTION, "documents": [CAVES], "prune": True}

    (one,) = rated.post("/v1/highlight", json=request).json()["documents"]
    strict = rated.post("/v1/highlight", json={**request, "pruning_threshold": 1.0}).json()

    assert one["pruned"]["text"].startswith("# Caves\n\n")
    assert "formed by meltwater" in one["pruned"]["text"]
    assert strict["documents"][0]["pruned"] == {"text": "", "spans": [], "compression": 1.0}


@pytest.mark.parametrize(
    ("change", "status", "problem"),
    [
        ({"question": " "}, 422, "question is empty"),
        ({"documents": []}, 422, "documents is empty"),
        ({"documents": [5]}, 422, "Expected"),
        ({"documents": ["a\0b"]}, 422, "documents[0] is not text"),
        ({"documents": ["<!doctype html><p>Ice."]}, 422, "documents[0] is HTML; give its text"),
        ({"threshold": 2}, 422, "Expected `float` <= 1.0"),
    ],
)
def test_wrong_requests_are_refused(
    rated: TestClient, change: dict[str, Any], status: int, problem: str
) -> None:
    request = {"question": QUESTION, "documents": [CAVES], **change}

    reply = rated.post("/v1/highlight", json=request)

    assert reply.status_code == status
    assert problem in reply.json()["error"]


def test_a_document_that_is_html_does_not_fail_the_others(rated: TestClient) -> None:
    documents: list[Any] = [{"text": PAGE, "id": "page"}, CAVES]
    request = {"question": QUESTION, "documents": documents, "prune": True}

    reply = rated.post("/v1/highlight", json=request)

    assert reply.status_code == 200
    page, caves = reply.json()["documents"]
    assert (page["id"], page["sentences"], page["pruned"]["text"]) == ("page", [], PAGE)
    assert "HTML" in page["note"]
    assert any(item["is_highlighted"] for item in caves["sentences"])


def test_a_scorer_without_calibration_refuses(tmp_path: Path) -> None:
    runner = make_runner(tmp_path, write_documents(tmp_path / "documents"))
    client = make_client(runner)

    reply = client.post("/v1/highlight", json={"question": QUESTION, "documents": [CAVES]})

    assert reply.status_code == 422
    assert "calibrate --sentences" in reply.json()["error"]
    runner.close()


def test_a_budget_leaves_the_scores_of_the_first_stage(rated: TestClient) -> None:
    text = " ".join(f"Caves of kind {number} are formed by ice." for number in range(90))
    request = {"question": QUESTION, "documents": [text]}

    body = rated.post("/v1/highlight", json=request, headers={"X-Budget-Ms": "0"}).json()

    assert len(body["documents"][0]["sentences"]) == 90
    assert body["trace"][1]["timed_out"]


# Requests and replies have the form of sagemaker_semantic_highlighter_standard_blueprint.md
# (opensearch-project/ml-commons, docs/remote_inference_blueprints/standard_blueprints), and are
# what neural-search's MLCommonsClientAccessorTests expect of a model: `highlights` is a list of
# spans for one document, and a list of lists for `inputs`.
SYMPTOMS = "What are the symptoms of a migraine?"
LISTED = (
    "Symptoms of a migraine include: Throbbing pain on one side of the head Nausea or vomiting"
    " Sensitivity to light and sound Blurred vision Dizziness Stiffness of the neck Pale skin"
)
ONE = (
    # As long as the published one, with lists that lost their line breaks, as there.
    "Migraine is a disorder of the brain, and one of the commonest causes of lost working days. It"
    " is more than a bad headache: an attack passes through several phases, and not everyone goes"
    " through all of them. In an attack, waves of activity run over the cortex, and nerves around"
    " the vessels of the head release substances that keep the pain going. The attack often begins"
    " hours before the pain, when people feel tired, hungry or thirsty without knowing why. Some"
    " yawn, some are unusually cheerful, and some cannot follow a conversation. After the pain most"
    " people need another day to recover, in which they are weak and cannot concentrate. Over the"
    " years the attacks may become more frequent, and a headache on more than fifteen days a month"
    " is called chronic. Taking painkillers too often can have the same effect: the medicine that"
    " ends one attack prepares the next. Migraine runs in families, and women have it three times"
    " as often as men. It may begin in childhood, where the belly hurts instead of the head, and"
    f" it becomes rarer in old age. {LISTED}. A migraine with aura begins with disturbances of the"
    " senses. They last from five minutes to an hour, and usually go before the headache comes."
    " Aura may bring: Zigzag lines that wander through the field of view Blind spots Tingling in a"
    " hand or in the face Trouble finding words. Aura that comes on suddenly for the first time"
    " warrants a medical examination, because a stroke may look alike. Your doctor will ask about"
    " your attacks, and may ask you to keep a diary, including: When the attack began How long it"
    " took What you had eaten and drunk How you had slept Which medicine you took. Tests such as"
    " magnetic resonance imaging are done to rule out other causes, not to prove a migraine. To"
    " treat an attack, your doctor may prescribe a variety of drugs, including anti-inflammatory"
    " drugs, triptans, antiemetics and gepants. They work best if they are taken early. In"
    " addition, your doctor may advise changes of your daily life, including: Sleep: Go to bed and"
    " get up at the same time, on weekends too. Meals: Do not skip any, and drink enough."
    " Caffeine: Limit it to one or two cups a day, and do not stop from one day to the next."
    " Exercise: Walk, swim or cycle three times a week, beginning slowly. Stress: Learn a method"
    " of relaxing, and plan breaks. Regular check-ups: At follow-up visits, your doctor will see"
    " from the diary whether the treatment helps."
)
INPUTS = [
    {
        "question": SYMPTOMS,
        "context": "Heart failure symptoms include shortness of breath, swelling in the feet and"
        " ankles, fatigue, and irregular pulse. Patients may also experience difficulty sleeping"
        " flat in bed.",
    },
    {
        "question": "What causes high blood pressure?",
        "context": "High blood pressure can be caused by various factors including genetics, poor"
        " diet, lack of exercise, and stress. Sodium intake and obesity are major contributors.",
    },
    {
        "question": "How is diabetes managed?",
        "context": "Diabetes management involves monitoring blood sugar levels, maintaining a"
        " healthy diet, regular exercise, and medication when necessary. Insulin therapy may be"
        " required for some patients.",
    },
]

BATCH = [
    (
        "What are the symptoms of iron deficiency?",
        "Iron is part of the red blood cells. The symptoms of iron deficiency are tiredness, pale"
        " skin, brittle nails and shortness of breath. It is treated with tablets.",
        "The symptoms of iron deficiency are tiredness",
    ),
    (
        "What causes kidney stones?",
        "Kidney stones are hard deposits of minerals. Men have them more often than women. Kidney"
        " stones are caused by drinking too little, by food with much salt, and by some diseases"
        " of the bowel.",
        "Kidney stones are caused by",
    ),
    (
        "How is asthma treated?",
        "Asthma narrows the airways. It is common in children. Most people notice it at night."
        " Asthma is treated with inhalers, which relax the airways or calm their inflammation.",
        "Asthma is treated with",
    ),
]
"""A question, a text whose answer is not at its beginning, and how the answer begins."""


def check_spans(text: str, spans: list[dict[str, int]]) -> None:
    """Check what neural-search's HighlightTagApplier requires of the spans of a Java string."""
    units = text.encode("utf-16-le")
    last = 0
    for span in spans:
        assert set(span) == {"start", "end"}
        assert last <= span["start"] < span["end"] <= len(units) // 2
        last = span["end"]


def test_a_long_document_is_answered_as_published(rated: TestClient) -> None:
    request = {"question": SYMPTOMS, "context": ONE, "inputs": []}  # as the connector fills it in

    body = rated.post("/opensearch/highlight", json=request).json()

    assert set(body) == {"highlights"}
    check_spans(ONE, body["highlights"])
    start = ONE.index(LISTED)
    assert start > 1000
    assert {"start": start, "end": start + len(LISTED) + 1} in body["highlights"]
    shown = sum(span["end"] - span["start"] for span in body["highlights"])
    assert shown < 0.2 * len(ONE)


def test_the_published_batch_is_answered(rated: TestClient) -> None:
    request = {"question": "", "context": "", "inputs": INPUTS}

    body = rated.post("/opensearch/highlight", json=request).json()

    assert len(body["highlights"]) == 3
    for item, spans in zip(INPUTS, body["highlights"], strict=True):
        check_spans(item["context"], spans)
        first_sentence = item["context"].index(".") + 1
        assert spans[0] == {"start": 0, "end": first_sentence}


def test_a_batch_has_the_place_of_each_answer(rated: TestClient) -> None:
    inputs = [{"question": question, "context": context} for question, context, _ in BATCH]

    body = rated.post("/opensearch/highlight", json={"inputs": inputs}).json()

    for (_, context, answer), (span,) in zip(BATCH, body["highlights"], strict=True):
        begin = context.index(answer)
        assert span == {"start": begin, "end": context.index(".", begin) + 1}


def test_documents_of_one_question_keep_their_places(rated: TestClient) -> None:
    contexts = [CAVES, "", PAGE, CAVES]
    inputs = [{"question": QUESTION, "context": context} for context in contexts]
    inputs.insert(1, {"question": "what do bees do?", "context": "Bees dance. Caves are cold."})

    found = rated.post("/opensearch/highlight", json={"inputs": inputs}).json()["highlights"]

    assert found[0] == found[4] != []
    assert found[2] == found[3] == []
    assert found[1][0] == {"start": 0, "end": 11}


def test_offsets_count_as_java_does(rated: TestClient) -> None:
    body = rated.post("/opensearch/highlight", json={"question": QUESTION, "context": CAVES}).json()

    (span,) = body["highlights"]
    units = CAVES.encode("utf-16-le")
    shown = units[2 * span["start"] : 2 * span["end"]].decode("utf-16-le")
    assert shown.endswith("Most caves are formed by meltwater.")
    check_spans(CAVES, body["highlights"])


@pytest.mark.parametrize(
    ("request_", "problem"),
    [
        ({"question": QUESTION, "inputs": []}, "give question and context, or inputs"),
        ({"question": "", "context": "", "inputs": []}, "give question and context, or inputs"),
        ({"inputs": [{"question": "who?"}]}, "missing required field `context`"),
        ({"inputs": [{"question": " ", "context": "a"}]}, "inputs[0].question is empty"),
        ({"inputs": [{"question": "who?", "context": "a\0"}]}, "inputs[0].context is not text"),
        ({"question": " ", "context": "a"}, "question is empty"),
        ({"question": "who?", "context": PAGE}, "context is HTML; give its text"),
    ],
)
def test_wrong_requests_of_open_search_are_refused(
    rated: TestClient, request_: dict[str, Any], problem: str
) -> None:
    reply = rated.post("/opensearch/highlight", json=request_)

    assert reply.status_code == 422
    assert problem in reply.json()["error"]


def test_the_spans_of_cohere_have_the_same_scores(rated: TestClient) -> None:
    request = {"query": QUESTION, "documents": ["It rained.", CAVES], "top_n": 2}
    spans = {"mode": "enabled", "threshold": 0.0}

    body = rated.post("/v2/rerank", json={**request, "relevant_spans": spans}).json()
    own = rated.post(
        "/v1/highlight", json={"question": QUESTION, "documents": [CAVES, "It rained."]}
    ).json()

    assert [item["index"] for item in body["results"]] == [1, 0]
    expected = sorted((item["score"] for item in own["documents"][0]["sentences"]), reverse=True)
    found = [span["score"] for span in body["results"][0]["relevant_spans"]]
    assert found == pytest.approx(expected)
    with_page = {**request, "documents": [PAGE, CAVES], "relevant_spans": spans}
    results = rated.post("/v2/rerank", json=with_page).json()["results"]
    assert {item["index"]: "relevant_spans" in item for item in results} == {0: False, 1: True}
    limited = {"query": QUESTION, "documents": [CAVES], "relevant_spans": {"mode": "enabled"}}
    assert rated.post("/v2/rerank", json=limited, headers={"X-Budget-Ms": "50"}).status_code == 200
