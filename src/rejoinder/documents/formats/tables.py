"""Reads tables of documents: JSON lines and CSV, one document per row.

A row has a `text`, and perhaps `title` and `id`; every other string or number is metadata, to
filter by at question time.
"""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from rejoinder.documents.parsed import ExtractedText, Locations, sanitize
from rejoinder.errors import InputError

MAX_FIELD = 50_000_000


def read_jsonl(text: str) -> Iterator[ExtractedText]:
    """Yield one document per line, a JSON object with a `text`."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} is not JSON") from error
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            raise InputError(f"line {number} is not an object with a 'text'")
        yield _to_extract(row, number)


def read_csv(text: str) -> Iterator[ExtractedText]:
    """Yield one document per row; the first row names the columns, one of them `text`."""
    csv.field_size_limit(MAX_FIELD)
    header = text[: text.find("\n") + 1] or text
    delimiter = max(",;\t", key=header.count)
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    names = {name.strip().lower(): name for name in rows.fieldnames or () if name}
    if "text" not in names:
        columns = ", ".join(names) or "none"
        raise InputError(f"no column 'text' (columns: {columns}); rename the one that holds it")
    try:
        for row in rows:
            named = {key: row[name] for key, name in names.items() if row[name] is not None}
            if "text" in named:
                yield _to_extract(named, rows.line_num)
    except csv.Error as error:
        raise InputError(f"after line {rows.line_num}: {error}") from error


def _to_extract(row: Mapping[str, Any], line: int) -> ExtractedText:
    text = sanitize(row["text"])
    metadata = {
        sanitize(str(key)): sanitize(value if isinstance(value, str) else json.dumps(value))
        for key, value in row.items()
        if key not in {"text", "title", "id"} and isinstance(value, str | int | float)
    }
    title, id_ = (sanitize(str(row.get(key) or "")).strip() for key in ("title", "id"))
    # The whole text is on one line of the file.
    return ExtractedText(text, title, id_ or str(line), Locations("line", (0,), (line,)), metadata)
