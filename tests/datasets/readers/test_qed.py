from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.qed import read_qed
from rejoinder.errors import DataError

WriteRows = Callable[[str, Iterable[object]], Path]

#       0         10        20
TEXT = "Table 1 Bees fly . They sleep ."


def make_row(**fields: Any) -> dict[str, Any]:
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
    return [example.labels for example in read_qed([path])]


def test_sentences_are_cut_at_their_starts(write_rows: WriteRows) -> None:
    (example,) = read_qed([write_rows("qed.jsonlines", [make_row()])])

    assert (example.id, example.question) == ("-42", "do bees sleep")
    assert [item.text for item in example.candidates] == ["Bees fly .", "They sleep ."]
    assert [item.position for item in example.candidates] == [0, 1]
    assert example.candidates[0].document is not None
    assert example.candidates[0].document.title == "Bee"
    assert example.labels == (False, True)


def test_several_files_are_read_in_turn(write_rows: WriteRows) -> None:
    paths = [write_rows(f"{name}.jsonlines", [make_row(example_id=name)]) for name in "ab"]

    assert [example.id for example in read_qed(paths)] == ["a", "b"]


def test_the_end_of_a_span_is_not_part_of_it(write_rows: WriteRows) -> None:
    spans = [[[8, 19]], [[8, 20]], [[19, 23]], [[0, 8]], [[0, 9]], []]
    path = write_rows("qed.jsonlines", [make_row(answer_spans=item) for item in spans])

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
    path = write_rows("qed.jsonlines", [make_row(answer_spans=[[-1, -1]])])

    assert read_labels(path) == [(False, False)]


def test_a_paragraph_without_sentences_is_kept(write_rows: WriteRows) -> None:
    assert read_labels(write_rows("qed.jsonlines", [make_row(sentence_starts=[])])) == [()]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sentence_starts": [8, 31]}, r"sentence starts must rise up to 31, found 31$"),
        ({"sentence_starts": [19, 8]}, r"sentence starts must rise up to 31, found 8$"),
        ({"sentence_starts": [-5]}, r"sentence starts must rise up to 31, found -5$"),
        ({"answer_spans": [[24, 99]]}, r"answer span \[24, 99\] does not fit a text of 31 "),
        ({"answer_spans": [[9, 8]]}, r"answer span \[9, 8\] does not fit"),
        ({"answer_spans": [[8]]}, r"answer span \[8\] does not fit"),
        ({"answer_spans": [["a", "b"]]}, r"answer span \['a', 'b'\] does not fit"),
        ({"title_text": None}, r"field 'title_text' must be a string, found null$"),
    ],
)
def test_offsets_that_do_not_fit_name_their_line(
    write_rows: WriteRows, fields: dict[str, Any], message: str
) -> None:
    path = write_rows("qed.jsonlines", [make_row(), make_row(**fields)])

    with pytest.raises(DataError, match=rf"qed\.jsonlines:2: {message}"):
        list(read_qed([path]))
