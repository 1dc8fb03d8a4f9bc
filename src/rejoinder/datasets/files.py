"""Reads lines and columns of text files; every error names the file and the line."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from rejoinder.errors import DataError


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without its line end), one line at a time.

    Lines end with a line feed; other Unicode line separators are ordinary characters,
    because published sentences contain them.  Files that end in .gz are decompressed.

    Raises:
        DataError: the file is missing, a folder, empty, corrupt, or not UTF-8.
    """
    with _open(path) as file:
        yield from decode_lines(file, path)


def decode_lines(file: Iterable[bytes], path: Path, *, start: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the lines of an open file or stream, numbered from `start`; errors name it `path`."""
    number = 0
    try:
        for number, raw in enumerate(file, start=start):
            yield number, _decode(raw, path, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"the compressed data is corrupt ({error}); download the file again"
        raise DataError(problem, path=path, line=number + 1) from error
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error
    if number == 0:
        raise DataError("the file is empty", path=path)


def read_fields(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of a file with this many tab-separated columns in each line."""
    lines = read_lines(path)
    for number, line in lines:
        fields = line.split("\t")
        if len(fields) != columns:
            problem = f"expected {columns} columns, found {len(fields)}"
            raise DataError(problem + explain_end(path, lines), path=path, line=number)
        yield number, fields


def parse_label(text: str, path: Path, line: int) -> bool:
    """Parse a label of 0 or 1."""
    if text not in ("0", "1"):
        raise DataError(f"label must be 0 or 1, found {text!r}", path=path, line=line)
    return text == "1"


def explain_end(path: Path, rest: Iterator[tuple[int, str]]) -> str:
    """Return a hint if a malformed line is the last one and has no line end."""
    if next(rest, None) is not None or not path.is_file():
        return ""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        is_whole = file.read() == b"\n" or path.suffix == ".gz"
    return "" if is_whole else "; the file seems to be truncated: get it again"


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    try:
        return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error


def _decode(raw: bytes, path: Path, number: int) -> str:
    try:
        line = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"not UTF-8: byte {raw[error.start]:#04x} at column {error.start + 1}"
        raise DataError(problem, path=path, line=number) from error
    if number == 1:
        line = line.removeprefix("\ufeff")
    return line.removesuffix("\n").removesuffix("\r")
