from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.pool import read_pool
from rejoinder.errors import DataError

WriteRows = Callable[[str, Iterable[object]], Path]


def make_row(**fields: Any) -> dict[str, Any]:
    return {
        "id": "p1",
        "question": "Do bees sleep?",
        "sentences": ["Bees fly.", "They sleep."],
        "labels": [0, 1],
        "document": "Bee",
        "in_document_order": True,
        **fields,
    }


def test_sentences_in_document_order_know_their_place(write_rows: WriteRows) -> None:
    (example,) = read_pool(write_rows("pool.jsonl.gz", [make_row()]))

    assert (example.id, example.question, example.labels) == (
        "p1",
        "Do bees sleep?",
        (False, True),
    )
    assert [item.position for item in example.candidates] == [0, 1]
    assert example.candidates[0].document is not None
    assert example.candidates[0].document.title == "Bee"


def test_sentences_out_of_order_have_no_place(write_rows: WriteRows) -> None:
    (example,) = read_pool(write_rows("pool.jsonl.gz", [make_row(in_document_order=False)]))

    assert [item.text for item in example.candidates] == ["Bees fly.", "They sleep."]
    assert {(item.document, item.position) for item in example.candidates} == {(None, None)}
    assert example.labels == (False, True)


def test_an_id_that_occurs_again_is_numbered(write_rows: WriteRows) -> None:
    rows = [make_row(), make_row(id="p2"), make_row(), make_row()]

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
    path = write_rows("pool.jsonl.gz", [make_row(), make_row(**fields)])

    with pytest.raises(DataError, match=rf"pool\.jsonl\.gz:2: {message}"):
        list(read_pool(path))
