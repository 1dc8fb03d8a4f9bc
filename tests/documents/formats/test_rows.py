"""Column headings of table rows."""

import pytest

from rejoinder.documents.formats.rows import FormattedRow, RowFormatter, looks_like_header


def format_rows(*rows: list[str], headers: int = 0) -> list[str]:
    formatter = RowFormatter()
    done: list[FormattedRow] = []
    for place, cells in enumerate(rows):
        done += formatter.add(cells, place + 1, is_header=place < headers)
    return [row.text for row in [*done, *formatter.end()]]


def test_header_rows_are_joined_by_column() -> None:
    rows = (["Tea", "Time", "Time"], ["Tea", "first", "second", "third"], ["Sencha", "2", "3", "4"])

    assert format_rows(*rows, headers=2) == ["Tea: Sencha; Time first: 2; Time second: 3; third: 4"]
    assert format_rows(["a", "b"], ["c"], ["1", "2"], headers=2) == ["a c: 1; b: 2"]


def test_more_header_rows_are_rows() -> None:
    assert format_rows(["a", "b"], ["c", "d"], ["e", "f"], ["1", "2"], headers=4) == [
        "a c e: 1; b d f: 2"
    ]


def test_a_header_without_rows_is_a_row() -> None:
    formatter = RowFormatter()

    assert formatter.add(["Tea", "Leaves"], 7, is_header=True) == []
    assert formatter.end() == [FormattedRow("Tea; Leaves", 7)]
    assert RowFormatter().end() == []


def test_a_header_that_comes_late_heads_what_follows() -> None:
    formatter = RowFormatter()

    assert formatter.add(["leaf", "bud"], 1) == []
    assert formatter.add(["Tea", "Leaves"], 2, is_header=True) == [FormattedRow("leaf; bud", 1)]
    assert formatter.add(["Sencha", "3 g"], 3) == [FormattedRow("Tea: Sencha; Leaves: 3 g", 3)]
    assert formatter.add(["no", "header"], 4, is_header=True) == [
        FormattedRow("Tea: no; Leaves: header", 4)
    ]


def test_the_first_cell_may_head_its_row() -> None:
    formatter = RowFormatter()

    assert formatter.add(["Sencha", "green", "3 g"], has_head=True) == [
        FormattedRow("Sencha: green; 3 g")
    ]
    assert formatter.add(["Assam", ""], has_head=True) == [FormattedRow("Assam")]


def test_a_long_heading_is_not_repeated() -> None:
    assert format_rows(["a" * 201, "b"], ["1", "2"], headers=1) == ["1; b: 2"]


def test_empty_rows_and_titles_may_precede_the_header() -> None:
    assert format_rows(["", ""], ["Teas"], ["Tea", "Leaves"], [], ["Sencha", "3 g"]) == [
        "Teas",
        "Tea: Sencha; Leaves: 3 g",
    ]


@pytest.mark.parametrize(
    ("cells", "is_header"),
    [
        (["Tea", "Leaves", "2"], True),
        (["Tea", "-2", "$3"], False),
        (["Tea", "1999", "2000"], True),
        (["Tea", "a" * 81], False),
        (["Tea", "It is hot."], False),
        (["Tea:", "Sencha"], False),
        (["Tea", "Hot?"], True),
        (["", "Min", "Max"], True),
    ],
)
def test_headers_look_like_names(cells: list[str], is_header: bool) -> None:
    assert looks_like_header(cells) == is_header
