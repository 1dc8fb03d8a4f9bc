"""Reads tables (.csv, .tsv) as streams.

Where the columns include `text`, and perhaps `title` and `id`, every row is a document, and the
other columns are metadata, to filter by at question time.  A table without a column `text` is one
document whose blocks are its rows.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import IO, Any, NamedTuple

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.encoding import decode_stream
from rejoinder.documents.formats.rows import RowFormatter, looks_like_header
from rejoinder.documents.formats.text import read_text
from rejoinder.errors import InputError

MAX_FIELD = 50_000_000
MAX_LINE = 50_000_000
"""Characters; a longer line of brackets or commas would fill the memory when it is parsed."""


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield one document per row if a column is called `text`, else one of all rows."""
    rows = _read_rows(file)
    header = next(rows, None)
    if header is None:
        raise InputError("an empty table")
    columns = {name.strip().lower(): place for place, name in enumerate(header.cells) if name}
    if "text" not in columns:
        yield ExtractedDocument("", _format_rows(chain([header], rows), header.cells))
        return
    for row in rows:
        cells = {name: row.cells[at] for name, at in columns.items() if at < len(row.cells)}
        if "text" in cells:
            yield to_document(cells, row.first_line, row.last_line)


class _Row(NamedTuple):
    cells: list[str]
    first_line: int
    last_line: int


def _read_rows(file: IO[bytes]) -> Iterator[_Row]:
    """Yield the rows of a CSV file that are not empty; the first line tells the delimiter."""
    csv.field_size_limit(MAX_FIELD)
    lines = split_lines(file)
    blank, first = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
    delimiter = max(",;\t", key=first.count)
    rows = csv.reader(chain([first], lines), delimiter=delimiter)
    line = blank
    try:
        for cells in rows:
            begin, line = line + 1, blank + rows.line_num
            if any(cell.strip() for cell in cells):
                yield _Row(cells, begin, line)
    except csv.Error as error:
        raise InputError(f"after line {line}: {error}") from error


def _format_rows(rows: Iterable[_Row], header: Sequence[str]) -> Iterator[Block]:
    formatter = RowFormatter()
    is_header = looks_like_header([fold(name) for name in header])
    for row in rows:
        cells = [fold(sanitize(cell)) for cell in row.cells]
        for done in formatter.add(cells, row.first_line, is_header=is_header):
            yield Block("row", done.text, line=done.line)
        is_header = False
    for done in formatter.end():
        yield Block("row", done.text, line=done.line)


def split_lines(file: IO[bytes]) -> Iterator[str]:
    """Yield the lines of a file with their ends, which may be of any system."""
    newlines = io.IncrementalNewlineDecoder(None, translate=True)
    rest: list[str] = []  # of a line that may be very long
    number, size = 1, 0
    for piece in decode_stream(file):
        first, *lines = newlines.decode(piece).split("\n")
        rest.append(first)
        size += len(first)
        if size > MAX_LINE:
            raise InputError(f"line {number} has more than {MAX_LINE:,} characters")
        for line in lines:
            yield "".join(rest) + "\n"
            rest, size = [line], len(line)
        number += len(lines)
    if last := "".join(rest):
        yield last


def to_document(row: Mapping[str, Any], begin: int, end: int) -> ExtractedDocument:
    """Return a row as a document; `begin` and `end` are its lines in the file."""
    metadata = {
        sanitize(str(key)): sanitize(value if isinstance(value, str) else json.dumps(value))
        for key, value in row.items()
        if key not in {"text", "title", "id"} and isinstance(value, str | int | float)
    }
    title, id_ = (fold(sanitize(str(row.get(key) or ""))) for key in ("title", "id"))
    # The lines of a text are no lines of the file.
    blocks = (block._replace(line=begin) for block in read_text(row["text"]))
    return ExtractedDocument(title, blocks, id_ or str(end), metadata)
