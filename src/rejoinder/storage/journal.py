"""A file of JSON lines that grows while long work goes on, so that a kill costs one line."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError


def read_kept(path: Path) -> list[dict[str, Any]]:
    """Return what was kept, nothing where there is no file; a torn last line is cut off.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    if not path.exists():
        return []
    try:
        whole, _, torn = path.read_bytes().rpartition(b"\n")
        if torn:
            with path.open("rb+") as file:
                file.truncate(len(whole) + 1 if whole else 0)
        rows = [json.loads(line) for line in whole.splitlines()]
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a file that work was kept in; give another") from error
    if not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path}: not a file that work was kept in; give another")
    return rows


def append_kept(path: Path, row: Mapping[str, Any]) -> None:
    """Add one piece of finished work.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
