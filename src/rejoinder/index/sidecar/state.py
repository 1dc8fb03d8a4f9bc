"""What a store of rows says about itself: `state.json`, replaced in one step.

A store counts as far as its state says: what was written before the state was replaced is
there, and what was written after it does not count.
"""

import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from rejoinder.errors import StoreError
from rejoinder.storage.atomic import writing_whole

FORMAT = 2
NAME = "state.json"


@dataclass(frozen=True, slots=True)
class State:
    """What a store says about itself."""

    bundle: str
    """Where the bundle was that made the rows."""
    hash: str
    """What tells that bundle from others."""
    row_bytes: int
    generation: int = 0
    size: int = 0
    """Bytes of rows that count."""
    sentences: int = 0
    """In these bytes, with those that were removed."""
    numbers: int = 1
    """Documents' numbers that have a place, those of none among them."""
    edition: int = 1
    """Which files count; a store that is written anew has the next."""
    format: int = FORMAT

    @property
    def rows(self) -> str:
        """The name of the file with the rows."""
        return f"rows-{self.edition}"

    @property
    def places(self) -> str:
        """The name of the file with the places."""
        return f"places-{self.edition}"


def read_state(folder: Path) -> State:
    """Return the state of a folder.

    Raises:
        StoreError: it is torn, or of another format.
    """
    try:
        fields = dict(json.loads((folder / NAME).read_bytes()))
        format_, written = fields.get("format"), fields.pop("sum", None)
        state = State(**fields) if format_ == FORMAT else None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise torn(folder, "state.json cannot be read") from error
    if state is None:
        raise torn(folder, f"it has format {format_}, not {FORMAT}")
    if written != _sum(state):
        raise torn(folder, "state.json is not as it was written")
    return state


def write_state(folder: Path, state: State) -> None:
    """Replace the state of a folder; the disk has it when this returns."""
    with writing_whole(folder / NAME) as file:
        file.write(json.dumps({**asdict(state), "sum": _sum(state)}).encode())
        sync(file)


def _sum(state: State) -> int:
    return zlib.crc32(json.dumps(asdict(state)).encode())


def stamp(folder: Path) -> tuple[int, int] | None:
    """Return what tells one state of a folder from the next, without reading it."""
    try:
        found = (folder / NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def sync(file: IO[bytes]) -> None:
    """Wait until a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def torn(folder: Path, problem: str) -> StoreError:
    """Return the error to raise about a store that cannot be read."""
    return StoreError(f"{folder}: torn, {problem}")
