"""Tables of markup files, before their cells lose their marks."""

from collections.abc import Sequence
from typing import NamedTuple


class MarkupRow(NamedTuple):
    """The cells of a row, and its line in the table."""

    cells: list[str]
    line: int


class MarkupTable(NamedTuple):
    """A table; without column headings `headings` is empty."""

    rows: list[MarkupRow]
    headings: list[str]


def make_table(rows: Sequence[MarkupRow], headers: int) -> MarkupTable:
    """Return a table whose first rows are column headings; those of several rows are joined."""
    heads = [row.cells for row in rows[:headers]]
    width = max(map(len, heads), default=0)
    headings = [" ".join(row[place] for row in heads if place < len(row)) for place in range(width)]
    return MarkupTable(list(rows[headers:]), headings)
