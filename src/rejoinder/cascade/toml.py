"""TOML as a cascade's file uses it: read table by table with complaints that say where; written."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rejoinder.errors import DataError


class Table:
    """A table of the file; every complaint says which."""

    def __init__(self, fields: Mapping[str, Any], what: str, path: Path) -> None:
        self.fields = dict(fields)
        self._what = what
        self._path = path

    def take(self, name: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        """Return a field of a kind, once.

        Raises:
            DataError: it is of another kind, or missing and has no default.
        """
        value = self.fields.pop(name, default)
        if value is ...:
            raise self.error(f"{name} is missing")
        if value is not default and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self.error(f"{name} cannot be {value!r}")
        return value

    def take_number(self, name: str, default: Any = ...) -> float:
        """Return a field that is a number."""
        return float(self.take(name, (int, float), default))

    def take_table(self, name: str) -> "Table | None":
        """Return a table inside; None where there is none."""
        found = self.take(name, dict, None)
        return None if found is None else Table(found, f"{name} of {self._what}", self._path)

    def take_tables(self, name: str) -> "list[Table]":
        """Return the tables of a list."""
        rows = self.take(name, list, [])
        if not all(isinstance(row, dict) for row in rows):
            raise self.error(f"{name} must be written as [[{name}]]")
        return [
            Table(row, f"{name} {number}", self._path) for number, row in enumerate(rows, start=1)
        ]

    def refuse_rest(self) -> None:
        """Complain about a field that nobody has taken.

        Raises:
            DataError: there is one.
        """
        for name in self.fields:
            raise self.error(f"{name!r} is not known")

    def error(self, problem: str) -> DataError:
        """Return a complaint about this table."""
        return DataError(f"{self._what}: {problem}", path=self._path)


def read_toml(path: Path, what: str) -> Table:
    """Return a whole file as a table.

    Raises:
        DataError: it is missing, or not TOML.
    """
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}", path=path) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # one in another, a thousand deep
        raise DataError(f"not TOML: {error}", path=path) from error
    return Table(fields, what, path)


def show(value: Any) -> str:
    """Return a value as TOML has it."""
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{quote_key(key)} = {show(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(show, value))}]"
    return repr(value)


def quote_key(key: str) -> str:
    """Return a key as TOML has it."""
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _quote(key)


def _quote(text: str) -> str:
    # JSON's escapes are TOML's, but for the one control character that JSON leaves as it is.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
