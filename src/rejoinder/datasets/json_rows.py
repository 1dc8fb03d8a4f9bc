"""Reads JSON files as typed values; every error names the file, the line and the place in it.

A type that checks itself raises ValueError in `__post_init__`; the error then gets the place.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec

from rejoinder.datasets.files import explain_end, read_lines
from rejoinder.errors import DataError
from rejoinder.storage.typed import Mismatch, find_mismatch

T = TypeVar("T")

Id = str | int
"""Data sets number their questions, or name them."""
_KINDS = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def read_json_lines(path: Path, kind: type[T]) -> Iterator[tuple[int, T]]:
    """Yield (line number, value) of a file with one JSON value per line; blank lines are skipped.

    Raises:
        DataError: a line is not JSON, or of another type.
    """
    return parse_json_lines(read_lines(path), path, kind)


def parse_json_lines(
    lines: Iterable[tuple[int, str]], path: Path, kind: type[T]
) -> Iterator[tuple[int, T]]:
    """Yield the values of numbered lines; blank lines are skipped."""
    decoder = msgspec.json.Decoder(kind)
    lines = iter(lines)
    for number, line in lines:
        if line.strip():
            try:
                value = _decode(line, decoder, path, number)
            except _NotJsonError as error:
                hint = explain_end(path, lines)
                raise DataError(error.problem + hint, path=path, line=error.line) from error
            yield number, value


def read_json(path: Path, kind: type[T]) -> T:
    """Return the single JSON value of a file.

    Raises:
        DataError: it is not JSON, or of another type.
    """
    text = "\n".join(line for _, line in read_lines(path))
    return _decode(text, msgspec.json.Decoder(kind), path, None)


class _NotJsonError(DataError):
    """A text is not JSON, and may be the start of one."""


def _decode(text: str, decoder: msgspec.json.Decoder[T], path: Path, line: int | None) -> T:
    try:
        return decoder.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Python reads what msgspec refuses and published files contain: lone surrogates and NaN.
        value = _parse(text, path, line or 1)
    try:
        return msgspec.convert(value, decoder.type)
    except msgspec.ValidationError as error:
        problem = _explain(find_mismatch(error, decoder.type, value))
        raise DataError(problem, path=path, line=line) from error


def _parse(text: str, path: Path, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"not JSON: {error.msg} at column {error.colno}"
        raise _NotJsonError(problem, path=path, line=first_line + error.lineno - 1) from error
    except (ValueError, RecursionError) as error:
        # A number with thousands of digits, or too deeply nested brackets.
        raise _NotJsonError(f"not JSON: {error}", path=path, line=first_line) from error


def _explain(found: Mismatch) -> str:
    """Return the place, counted from 0 as in JSON, and what is wrong there.

    For example `candidates[1]: field 'label' must be 0 or 1, found 2`.
    """
    keys, what = found.keys, found.problem
    if not found.is_own:
        if what.startswith("Object missing"):
            what = f"field '{what.split('`')[1]}' is missing"
        else:
            keys, name = _split_field(keys)
            what = f"{name} must be {_name_kinds(found)}, found {found.show()}"
    place = _join(keys)
    return f"{place}: {what}" if place else what


def _split_field(keys: tuple[str | int, ...]) -> tuple[tuple[str | int, ...], str]:
    """Return the keys of the object, and how its field, or an item of its list, is called."""
    last = next((i for i in reversed(range(len(keys))) if isinstance(keys[i], str)), 0)
    name = _join(keys[last:])
    if not name:
        return (), "the value"
    return keys[:last], f"field {name!r}" if isinstance(keys[-1], str) else name


def _join(keys: Iterable[str | int]) -> str:
    """Return a path such as data[0].qas."""
    steps = (f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return "".join(steps).removeprefix(".")


def _name_kinds(found: Mismatch) -> str:
    if found.problem.startswith("Invalid enum"):
        return " or ".join(map(json.dumps, get_args(found.kind)))
    _, names, limit = found.problem.partition(", got")[0].split("`")
    return " or ".join(_KINDS[name] for name in names.split(" | ") if name != "null") + limit
