"""Gives table rows the headings of their columns, which may be in the first rows."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.documents.notation import format_row, join_term

MAX_HEADING = 80
"""Characters of a cell that may head a column by its looks."""
MAX_MARKED_HEADING = 200
"""Characters of a cell that the file marks as a heading; longer ones are not repeated."""
MAX_HEADER_ROWS = 3

_NUMBER = re.compile(r"[-+(~<>≤≥±$€£]{0,3}[.,]?\d")
_YEAR = re.compile(r"(?:19|20)\d\d")


class FormattedRow(NamedTuple):
    """A row as text, and the line where it begins in the file."""

    text: str
    line: int | None = None


class RowFormatter:
    """Formats the rows of one table, in their order.

    >>> rows = RowFormatter()
    >>> rows.add(["Tea", "Leaves"]), rows.add(["Sencha", "3 g"]), rows.end()
    ([], [FormattedRow(text='Tea: Sencha; Leaves: 3 g', line=None)], [])
    """

    def __init__(self) -> None:
        self._headings: list[str] = []
        self._header_rows = 0
        self._header_line: int | None = None
        self._first: tuple[list[str], int | None] | None = None  # may be headings, once followed
        self._has_body = False

    def add(
        self,
        cells: Sequence[str],
        line: int | None = None,
        *,
        is_header: bool = False,
        has_head: bool = False,
    ) -> list[FormattedRow]:
        """Return the rows that are complete with this one.

        A header row is marked as such; a row has a head where its first cell is marked as one.
        """
        filled = sum(map(bool, cells))
        if not filled:
            return []
        if is_header and not self._has_body and self._header_rows < MAX_HEADER_ROWS:
            return self._add_header(cells, line)
        may_be_header = not (self._has_body or self._headings or self._first or has_head)
        if may_be_header and filled > 1:
            self._first = list(cells), line
            return []
        rows = self.settle()
        # Titles of one cell may precede the header row.
        self._has_body = self._has_body or filled > 1 or bool(self._headings)
        return [*rows, FormattedRow(self._format(cells, has_head), line)]

    def settle(self) -> list[FormattedRow]:
        """Decide whether the first row is the header: yes, if it looks like one."""
        first, self._first = self._first, None
        if not first:
            return []
        self._has_body = True
        if looks_like_header(first[0]):
            self._headings = first[0]
            return []
        return [FormattedRow(format_row((), first[0]), first[1])]

    def end(self) -> list[FormattedRow]:
        """Return what is left: a header that no row has followed."""
        first, self._first = self._first, None
        if self._headings and not self._has_body:
            first = self._headings, self._header_line
        return [FormattedRow(format_row((), first[0]), first[1])] if first else []

    def _add_header(self, cells: Sequence[str], line: int | None) -> list[FormattedRow]:
        rows = self.end() if self._first else []
        above = self._headings + [""] * (len(cells) - len(self._headings))
        below = [*cells, *[""] * (len(above) - len(cells))]
        self._headings = [
            upper if lower in {"", upper} else f"{upper} {lower}".strip()
            for upper, lower in zip(above, below, strict=True)
        ]
        self._header_line = self._header_line if self._header_rows else line
        self._header_rows += 1
        return rows

    def _format(self, cells: Sequence[str], has_head: bool) -> str:
        if self._headings:
            return format_row([_limit(text) for text in self._headings], cells)
        if has_head and cells[0] and any(cells[1:]):
            return join_term(cells[0], format_row((), cells[1:]))
        return format_row((), cells)


def looks_like_header(cells: Sequence[str]) -> bool:
    """Return whether most cells are names: short, not numbers, not sentences.

    >>> looks_like_header(["Region", "2019", "2020"]), looks_like_header(["Sencha", "3 g"])
    (True, False)
    """
    filled = [cell for cell in cells if cell]
    if any(len(cell) > MAX_HEADING or cell.endswith((".", ":", "!")) for cell in filled):
        return False
    values = sum(bool(_NUMBER.match(cell)) and not _YEAR.fullmatch(cell) for cell in filled)
    return values < len(filled) / 2


def _limit(heading: str) -> str:
    return heading if len(heading) <= MAX_MARKED_HEADING else ""
