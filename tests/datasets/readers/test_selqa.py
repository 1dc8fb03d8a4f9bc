from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.selqa import read_selqa
from rejoinder.errors import DataError
from rejoinder.types import Document

WriteValue = Callable[[str, object], Path]


def make_row(**fields: Any) -> dict[str, Any]:
    return {
        "question": "What do bees make?",
        "article": "Bee",
        "section": "Honey",
        "candidates": ["Bees fly.", "They make honey.", "Honey is sweet."],
        "answers": [1],
        **fields,
    }


def test_a_section_is_one_document_in_order(write_value: WriteValue) -> None:
    path = write_value("selqa.json", [make_row(), make_row(answers=[0, 2])])

    first, second = read_selqa(path)

    assert (first.id, first.question) == ("0", "What do bees make?")
    assert first.candidates[2].document == Document("0", "Bee", tuple(make_row()["candidates"]))
    assert [item.position for item in first.candidates] == [0, 1, 2]
    assert first.labels == (False, True, False)
    assert (second.id, second.labels) == ("1", (True, False, True))


def test_a_question_without_an_answer_is_kept(write_value: WriteValue) -> None:
    (example,) = read_selqa(write_value("selqa.json", [make_row(answers=[])]))

    assert example.labels == (False, False, False)


@pytest.mark.parametrize("answer", [3, -1])
def test_an_answer_outside_the_list_names_its_question(
    write_value: WriteValue, answer: int
) -> None:
    path = write_value("selqa.json", [make_row(), make_row(answers=[0, answer])])

    with pytest.raises(
        DataError, match=rf"selqa\.json: list\[1\]: answer {answer} is not one of 3 candidates$"
    ):
        list(read_selqa(path))
