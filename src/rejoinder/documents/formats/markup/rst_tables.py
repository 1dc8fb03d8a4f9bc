"""Reads the tables of reStructuredText into rows of cells."""

import csv
import re
from collections.abc import Iterator, Sequence

from rejoinder.documents.formats.markup.table import MarkupRow, MarkupTable, make_table


def read_simple(lines: Sequence[str]) -> MarkupTable:
    """Read a table whose columns are marked by `====  ====`."""
    starts = [match.start() for match in re.finditer(r"=+", lines[0])]
    ends: list[int | None] = [*starts[1:], None]
    rows: list[MarkupRow] = []
    headers, borders, is_new = 0, 0, True
    for number, line in enumerate(lines):
        if _SIMPLE_BORDER.match(line):
            borders += 1
            headers = len(rows) if borders == 2 and number < len(lines) - 1 else headers
            is_new = True
        elif not line.strip() or not line.strip("- "):
            is_new = True  # a blank line or a column span
        else:
            cells = [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
            if cells[0] or is_new or not rows:
                rows.append(MarkupRow(cells, number))
            else:
                _append(rows[-1].cells, cells)
            is_new = False
    return make_table(rows, headers)


def read_grid(lines: Sequence[str]) -> MarkupTable:
    """Read a table that is drawn with `+---+` and `|`."""
    columns = lines[0].count("+") - 1
    rows: list[MarkupRow] = []
    headers, is_new = 0, True
    for number, line in enumerate(lines):
        if line.startswith("+"):
            is_new = True
            headers = len(rows) if "=" in line else headers
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        cells = [cell for cell in cells if not cell or cell.strip("+-")]
        if len(cells) != columns:  # cells that span columns or rows
            cells = [" ".join(cells)]
        if is_new or len(cells) != len(rows[-1].cells):
            rows.append(MarkupRow(cells, number))
        else:
            _append(rows[-1].cells, cells)
        is_new = False
    return make_table(rows, headers)


def read_list(lines: Sequence[str], headers: int) -> MarkupTable:
    """Read a `list-table`: a list of rows, each a list of cells."""
    rows: list[MarkupRow] = []
    indent: int | None = None
    for number, line in enumerate(lines):
        match = _LIST_ROW.match(line)
        if match and (indent is None or match.end(1) == indent):
            indent = match.end(1)
            rows.append(MarkupRow([line[match.end() :]], number))
        elif rows and (cell := _LIST_CELL.match(line)) and cell.end(1) - 2 <= (indent or 0):
            rows[-1].cells.append(line[cell.end() :])
        elif rows:
            rows[-1].cells[-1] += f" {line.strip()}"
    return make_table(rows, headers)


def read_csv(lines: Sequence[str], header: str, headers: int) -> MarkupTable:
    """Read a `csv-table`; `header` holds the column headings that an option gives."""
    rows = [MarkupRow(row, -1) for row in csv.reader([header])] if header else []
    headers += len(rows)
    rows += [MarkupRow(cells, number) for number, cells in _parse_csv(lines) if cells]
    return make_table(rows, headers)


def _parse_csv(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, skipinitialspace=True)
    number = 0
    try:
        for row in reader:
            yield number, row
            number = reader.line_num
    except csv.Error:  # an endless cell: the rows before it are kept
        return


def _append(cells: list[str], more: Sequence[str]) -> None:
    for place, text in enumerate(more):
        cells[place] = f"{cells[place]} {text}".strip()


_SIMPLE_BORDER = re.compile(r"=+(?: +=+)*$")
_LIST_ROW = re.compile(r"( *)[*+-] +[*+-](?: +|$)")
_LIST_CELL = re.compile(r"( *)[*+-](?: +|$)")
