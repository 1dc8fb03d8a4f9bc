"""Folders of derived data whose committed state is one small file.

Data files only grow.  A commit syncs them, then replaces `state.json` atomically, which says how
much of each is committed: a crash leaves uncommitted bytes, which the next writer overwrites.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import StoreError
from rejoinder.storage.files import atomic_write

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    S = TypeVar("S", bound=DataclassInstance)

T = TypeVar("T")

NAME = "state.json"


def read_state(folder: Path, kind: "type[S]", format_: int) -> "S":
    """Return the state of a folder; refuse one that is corrupt, or of another format."""
    try:
        fields = dict(json.loads((folder / NAME).read_bytes()))
        own, written = fields.get("format"), fields.pop("sum", None)
        state = kind(**fields) if own == format_ else None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise corrupt(folder, "state.json cannot be read") from error
    if state is None:
        raise corrupt(folder, f"it has format {own}, not {format_}")
    if written != _checksum(state):
        raise corrupt(folder, "the checksum of state.json does not match")
    return state


def write_state(folder: Path, state: "DataclassInstance") -> None:
    """Replace the state of a folder; the disk has it when this returns."""
    with atomic_write(folder / NAME) as file:
        file.write(json.dumps({**asdict(state), "sum": _checksum(state)}).encode())
        sync(file)


def _checksum(state: "DataclassInstance") -> int:
    return zlib.crc32(json.dumps(asdict(state)).encode())


def stamp(folder: Path) -> tuple[int, int] | None:
    """Return an identifier of the current state of a folder, without reading it."""
    with suppress(OSError):
        status = (folder / NAME).stat()
        return status.st_ino, status.st_mtime_ns
    return None


def get_inode(folder: Path, name: str) -> int | None:
    """Return what tells a file of a folder from later ones of its name."""
    with suppress(OSError):
        return (folder / name).stat().st_ino
    return None


def map_current(folder: Path, open_: Callable[[Path], T]) -> T:
    """Open the committed data of a folder, also while its files are being replaced."""
    while True:
        seen = stamp(folder)
        try:
            return open_(folder)
        except StoreError:
            if stamp(folder) == seen:
                raise


def map_file(folder: Path, name: str, size: int) -> NDArray[np.uint8]:
    """Return the first bytes of a file, mapped into memory."""
    path = folder / name
    try:
        if path.stat().st_size < size:
            raise corrupt(folder, f"{name} is truncated")
        if not size:
            return np.empty(0, dtype=np.uint8)  # an empty file cannot be mapped
        return np.asarray(np.memmap(path, np.uint8, mode="r", shape=(size,)))
    except (OSError, ValueError) as error:
        raise corrupt(folder, f"{name} cannot be read") from error


def sync(file: IO[bytes]) -> None:
    """Wait until a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def corrupt(folder: Path, problem: str) -> StoreError:
    """Return the error to raise about a store that cannot be read."""
    return StoreError(f"{folder}: corrupt, {problem}")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Raise a StoreError where a folder cannot be written."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written ({error.strerror or error}); documents and committed"
            " rows are kept"
        ) from error
