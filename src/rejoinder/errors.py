"""The error tree.

    RejoinderError
    ├── InputError          an argument or input file cannot be used
    ├── DataError           a data file breaks its format
    ├── MissingDataError    the files of a data set are missing
    ├── DownloadError       a data set could not be downloaded
    ├── BundleError         a model folder is missing, corrupt or of another format
    ├── StoreError          an index is missing, corrupt, in use or of another format
    │   └── LockedError     another process is writing
    ├── TrainingError       a model could not be trained
    ├── UnknownNameError    no scorer, data set, measure, … has this name
    └── MissingExtraError   an optional dependency is not installed

The command line prints these as one line and exits with 1.  Any other exception is a bug
in this package.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class RejoinderError(Exception):
    """Base class of all errors that rejoinder raises on purpose."""


class InputError(RejoinderError):
    """An argument or input file cannot be used."""


class DataError(RejoinderError):
    """A data file breaks its format."""

    def __init__(self, problem: str, *, path: Path, line: int | None = None) -> None:
        place = str(path) if line is None else f"{path}:{line}"
        super().__init__(f"{place}: {problem}")
        self.problem = problem
        self.path = path
        self.line = line


class MissingDataError(RejoinderError):
    """The files of a data set are missing."""


class DownloadError(RejoinderError):
    """A data set could not be downloaded."""


class BundleError(RejoinderError):
    """A model folder is missing, corrupt or of another format."""


class StoreError(RejoinderError):
    """An index is missing, corrupt, in use or of another format."""


class LockedError(StoreError):
    """Another process is writing; the same call may succeed later."""


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
    """Whether a Rust library panicked; its class derives from BaseException and is not exported."""
    return type(error).__name__ == "PanicException"


def shorten(error: BaseException) -> str:
    """Return the first line of a library's error message, or the error's class."""
    message = str(error).strip()
    return message.splitlines()[0][:200] if message else type(error).__name__
