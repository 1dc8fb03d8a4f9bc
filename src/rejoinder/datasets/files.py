"""Reads text files line by line; every error names the file and the line."""

import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from rejoinder.errors import DataError


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text without its line end), one line at a time.

    Lines end with a line feed; other line separators of Unicode are ordinary
    characters, because published sentences contain them.  Files that end in .gz are
    unpacked on the way.

    Raises:
        DataError: the file is missing, a folder, empty, torn, or not UTF-8.
    """
    with _open(path) as file:
        yield from decode_lines(file, path)


def decode_lines(file: Iterable[bytes], path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbered lines of an open file or stream, which errors call `path`."""
    number = 0
    try:
        for number, raw in enumerate(file, start=1):
            yield number, _decode(raw, path, number)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        problem = f"the compressed data is torn ({error}); fetch the file again"
        raise DataError(problem, path=path, line=number + 1) from error
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error
    if number == 0:
        raise DataError("the file is empty", path=path)


def read_fields(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of a file whose every line has so many tab-separated columns."""
    for number, line in read_lines(path):
        fields = line.split("\t")
        if len(fields) != columns:
            problem = f"expected {columns} columns, found {len(fields)}"
            raise DataError(problem, path=path, line=number)
        yield number, fields


def parse_label(text: str, path: Path, line: int) -> bool:
    """Return whether a label of 0 or 1 is 1."""
    if text not in ("0", "1"):
        raise DataError(f"label must be 0 or 1, found {text!r}", path=path, line=line)
    return text == "1"


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
