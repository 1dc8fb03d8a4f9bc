"""The runs of a long table, kept in a file as they finish: it can be stopped and gone on with."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from rejoinder.errors import InputError
from rejoinder.storage.journal import append_journal, read_journal


class AnyRun(Protocol):
    """One row trained with one seed."""

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON types, by the names it is made with."""


R = TypeVar("R", bound=AnyRun)


class KeptRuns(Generic[R]):
    """What a file has of a table's runs; without a file nothing is kept."""

    def __init__(self, path: Path | None, kind: type[R]) -> None:
        """Read what is done.

        Raises:
            InputError: the file holds something else.
        """
        self._path = path
        try:
            self.done = [kind(**row) for row in read_journal(path)] if path else []
        except TypeError as error:
            raise InputError(f"{path}: not a file of runs; give another, or remove it") from error

    def keep(self, runs: Iterable[R]) -> list[R]:
        """Return all runs, after each new one was added to the file.

        Raises:
            InputError: the file cannot be written.
        """
        found = []
        for run in runs:
            found.append(run)
            if self._path and run not in self.done:
                append_journal(self._path, run.to_dict())
        return found
