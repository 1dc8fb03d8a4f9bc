"""Writes small data files into the test's own folder."""

import gzip
import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

Write = Callable[[str, str], Path]
WriteRows = Callable[[str, Iterable[object]], Path]
WriteValue = Callable[[str, object], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a text, packed where the name ends in .gz, and return the file's path."""

    def write_text(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = text.encode()
        path.write_bytes(gzip.compress(raw) if path.suffix == ".gz" else raw)
        return path

    return write_text


@pytest.fixture
def write_rows(write: Write) -> WriteRows:
    """Write JSON lines."""
    return lambda name, rows: write(name, "".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture
def write_value(write: Write) -> WriteValue:
    """Write one JSON value."""
    return lambda name, value: write(name, json.dumps(value))
