import json
from pathlib import Path
from typing import Any

from rejoinder.datasets.readers.candidates import MAX_POSITION, read_candidates


def read(*rows: dict[str, Any]) -> Any:
    return read_candidates([json.dumps(row).encode() + b"\n" for row in rows])


def test_lines_of_one_document_are_its_sentences() -> None:
    one, other, alone = read(
        {"text": "b", "document": "d", "position": 1},
        {"text": "a", "document": "d", "position": 0, "title": "D"},
        {"text": "c"},
    )

    assert one.document is other.document
    assert (one.document.title, one.document.sentences) == ("D", ("a", "b"))
    assert alone.document is None


def test_gaps_are_empty_and_the_first_of_repeated_positions_counts() -> None:
    first, *_ = read(
        {"text": "a", "document": "d", "position": 0},
        {"text": "x", "document": "d", "position": 0},
        {"text": "d", "document": "d", "position": 3},
    )

    assert first.document.sentences == ("a", "", "", "d")


def test_distant_positions_cost_no_memory() -> None:
    far, negative, none = read(
        {"text": "a", "document": "d", "position": 10 * MAX_POSITION},
        {"text": "b", "document": "d", "position": -1},
        {"text": "c", "document": "d"},
    )

    assert far.document.sentences == negative.document.sentences == none.document.sentences == ()
    assert far.position == 10 * MAX_POSITION


def test_lines_in_order_are_one_document(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text("one\n\ntwo\n", encoding="utf-8")

    ordered, bare = (read_candidates(path, in_order=in_order) for in_order in (True, False))

    assert ordered[1].document is not None
    assert ordered[1].document.sentences == ("one", "two")
    assert ordered[1].position == 1
    assert bare[1].document is None
