"""Journals: JSON lines that long work appends its results to, so that a kill costs one line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the entries, none where there is no file; drop an incomplete last line."""
    if not path.exists():
        return []
    try:
        complete, _, rest = path.read_bytes().rpartition(b"\n")
        if rest:
            with path.open("rb+") as file:
                file.truncate(len(complete) + 1 if complete else 0)
        entries = [json.loads(line) for line in complete.splitlines()]
        if not all(isinstance(entry, dict) for entry in entries):
            raise ValueError("an entry is not an object")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a file of saved results; give another file") from error
    return entries


def append_journal(path: Path, entry: Mapping[str, Any]) -> None:
    """Append one entry."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
