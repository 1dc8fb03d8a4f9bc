"""Reads the tables of man pages, which tbl(1) formats."""

import re
from collections.abc import Iterable, Iterator

from rejoinder.documents.formats.markup.table import MarkupRow, MarkupTable


def take_table(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the lines up to `.TE`."""
    for number, line in lines:
        if line.startswith(".TE"):
            return
        yield number, line


def read_table(lines: Iterable[str]) -> MarkupTable:
    """Return the rows of the lines between `.TS` and `.TE`."""
    reader = _TableReader()
    for number, line in enumerate(lines, start=1):
        reader.add(number, line)
    return reader.finish()


class _TableReader:
    def __init__(self) -> None:
        self._separator = "\t"
        self._in_format = True
        self._has_header = False
        self._rows: list[MarkupRow] = []
        self._block: list[str] | None = None  # a cell of several lines

    def add(self, number: int, line: str) -> None:
        text = line.strip()
        if self._in_format:
            self._read_format(text)
        elif self._block is not None:
            self._add_to_block(text)
        elif text in {"_", "="} or line.startswith((".TH", ".T&")):
            self._has_header = self._has_header or len(self._rows) == 1
            self._in_format = line.startswith(".T&")
        elif text and not line.startswith((".", "'")):
            self._rows.append(MarkupRow([], number))
            self._block = _add_cells(self._rows[-1].cells, line.split(self._separator))

    def finish(self) -> MarkupTable:
        rows = self._rows
        title = rows[:1] if len(rows) > 2 and len(rows[0].cells) == 1 < len(rows[1].cells) else []
        rows = rows[len(title) :]
        if len(rows) < 2 or not (self._has_header or title or _is_bold(rows[0].cells)):
            return MarkupTable([*title, *rows], [])
        return MarkupTable([*title, *rows[1:]], rows[0].cells)

    def _read_format(self, text: str) -> None:
        if option := _SEPARATOR.search(text):
            self._separator = option[1]
        self._has_header = self._has_header or bool(_BOLD_FORMAT.match(text)) or "box" in text
        self._in_format = not text.endswith(".")

    def _add_to_block(self, text: str) -> None:
        if self._block is not None and not text.startswith("T}"):
            self._block.append(_strip_request(text))
            return
        cells = self._rows[-1].cells
        cells[-1] = " ".join(self._block or [])
        rest = text[2:].split(self._separator)[1:]
        self._block = _add_cells(cells, rest) if rest else None


def _add_cells(cells: list[str], texts: Iterable[str]) -> list[str] | None:
    """Add cells to a row; return the lines of the last one where it goes on."""
    last = ""
    for text in texts:
        last = text.strip()
        cells.append("" if last in {"T{", "_", "=", "\\_", "\\^"} else last)
    return [] if last == "T{" else None


def _strip_request(text: str) -> str:
    """Return a line of a cell without the request that begins it, such as `.B`."""
    match = _REQUEST.match(text)
    return match[1] if match else text


def _is_bold(cells: Iterable[str]) -> bool:
    return all(cell.startswith(("\\fB", "\\f(CB", "\\f[B")) for cell in cells if cell)


_SEPARATOR = re.compile(r"tab *\((.)\)")
_BOLD_FORMAT = re.compile(r"(?:[lcrnaLCRNA|,\s]*[bB]){2,}")
_REQUEST = re.compile(r"[.'](?:[A-Z]{1,2}|[a-z]{2})\b ?(.*)$")
