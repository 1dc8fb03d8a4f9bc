"""Reads lines, columns and JSON objects of text files; every error names the file and the line."""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

from rejoinder.errors import DataError

T = TypeVar("T")
D = TypeVar("D")


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
            raise DataError(problem + _explain_end(path, lines), path=path, line=number)
        yield number, fields


def parse_label(text: str, path: Path, line: int) -> bool:
    """Parse a label of 0 or 1."""
    if text not in ("0", "1"):
        raise DataError(f"label must be 0 or 1, found {text!r}", path=path, line=line)
    return text == "1"


def _explain_end(path: Path, rest: Iterator[tuple[int, str]]) -> str:
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


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object that knows its file, line and path inside the file.

    Every method that takes a field name raises DataError if the field is missing or has
    the wrong type.
    """

    fields: Mapping[str, Any]
    path: Path
    line: int | None = None
    place: str = ""

    def get(self, name: str, kind: type[T]) -> T:
        """Return a required field of this type."""
        if name not in self.fields:
            raise self.error(f"field {name!r} is missing")
        return self._check(self.fields[name], kind, f"field {name!r}")

    def has(self, name: str) -> bool:
        """Return whether a field is present and not null."""
        return self.fields.get(name) is not None

    def get_optional(self, name: str, kind: type[T], default: D) -> T | D:
        """Return a field of this type, or the default if it is missing or null."""
        return self.get(name, kind) if self.has(name) else default

    def get_id(self, name: str, default: int | None = None) -> str:
        """Return an id: a string or an integer, or the default if it is missing or null."""
        value = self.fields.get(name)
        value = default if value is None else value
        return str(value) if type(value) is int else self.get(name, str)

    def get_label(self, name: str) -> bool:
        """Parse a label of 0 or 1."""
        label = self.get(name, int)
        if label not in (0, 1):
            raise self.error(f"field {name!r} must be 0 or 1, found {label}")
        return label == 1

    def get_list(self, name: str, kind: type[T]) -> list[T]:
        """Return a list whose items all have this type."""
        return [
            self._check(item, kind, f"{name}[{place}]")
            for place, item in enumerate(self.get(name, list))
        ]

    def get_object(self, name: str) -> "JsonObject":
        """Return a nested object."""
        return self._inside(self.get(name, dict), name)

    def get_objects(self, name: str) -> "list[JsonObject]":
        """Return a list of nested objects."""
        return [
            self._inside(item, f"{name}[{place}]")
            for place, item in enumerate(self.get_list(name, dict))
        ]

    def error(self, problem: str) -> DataError:
        """Return an error that names the position of this object."""
        where = f"{self.place}: " if self.place else ""
        return DataError(where + problem, path=self.path, line=self.line)

    def _check(self, value: Any, kind: type[T], what: str) -> T:
        # Not isinstance: bool is a subclass of int, but true is not a number here.
        allowed: tuple[type, ...] = (int, float) if kind is float else (kind,)
        if type(value) not in allowed:
            found = json.dumps(value)[:40]
            raise self.error(f"{what} must be {_KINDS[kind]}, found {found}")
        checked: T = value
        return checked

    def _inside(self, fields: dict[str, Any], step: str) -> "JsonObject":
        place = f"{self.place}.{step}" if self.place else step
        return JsonObject(fields, self.path, self.line, place)


_KINDS: dict[type, str] = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def read_json_lines(path: Path) -> Iterator[JsonObject]:
    """Yield the objects of a file with one JSON object per line; blank lines are skipped."""
    return parse_json_lines(read_lines(path), path)


def parse_json_lines(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[JsonObject]:
    """Yield the objects of numbered lines; blank lines are skipped."""
    lines = iter(lines)
    for number, line in lines:
        if line.strip():
            try:
                value = _parse(line, path, number)
            except DataError as error:
                hint = _explain_end(path, lines)
                raise DataError(error.problem + hint, path=path, line=error.line) from error
            if not isinstance(value, dict):
                raise DataError("expected a JSON object on each line", path=path, line=number)
            yield JsonObject(value, path, number)


def read_json_object(path: Path) -> JsonObject:
    """Return the single JSON object of a file."""
    return JsonObject(_read_whole(path, dict), path)


def read_json_list(path: Path) -> list[JsonObject]:
    """Return the objects of a file that is one JSON list."""
    return JsonObject({"list": _read_whole(path, list)}, path).get_objects("list")


def _read_whole(path: Path, kind: type[T]) -> T:
    value = _parse("\n".join(line for _, line in read_lines(path)), path, 1)
    if not isinstance(value, kind):
        raise DataError(f"expected one JSON {'object' if kind is dict else 'list'}", path=path)
    return value


def _parse(text: str, path: Path, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at column {error.colno}"
        raise DataError(problem, path=path, line=first_line + error.lineno - 1) from error
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits, or too deeply nested brackets.
        raise DataError(f"not JSON: {error}", path=path, line=first_line) from error
