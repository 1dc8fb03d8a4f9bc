"""Every error this package raises on purpose.

    RejoinderError
    ├── InputError          what the user gave cannot be used
    ├── DataError           a data file breaks its format
    ├── MissingDataError    a data set's files are not where they were looked for
    ├── DownloadError       a data set could not be fetched
    ├── BundleError         a model folder is missing, torn or too new
    ├── StoreError          an index is missing, torn, in use or too new
    ├── TrainingError       a model could not be trained
    ├── UnknownNameError    no scorer, data set, measure, … has this name
    └── MissingExtraError   an optional dependency is not installed

The command line prints these as one line and exits with 1.  Anything else that
escapes is a bug in this package.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class RejoinderError(Exception):
    """Base class of all errors raised on purpose."""


class InputError(RejoinderError):
    """What the user gave cannot be used."""


class DataError(RejoinderError):
    """A data file breaks its format."""

    def __init__(self, problem: str, *, path: Path, line: int | None = None) -> None:
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}")
        self.problem = problem
        self.path = path
        self.line = line


class MissingDataError(RejoinderError):
    """A data set's files are not where they were looked for."""


class DownloadError(RejoinderError):
    """A data set could not be fetched."""


class BundleError(RejoinderError):
    """A model folder is missing, torn or too new."""


class StoreError(RejoinderError):
    """An index is missing, torn, in use or too new."""


class TrainingError(RejoinderError):
    """A model could not be trained."""


class UnknownNameError(RejoinderError):
    """No scorer, data set, measure, … has this name."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = list(known)
        close = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        super().__init__(f"unknown {kind} {name!r}{hint} known: {', '.join(names)}")
        self.name = name


class MissingExtraError(RejoinderError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, feature: str, *, extra: str) -> None:
        super().__init__(f"{feature} needs extra packages: pip install 'rejoinder[{extra}]'")
        self.extra = extra


def is_panic(error: BaseException) -> bool:
    """Whether a library in Rust has given up: its error is no Exception, and of no known class."""
    return type(error).__name__ == "PanicException"
