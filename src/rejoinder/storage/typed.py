"""TOML and JSON as typed values; an error names the place, and what is expected there."""

import json
import re
import tomllib
from dataclasses import is_dataclass
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from rejoinder.errors import DataError, InputError

T = TypeVar("T")

_STEPS = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


def convert(value: Any, kind: type[T], *, path: Path) -> T:
    """Return parsed TOML or JSON as a typed value; a dataclass takes no unknown fields either.

    Raises:
        DataError: it is of another type; the error counts the items of lists from 1.
    """
    try:
        if is_dataclass(kind) and isinstance(value, dict):
            for name in value.keys() - _list_fields(kind).keys():
                raise msgspec.ValidationError(f"Object contains unknown field `{name}`")
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise DataError(_explain(find_mismatch(error, kind, value)), path=path) from error
    except InputError as error:  # of a type that checks itself
        raise DataError(str(error), path=path) from error


def read_toml(path: Path, kind: type[T]) -> T:
    """Return a TOML file as a typed value.

    Raises:
        DataError: the file is missing, not TOML, or of another type.
    """
    try:
        value = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}", path=path) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # deeply nested
        raise DataError(f"not TOML: {error}", path=path) from error
    return convert(value, kind, path=path)


def to_toml(value: Any) -> str:
    """Return a typed value as TOML; what TOML cannot say, such as a path, becomes its text."""
    import tomli_w

    return tomli_w.dumps(msgspec.to_builtins(value, enc_hook=str))


class Mismatch(NamedTuple):
    """Where a value is not of its type."""

    problem: str
    """In the words of msgspec, or of a type that checks itself."""
    is_own: bool
    """Whether the type checked itself."""
    keys: tuple[str | int, ...]
    """Of objects, and of lists from 0."""
    kind: Any
    """The type that is expected there."""
    value: Any

    def show(self) -> str:
        """Return the value, shortened."""
        return f"{json.dumps(self.value, default=str, ensure_ascii=False):.40}"


def find_mismatch(error: msgspec.ValidationError, kind: Any, value: Any) -> Mismatch:
    """Return where a value is not of its type, with the keys that msgspec does not name."""
    problem, _, path = str(error).removesuffix("`").rpartition(" - at `$")
    problem, path = (problem, path) if problem else (str(error), "")
    keys: list[str | int] = []
    for name, index in _STEPS.findall(path):
        key = _find_key(kind, value) if index == "..." else name or int(index)
        kind, value = _get_item_kind(kind, key), value[key]
        keys.append(key)
    return Mismatch(problem, error.__cause__ is not None, tuple(keys), kind, value)


def _explain(mismatch: Mismatch) -> str:
    """Return msgspec's message with the keys, values and fields that it does not name."""
    place = ""
    for key in mismatch.keys:
        place += f" {key + 1}" if isinstance(key, int) else f"{place and ': '}{key}"
    problem = mismatch.problem[0].lower() + mismatch.problem[1:].replace("`", "'")
    found = f", found {mismatch.show()}"
    if mismatch.is_own:
        problem = mismatch.problem
    elif problem.startswith("object contains "):
        known = ", ".join(_list_fields(mismatch.kind))
        problem = f"{problem.removeprefix('object contains ')}; known: {known}"
    elif problem.startswith("object missing"):
        problem = problem.removeprefix("object missing required ") + " is missing"
    elif problem.startswith("invalid enum"):
        problem = f"must be {' or '.join(map(repr, get_args(mismatch.kind)))}{found}"
    else:
        problem = problem.partition(", got")[0] + found
    return f"{place}: {problem}" if place else problem


def _get_item_kind(kind: Any, key: str | int) -> Any:
    """Return the type of the value at a key of an object, or at an index of a list."""
    if fields := _list_fields(kind):
        found = fields[str(key)]
    else:
        found = get_args(kind)[-1 if get_origin(kind) is not tuple else 0]
    optional = [one for one in get_args(found) if one is not NoneType]
    return optional[0] if NoneType in get_args(found) and len(optional) == 1 else found


def _list_fields(kind: Any) -> dict[str, Any]:
    """Return the fields of a struct or a dataclass with their types; none of another type."""
    if is_dataclass(kind):
        return get_type_hints(kind)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}
    return {}


def _find_key(kind: Any, value: dict[str, Any]) -> str:
    """Return the key of a mapping's first value that is not of its type."""
    for key, item in value.items():
        try:
            msgspec.convert(item, _get_item_kind(kind, key))
        except msgspec.ValidationError:
            return key
    raise AssertionError("all values are of their type")
