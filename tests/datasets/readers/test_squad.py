import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.squad import read_squad
from rejoinder.errors import DataError

WriteValue = Callable[[str, object], Path]
BEES = Path(__file__).parents[1] / "fixtures" / "squad-v2.json"


def make_file(question: dict[str, Any]) -> dict[str, Any]:
    paragraph = {"context": "Bees sleep.", "qas": [question]}
    return {"data": [{"title": "Bees", "paragraphs": [paragraph]}]}


def test_candidates_are_the_sentences_of_the_paragraph() -> None:
    examples = list(read_squad(BEES))

    assert [example.id for example in examples] == ["b1", "b2", "b3", "b4"]
    assert [item.text for item in examples[0].candidates] == [
        "Bees live in hives.",
        "A queen lays the eggs.",
        "Workers fly out and bring nectar.",
    ]
    assert [len(example.candidates) for example in examples] == [3, 3, 3, 2]


def test_the_document_is_the_whole_article() -> None:
    examples = list(read_squad(BEES))

    documents = {id(item.document): item.document for e in examples for item in e.candidates}
    assert len(documents) == 1
    document = examples[3].candidates[1].document
    assert document is not None
    assert (document.id, document.title) == ("Honey_bee", "Honey bee")
    assert len(document.sentences) == 5
    for example in examples:
        for item in example.candidates:
            assert item.position is not None
            assert document.sentences[item.position] == item.text
    assert [item.position for item in examples[3].candidates] == [3, 4]
    assert [item.id for item in examples[3].candidates] == ["Honey_bee:3", "Honey_bee:4"]


def test_a_sentence_answers_if_the_first_span_overlaps_it() -> None:
    examples = {example.id: example.labels for example in read_squad(BEES)}

    assert examples["b1"] == (False, True, False)
    assert examples["b3"] == (True, True, False)
    assert examples["b4"] == (False, True)


def test_answer_strings_are_those_of_all_annotators() -> None:
    data = json.loads(BEES.read_text(encoding="utf-8"))["data"]
    rows = [row for article in data for part in article["paragraphs"] for row in part["qas"]]
    expected = [
        set() if row.get("is_impossible") else {answer["text"] for answer in row["answers"]}
        for row in rows
    ]

    assert [set(example.answer_strings) for example in read_squad(BEES)] == expected
    assert any(expected)


def test_all_spans_count_on_request() -> None:
    first = next(read_squad(BEES, answers="all"))

    assert first.labels == (False, True, True)


@pytest.mark.parametrize(
    ("start", "text", "labels"),
    [(0, "One. ", (True, False)), (4, " Two", (False, True)), (3, ". T", (True, True))],
)
def test_a_span_that_ends_at_a_sentence_or_begins_at_its_end_does_not_overlap(
    write_value: WriteValue, start: int, text: str, labels: tuple[bool, ...]
) -> None:
    answers = [{"text": text, "answer_start": start}]
    paragraph = {
        "context": "One. Two.",
        "qas": [{"id": "q", "question": "Which?", "answers": answers}],
    }
    path = write_value("s.json", {"data": [{"title": "T", "paragraphs": [paragraph]}]})

    (example,) = read_squad(path)

    assert [item.text for item in example.candidates] == ["One.", "Two."]
    assert example.labels == labels


def test_unanswerable_questions_are_kept_without_an_answer(write_value: WriteValue) -> None:
    examples = {example.id: example.labels for example in read_squad(BEES)}
    marked = {
        "id": "q",
        "question": "Who?",
        "is_impossible": True,
        "answers": [{"text": "Bees", "answer_start": 0}],
    }

    assert examples["b2"] == (False, False, False)
    assert next(read_squad(write_value("s.json", make_file(marked)))).labels == (False,)


def test_a_span_outside_the_paragraph_names_its_place(write_value: WriteValue) -> None:
    answers = [{"text": "Bees", "answer_start": 0}, {"text": "honey", "answer_start": 9}]
    path = write_value("s.json", make_file({"id": "q", "question": "Who?", "answers": answers}))

    with pytest.raises(DataError) as raised:
        list(read_squad(path))

    assert str(raised.value) == (
        f"{path}: data[0].paragraphs[0]: qas[0].answers[1]: characters 9 to 14 of a context of 11"
    )


def test_a_missing_field_names_its_place(write_value: WriteValue) -> None:
    path = write_value("s.json", make_file({"id": "q", "answers": []}))

    with pytest.raises(DataError, match=r"paragraphs\[0\]\.qas\[0\]: field 'question' is missing$"):
        list(read_squad(path))
