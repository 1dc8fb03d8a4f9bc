"""Reads JSON lines (.jsonl) as a stream: each row is a document, as in a table with a `text`."""

import json
from collections.abc import Iterator
from typing import IO

from rejoinder.documents.blocks import ExtractedDocument
from rejoinder.documents.formats.tables import split_lines, to_document
from rejoinder.errors import InputError


def read(file: IO[bytes]) -> Iterator[ExtractedDocument]:
    """Yield one document per line, a JSON object with a `text`."""
    for number, line in enumerate(split_lines(file), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} is not JSON") from error
        if not isinstance(row, dict) or not isinstance(row.get("text"), str):
            raise InputError(f"line {number} is not an object with a 'text'")
        yield to_document(row, number, number)
