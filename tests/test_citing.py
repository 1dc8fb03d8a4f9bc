"""The statements that `cite` is measured on, and the table of docs/citing.md."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks.citing import (
    BEGIN,
    END,
    Seen,
    cite_statement,
    measure,
    measure_end_to_end,
    render,
    run,
    write_page,
)
from benchmarks.statements import (
    Asked,
    guess_answer,
    make_list,
    make_stated,
    make_statement,
    read_claims,
    read_fm2_lists,
)
from benchmarks.support import Read, fit_head

from rejoinder.engine.citing import MIN_SUPPORT

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        ("When did Ada write the notes?", "1843", "Ada wrote the notes in 1843."),
        ("who wrote the notes", "Ada", "Ada wrote the notes."),
        ("Where was Ada Lovelace born?", "London", "Ada Lovelace was born in London."),
        ("In what year was it built?", "1889", "It was built in 1889."),
        ("What does the tower carry?", "antennas", None),
        ("What does the tower contain?", "antennas", "The tower contains antennas."),
        ("Which city hosted the games?", "Athens", "Athens hosted the games."),
        ("How many bees live there?", "50,000", None),
        ("How many bees did it have?", "50,000", "It had 50,000 bees."),
        ("How many bees are in it?", "50,000", "50,000 bees are in it."),
        ("What is the capital of France?", "Paris", "The capital of France is Paris."),
        ("Why did it fall?", "wind", None),
        ("Who?", "Ada", None),
    ],
)
def test_a_question_and_its_answer_make_a_statement(
    question: str, answer: str, expected: str | None
) -> None:
    assert make_statement(question, answer) == expected


def test_an_answer_is_guessed_only_if_one_phrase_fits() -> None:
    assert guess_answer("When was it built?", "It was built in 1889.") == "1889"
    assert guess_answer("When was it built?", "It was built from 1887 to 1889.") is None
    assert guess_answer("How many rooms has it?", "In 1889 it had 12 rooms.") == "12"
    assert guess_answer("Who built it?", "It was Gustave Eiffel who built it.") == "Gustave Eiffel"
    assert guess_answer("Why was it built?", "It was built in 1889.") is None


def test_a_false_statement_has_the_answer_of_another_question() -> None:
    page = ("It was built in 1889.", "It was painted in 1907.", "It rained.")
    asked = [
        Asked("1", "When was it built?", "1889", "T", page, (True, False, False), True),
        Asked("2", "When was it painted?", "1907", "T", page, (False, True, False), True),
        Asked("3", "When was it left out?", "1907", "T", page, (False, True, False), True),
    ]

    made = {item.id: item for item in make_stated(asked, {"when was it left out"})}

    assert made["1"].question == "It was built in 1889."
    assert made["1"].labels == (True, False, False)
    assert "3" not in made
    false = [item for id, item in made.items() if id.endswith("/false")]
    for item in false:
        assert not any(item.labels)
        assert item.question in ("It was built in 1907.", "It was painted in 1889.")


def test_a_list_keeps_what_supports_and_the_closest_others() -> None:
    page = [f"Sentence {number} is about bees." for number in range(20)] + ["Support."]

    found = make_list("1", "It is about bees.", page, {"Support."}, "T", held_out=True)
    short = make_list("1", "It is about bees.", page, {"Support."}, "T", held_out=False)

    assert (len(found.candidates), len(short.candidates)) == (12, 8)
    assert [item.text for item in found.candidates][-1] == "Support."
    assert found.labels == (*[False] * 11, True)


def test_claims_are_read_with_their_evidence(tmp_path: Path) -> None:
    evidence = {"text": "Tea is green .", "section_header": "A"}
    other = {"text": "Tea is old.", "section_header": "A"}
    rows = {
        "fm2-dev": {
            "id": "1",
            "text": "Tea is blue.",
            "label": "REFUTES",
            "gold_evidence": [evidence],
            "retrieved_evidence": [other],
            "wikipedia_page": "Tea",
        },
        "wice-dev": {
            "label": "supported",
            "claim": "Tea is green.",
            "evidence": ["(meta data) TITLE: Tea", "Tea is green.", "", "Tea is old."],
            "supporting_sentences": [[1]],
        },
        "fever-part": {
            "claim": "Tea is green.",
            "label": "SUPPORTS",
            "evidence": ["Tea -LRB- a drink -RRB- is green ."],
        },
    }
    (tmp_path / "claims").mkdir()
    for name, row in rows.items():
        with gzip.open(tmp_path / "claims" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    fm2, wice, fever = (example for _, example in read_claims(tmp_path))

    assert [item.text for item in fm2.candidates] == ["Tea is old.", "Tea is green."]
    assert fm2.labels == (False, False)
    assert wice.labels == (True, False)
    assert fever.candidates[0].text == "Tea (a drink) is green."


def test_the_order_of_foolmetwice_does_not_tell_what_supports() -> None:
    others = [{"text": f"Sentence {number} is about bees."} for number in range(9)]
    rows = [
        {
            "id": str(number),
            "text": "It is about bees.",
            "label": "SUPPORTS",
            "gold_evidence": [{"text": "Support."}],
            "retrieved_evidence": [*others, {"text": "Support."}],
            "wikipedia_page": "Bees",
        }
        for number in range(20)
    ]

    places = [example.labels.index(True) for _, example in read_fm2_lists(rows)]

    assert len(set(places)) > 4
    assert places == [example.labels.index(True) for _, example in read_fm2_lists(rows)]


def test_lists_without_their_support_have_to_be_flagged() -> None:
    seen = [
        Seen("pairs", (True, False), [0.9, 0.2], [0.2]),
        Seen("pairs", (False, True), [0.7, 0.6], [0.7]),
        Seen("pairs", (False, False), [0.4, 0.1], [0.4, 0.1]),
    ]

    found = measure(seen, 0.5)

    assert (found["first"], found["flag_precision"], found["flag_recall"]) == (50, 100, 50)
    assert (found["sentence_precision"], found["sentence_recall"]) == (66.7, 100)
    assert (found["statements"], found["false"], found["false_flagged"]) == (2, 1, 100)


def test_the_head_is_fitted_to_a_probability() -> None:
    rng = np.random.default_rng(0)
    lists = []
    for _ in range(300):
        features = rng.normal(size=(6, 2))
        labels = np.arange(6) == 0
        features[0, 0] += 3
        lists.append(Read(features, labels))

    weights, intercept = fit_head(lists)

    assert weights[0] > 5 * abs(weights[1])
    best = np.array([(item.features @ weights + intercept)[1:].max() for item in lists])
    right = np.array([(item.features @ weights + intercept).max() for item in lists])
    assert (best < 0).mean() > 0.7
    assert (right > 0).mean() > 0.7


def test_the_table_of_the_page_is_that_of_the_results(tmp_path: Path) -> None:
    result = json.loads((ROOT / "benchmarks/results/citing.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs/citing.md").read_text(encoding="utf-8")
    copy = tmp_path / "page.md"
    copy.write_text(page.partition(BEGIN)[0] + BEGIN + END + page.partition(END)[2], "utf-8")

    write_page(copy, render(result))

    assert copy.read_text(encoding="utf-8") == page


PAGE = [
    "The Eiffel Tower was built by Gustave Eiffel's company from 1887 to 1889.",
    "It is 330 metres tall, about the height of a building of 81 storeys.",
    "The tower was the tallest structure in the world for 41 years.",
    "It was repainted every seven years with sixty tonnes of paint.",
    "Its top platform is 276 metres above the ground, the highest in the European Union.",
    "Tickets can be bought to climb by stairs or by lift to the first and second levels.",
    "More than six million people climbed it in 2022.",
    "Artists protested against the tower when it was planned.",
]
STATED = {
    "Gustave Eiffel's company built the Eiffel Tower.": 0,
    "The tower is 330 metres tall.": 1,
    "It was the tallest structure of the world for 41 years.": 2,
    "The tower is repainted every seven years.": 3,
    "The top platform is 276 metres above the ground.": 4,
    "Visitors can climb to the second level by stairs.": 5,
    "In 2022 more than six million people climbed the tower.": 6,
    "Artists protested against the planned tower.": 7,
}


def test_statements_are_cited_and_those_without_support_are_flagged() -> None:
    lists = [
        make_list(f"pairs/{place}", statement, PAGE, {PAGE[place]}, "Eiffel Tower", held_out=True)
        for statement, place in STATED.items()
    ]

    seen, _ = run(cite_statement, lists, is_pointwise=False)
    found = measure(seen, MIN_SUPPORT)

    assert found["statements"] == len(STATED)
    assert found["first"] >= 85
    assert min(found["flag_precision"], found["flag_recall"]) >= 75


def test_statements_are_cited_over_an_index_of_their_pages(tmp_path: Path) -> None:
    lists = [
        make_list(f"pairs/{place}", statement, PAGE, {PAGE[place]}, "Eiffel Tower", held_out=True)
        for statement, place in STATED.items()
    ]
    false = make_list("pairs/no", "It is made of cheese.", PAGE, set(), "Tower", held_out=True)
    pages = {"Eiffel Tower": [PAGE[:4], PAGE[4:]], "Bees": [["Bees dance.", "Bees sleep."]]}

    found = measure_end_to_end(pages, [*lists, false], tmp_path / "index")

    assert (found["pages"], found["sentences"]) == (2, 10)
    assert (found["statements"], found["false"]) == (len(STATED), 1)
    assert found["first"] >= 80
    assert found["listed"] >= found["first"]
    assert found["false_flagged"] == 100
    assert found["1 cores"]["p50_ms"] > 0


def test_the_published_results_have_the_required_quality() -> None:
    result = json.loads((ROOT / "benchmarks/results/citing.json").read_text(encoding="utf-8"))

    pairs = result["cite"]["pairs"]
    assert pairs["first"] >= 85
    assert min(pairs["flag_precision"], pairs["flag_recall"]) >= 75
