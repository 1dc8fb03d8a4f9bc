"""Reads the tables of AsciiDoc into rows of cells."""

import csv
import re
from collections.abc import Iterator, Sequence

from rejoinder.documents.formats.markup.table import MarkupRow, MarkupTable

MAX_SPAN = 50
"""Columns that a cell spans."""


def read_table(lines: Sequence[str], delimiter: str, options: str) -> MarkupTable:
    """Read the lines between `|===` and `|===`, with the attributes of the block."""
    first = next((line for line in lines if line), "")
    if delimiter in ",:":
        rows = [MarkupRow(cells, number) for number, cells in _parse_csv(lines, delimiter) if cells]
    else:
        cells = list(_find_cells(lines, delimiter))
        width = _count_columns(options) or sum(1 for _ in _find_cells([first], delimiter)) or 1
        rows = [
            MarkupRow([text for text, _ in cells[start : start + width]], cells[start][1])
            for start in range(0, len(cells), width)
        ]
    has_header = bool(_HEADER.search(options)) or (
        len(lines) > 1 and lines[0] == first and not lines[1] and "noheader" not in options
    )
    return (
        MarkupTable(rows[1:], rows[0].cells)
        if has_header and len(rows) > 1
        else MarkupTable(rows, [])
    )


def _find_cells(lines: Sequence[str], delimiter: str) -> Iterator[tuple[str, int]]:
    """Yield the cells with their lines; a cell that spans columns is followed by empty ones."""
    cells: list[tuple[list[str], int, int]] = []  # texts, line and span
    split = re.compile(rf"(?<!\\){re.escape(delimiter)}")
    for number, line in enumerate(lines, start=1):
        span = 1
        *parts, last = split.split(line)
        for place, part in enumerate([*parts, last]):
            # The specification of a cell stands before its delimiter.
            match = _SPECIFICATION.search(part) if place < len(parts) else None
            text = (part[: match.start()] if match else part).strip()
            text = text.replace(f"\\{delimiter}", delimiter)
            if place:
                cells.append(([text], number, span))
            elif cells:
                cells[-1][0].append(text)
            found = _SPAN.match(match[0]) if match else None
            span = min(int(found[1]), MAX_SPAN) if found else 1
    for texts, number, span in cells:
        yield " ".join(texts).strip(), number
        yield from [("", number)] * (span - 1)


def _count_columns(options: str) -> int:
    """Return the number of columns that the attribute `cols` gives, or 0."""
    match = _COLUMNS.search(options)
    given = match and (match[1] or match[2])
    if not given:
        return 0
    columns = [part.strip() for part in re.split(r"[,;]", given)]
    counts = [re.match(r"(\d{1,3})\*", column) for column in columns]
    return min(sum(int(count[1]) if count else 1 for count in counts), 1_000)


def _parse_csv(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter)
    number = 1
    try:
        for row in reader:
            yield number, row
            number = reader.line_num + 1
    except csv.Error:  # an endless cell: the rows before it are kept
        return


_HEADER = re.compile(r"%header|options=\"?[\w,]*header|opts=\"?[\w,]*header")
_COLUMNS = re.compile(r"cols=(?:\"([^\"]*)\"|([^,\]]*))")
_SPECIFICATION = re.compile(
    r"(?:^|(?<=\s))(?:\d{0,3}(?:\.\d{1,3})?[+*])?[<^>]?(?:\.[<^>])?[adehlmsv]?$"
)
_SPAN = re.compile(r"(\d{1,3})(?:\.\d{1,3})?[+*]")
