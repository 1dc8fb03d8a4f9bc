"""Reads JSON objects that know where they stand, so that every error names the place."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rejoinder.datasets.files import read_lines
from rejoinder.errors import DataError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object with its file, its line where lines count, and its place inside.

    Every method that takes a field's name raises DataError where the field is not what
    it must be.
    """

    fields: Mapping[str, Any]
    path: Path
    line: int | None = None
    place: str = ""

    def get(self, name: str, kind: type[T]) -> T:
        """Return a field that must be there and of this kind."""
        if name not in self.fields:
            raise self.error(f"field {name!r} is missing")
        return self._check(self.fields[name], kind, f"field {name!r}")

    def has(self, name: str) -> bool:
        """Return whether a field is there and not null."""
        return self.fields.get(name) is not None

    def get_optional(self, name: str, kind: type[T], default: T) -> T:
        """Return a field of this kind, or the default where it is missing or null."""
        return self.get(name, kind) if self.has(name) else default

    def get_id(self, name: str) -> str:
        """Return an id, which may be written as a whole number."""
        value = self.fields.get(name)
        return str(value) if type(value) is int else self.get(name, str)

    def get_label(self, name: str) -> bool:
        """Return whether a label of 0 or 1 is 1."""
        label = self.get(name, int)
        if label not in (0, 1):
            raise self.error(f"field {name!r} must be 0 or 1, found {label}")
        return label == 1

    def get_list(self, name: str, kind: type[T]) -> list[T]:
        """Return a list whose every item is of this kind."""
        return [
            self._check(item, kind, f"{name}[{place}]")
            for place, item in enumerate(self.get(name, list))
        ]

    def get_object(self, name: str) -> "JsonObject":
        """Return an object inside this one."""
        return self._inside(self.get(name, dict), name)

    def get_objects(self, name: str) -> "list[JsonObject]":
        """Return a list of objects inside this one."""
        return [
            self._inside(item, f"{name}[{place}]")
            for place, item in enumerate(self.get_list(name, dict))
        ]

    def error(self, problem: str) -> DataError:
        """Return an error that names this object's place."""
        where = f"{self.place}: " if self.place else ""
        return DataError(where + problem, path=self.path, line=self.line)

    def _check(self, value: Any, kind: type[T], what: str) -> T:
        # Not isinstance: true is no number here, though bool is a kind of int in Python.
        if type(value) is not kind:
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
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def read_json_lines(path: Path) -> Iterator[JsonObject]:
    """Yield the objects of a file with one JSON object per line; blank lines are skipped."""
    return parse_json_lines(read_lines(path), path)


def parse_json_lines(lines: Iterable[tuple[int, str]], path: Path) -> Iterator[JsonObject]:
    """Yield the objects of numbered lines; blank lines are skipped."""
    for number, line in lines:
        if line.strip():
            value = _parse(line, path, number)
            if not isinstance(value, dict):
                raise DataError("expected a JSON object on each line", path=path, line=number)
            yield JsonObject(value, path, number)


def read_json_object(path: Path) -> JsonObject:
    """Return the one JSON object that the whole file holds."""
    value = _read_whole(path)
    if not isinstance(value, dict):
        raise DataError("expected one JSON object", path=path)
    return JsonObject(value, path)


def read_json_list(path: Path) -> list[JsonObject]:
    """Return the objects of a file that holds one JSON list of objects."""
    value = _read_whole(path)
    if not isinstance(value, list):
        raise DataError("expected one JSON list", path=path)
    return JsonObject({"list": value}, path).get_objects("list")


def _read_whole(path: Path) -> Any:
    return _parse("\n".join(line for _, line in read_lines(path)), path, 1)


def _parse(text: str, path: Path, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at column {error.colno}"
        raise DataError(problem, path=path, line=first_line + error.lineno - 1) from error
    except (ValueError, RecursionError) as error:
        # A number of thousands of digits, or brackets nested without end.
        raise DataError(f"not JSON: {error}", path=path, line=first_line) from error
