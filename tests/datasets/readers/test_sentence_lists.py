from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.sentence_lists import read_pool, read_qed, read_selqa
from rejoinder.errors import DataError
from rejoinder.types import Document

WriteValue = Callable[[str, object], Path]


def make_selqa_row(**fields: Any) -> dict[str, Any]:
    return {
        "question": "What do bees make?",
        "article": "Bee",
        "section": "Honey",
        "candidates": ["Bees fly.", "They make honey.", "Honey is sweet."],
        "answers": [1],
        **fields,
    }


def test_a_section_is_one_document_in_order(write_value: WriteValue) -> None:
    path = write_value("selqa.json", [make_selqa_row(), make_selqa_row(answers=[0, 2])])

    first, second = read_selqa(path)

    assert (first.id, first.question) == ("0", "What do bees make?")
    assert first.candidates[2].document == Document(
        "0", "Bee", tuple(make_selqa_row()["candidates"])
    )
    assert [item.position for item in first.candidates] == [0, 1, 2]
    assert first.labels == (False, True, False)
    assert (second.id, second.labels) == ("1", (True, False, True))


def test_a_question_without_an_answer_is_kept(write_value: WriteValue) -> None:
    (example,) = read_selqa(write_value("selqa.json", [make_selqa_row(answers=[])]))

    assert example.labels == (False, False, False)


@pytest.mark.parametrize("answer", [3, -1])
def test_an_answer_outside_the_list_names_its_question(
    write_value: WriteValue, answer: int
) -> None:
    path = write_value("selqa.json", [make_selqa_row(), make_selqa_row(answers=[0, answer])])

    with pytest.raises(
        DataError, match=rf"selqa\.json: \[1\]: answer {answer} is not one of 3 candidates$"
    ):
        list(read_selqa(path))


WriteRows = Callable[[str, Iterable[object]], Path]

#       0         10        20
TEXT = "Table 1 Bees fly . They sleep ."


def make_qed_row(**fields: Any) -> dict[str, Any]:
    return {
        "example_id": -42,
        "title_text": "Bee",
        "question_text": "do bees sleep",
        "paragraph_text": TEXT,
        "sentence_starts": [8, 19],
        "answer_spans": [[24, 29]],
        **fields,
    }


def read_labels(path: Path) -> list[tuple[bool, ...]]:
    return [example.labels for example in read_qed(path)]


def test_sentences_begin_at_their_starts(write_rows: WriteRows) -> None:
    (example,) = read_qed(write_rows("qed.jsonlines", [make_qed_row()]))

    assert (example.id, example.question) == ("-42", "do bees sleep")
    assert [item.text for item in example.candidates] == ["Bees fly .", "They sleep ."]
    assert [item.position for item in example.candidates] == [0, 1]
    assert example.candidates[0].document is not None
    assert example.candidates[0].document.title == "Bee"
    assert example.labels == (False, True)
    assert example.answer_strings == ("sleep",)


def test_several_files_are_read_in_turn(write_rows: WriteRows) -> None:
    paths = [write_rows(f"{name}.jsonlines", [make_qed_row(example_id=name)]) for name in "ab"]

    assert [example.id for example in read_qed(*paths)] == ["a", "b"]


def test_the_end_of_a_span_is_not_part_of_it(write_rows: WriteRows) -> None:
    spans = [[[8, 19]], [[8, 20]], [[19, 23]], [[0, 8]], [[0, 9]], []]
    path = write_rows("qed.jsonlines", [make_qed_row(answer_spans=item) for item in spans])

    assert read_labels(path) == [
        (True, False),
        (True, True),
        (False, True),
        (False, False),
        (True, False),
        (False, False),
    ]


def test_an_answer_that_was_not_found_leaves_the_question_unanswered(
    write_rows: WriteRows,
) -> None:
    path = write_rows("qed.jsonlines", [make_qed_row(answer_spans=[[-1, -1]])])

    assert read_labels(path) == [(False, False)]


def test_a_paragraph_without_sentences_is_kept(write_rows: WriteRows) -> None:
    assert read_labels(write_rows("qed.jsonlines", [make_qed_row(sentence_starts=[])])) == [()]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sentence_starts": [8, 31]}, r"sentence starts must rise up to 31, found 31$"),
        ({"sentence_starts": [19, 8]}, r"sentence starts must rise up to 31, found 8$"),
        ({"sentence_starts": [-5]}, r"sentence starts must rise up to 31, found -5$"),
        ({"answer_spans": [[24, 99]]}, r"answer span \[24, 99\] does not fit a text of 31 "),
        ({"answer_spans": [[9, 8]]}, r"answer span \[9, 8\] does not fit"),
        ({"answer_spans": [[8]]}, r"answer_spans\[0\] must be a list of length 2, found \[8\]$"),
        (
            {"answer_spans": [["a", "b"]]},
            r'answer_spans\[0\]\[0\] must be a whole number, found "a"$',
        ),
        ({"title_text": None}, r"field 'title_text' must be a string, found null$"),
    ],
)
def test_offsets_that_do_not_fit_name_their_line(
    write_rows: WriteRows, fields: dict[str, Any], message: str
) -> None:
    path = write_rows("qed.jsonlines", [make_qed_row(), make_qed_row(**fields)])

    with pytest.raises(DataError, match=rf"qed\.jsonlines:2: {message}"):
        list(read_qed(path))


def make_pool_row(**fields: Any) -> dict[str, Any]:
    return {
        "id": "p1",
        "question": "Do bees sleep?",
        "sentences": ["Bees fly.", "They sleep."],
        "labels": [0, 1],
        "document": "Bee",
        "in_document_order": True,
        **fields,
    }


def test_sentences_in_document_order_have_positions(write_rows: WriteRows) -> None:
    (example,) = read_pool(write_rows("pool.jsonl.gz", [make_pool_row()]))

    assert (example.id, example.question, example.labels) == (
        "p1",
        "Do bees sleep?",
        (False, True),
    )
    assert [item.position for item in example.candidates] == [0, 1]
    assert example.candidates[0].document is not None
    assert example.candidates[0].document.title == "Bee"


def test_sentences_out_of_order_have_no_position(write_rows: WriteRows) -> None:
    (example,) = read_pool(write_rows("pool.jsonl.gz", [make_pool_row(in_document_order=False)]))

    assert [item.text for item in example.candidates] == ["Bees fly.", "They sleep."]
    assert {(item.document, item.position) for item in example.candidates} == {(None, None)}
    assert example.labels == (False, True)


def test_an_id_that_occurs_again_is_numbered(write_rows: WriteRows) -> None:
    rows = [make_pool_row(), make_pool_row(id="p2"), make_pool_row(), make_pool_row()]

    examples = read_pool(write_rows("pool.jsonl.gz", rows))

    assert [example.id for example in examples] == ["p1", "p2", "p1 (2)", "p1 (3)"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": [0]}, r"2 sentences but 1 labels$"),
        ({"labels": [0, 2]}, r"labels\[1\] must be 0 or 1, found 2$"),
        ({"labels": [0, "1"]}, r'labels\[1\] must be a whole number, found "1"$'),
        ({"in_document_order": 1}, r"field 'in_document_order' must be true or false, found 1$"),
    ],
)
def test_a_broken_line_is_named(
    write_rows: WriteRows, fields: dict[str, Any], message: str
) -> None:
    path = write_rows("pool.jsonl.gz", [make_pool_row(), make_pool_row(**fields)])

    with pytest.raises(DataError, match=rf"pool\.jsonl\.gz:2: {message}"):
        list(read_pool(path))
