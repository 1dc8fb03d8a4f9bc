"""Finds files to read: named ones, and those of a known format below folders."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rejoinder.documents.sandbox import FORMATS
from rejoinder.errors import InputError

PLAIN = frozenset({".txt", ".text", ".md", ".markdown", ".rst"})
TABLES = frozenset({".jsonl", ".csv", ".tsv"})
SUFFIXES = PLAIN | TABLES | FORMATS.keys()


def find_files(paths: Iterable[Path]) -> list[Path]:
    """Return the files below the paths, each once, in order.

    Hidden files and folders are skipped, and links to folders are not followed, so that a
    folder may link to itself.
    """
    named = list(paths)
    files, unreadable = list_files(named)
    if not files:
        reasons = [f"{show_path(folder)}: {reason}" for folder, reason in unreadable.items()]
        raise InputError(reasons[0] if reasons else describe_empty(named))
    return files


def list_files(paths: Iterable[Path]) -> tuple[list[Path], dict[Path, str]]:
    """Return the files below the paths, perhaps none, and why folders cannot be listed."""
    files: list[Path] = []
    unreadable: dict[Path, str] = {}
    for path in paths:
        try:
            if path.is_dir():
                files.extend(_walk(path, unreadable))
            elif path.exists():
                files.append(path)
            else:
                raise InputError(f"{show_path(path)}: no such file or folder")
        except OSError as error:
            raise InputError(f"{show_path(path)}: {error.strerror}") from error
    return list(dict.fromkeys(files)), unreadable


def describe_empty(paths: Iterable[Path]) -> str:
    """Return the error message for paths with nothing to read."""
    names = ", ".join(map(show_path, paths))
    return f"nothing to read in {names}; files end in {', '.join(sorted(SUFFIXES))}"


def show_path(path: Path) -> str:
    """Return a path as printable text, whatever bytes its name has."""
    readable = os.fsencode(path).decode("utf-8", "backslashreplace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in readable
    )


def _walk(folder: Path, unreadable: dict[Path, str]) -> Iterator[Path]:
    def note(error: OSError) -> None:
        unreadable[Path(error.filename)] = error.strerror or "cannot be read"

    for place, folders, files in os.walk(folder, onerror=note):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(place, name)
            if path.suffix.lower() in SUFFIXES and not name.startswith("."):
                yield path
