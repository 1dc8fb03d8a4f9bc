"""The files of a row store: `state.json`, and the rows and places mapped into memory.

A store holds what its state counts.  The state is replaced in one step: what was written before
it was replaced is there, and what was written after it does not count.  rows.py describes the
layout of the other files.
"""

import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import StoreError
from rejoinder.models.sidecar import Bytes, Places
from rejoinder.storage.atomic import atomic_write

MAGIC = b"rejoindr" + b"\0" * 8
"""At the beginning of the rows, so that no block has place 0."""
HEADER = 16
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
    with atomic_write(folder / NAME) as file:
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


class MappedRows:
    """The files as one state has them; a later state is another object, so that threads agree."""

    def __init__(self, folder: Path) -> None:
        self.stamp = stamp(folder)
        self.state = read_state(folder)
        self.rows = _map(folder, self.state.rows, self.state.size)
        self.words: NDArray[np.uint32] = self.rows.view("<u4")
        self.places: NDArray[np.int64] = _map(
            folder, self.state.places, 8 * self.state.numbers
        ).view("<i8")
        # Which sentences were found to be whole; the last stands for what is not there.
        self.checked = np.zeros(self.state.sentences + 1, dtype=np.bool_)
        # Which documents' heads were; nobody has number 0.
        self._has_whole_head = np.zeros(self.state.numbers, dtype=np.bool_)
        if bytes(self.rows[: len(MAGIC)]) != MAGIC:
            raise torn(folder, "its rows are not rows")

    def list_documents(self) -> list[int]:
        """Return the numbers of all documents that are stored."""
        numbers = np.flatnonzero(self.places)
        found: list[int] = numbers[self._find_blocks(numbers) > 0].tolist()
        return found

    def has(self, number: int) -> bool:
        """Return whether a document is stored."""
        return bool(self._find_blocks(np.array([number]))[0])

    def count(self, number: int) -> int:
        """Return how many sentences are stored of a document; -1 where nobody can tell."""
        given = np.array([number])
        block = int(self._find_blocks(given)[0])
        if not block:
            return 0
        return int(self.words[block // 4 + 1]) if self._check_heads(given)[0] else -1

    def locate(self, documents: Places, positions: Places) -> "Located":
        """Return where sentences stand; their length is -1 where the head is damaged."""
        blocks = self._find_blocks(documents)
        is_whole = self._check_heads(np.where(blocks > 0, documents, 0))
        heads = np.where(is_whole, blocks, 0) // 4
        counts, before = (self.words[heads + at].astype(np.int64) for at in (1, 2))
        is_here = is_whole & (positions < counts)
        at = np.where(is_here, heads + HEADER // 4 + positions, 0)
        ends = self.words[at].astype(np.int64)
        begins = np.where(positions > 0, self.words[np.maximum(at - 1, 0)], 0).astype(np.int64)
        sums = self.words[np.where(is_here, at + counts, 0)].astype(np.int64)
        starts = blocks + HEADER + 8 * counts + begins * self.state.row_bytes
        is_damaged = (blocks > 0) & ~is_whole
        return Located(
            np.where(is_here, starts, 0),
            np.where(is_here, ends - begins, np.where(is_damaged, -1, 0)),
            sums,
            np.where(is_here, before + positions, -1),
        )

    def _find_blocks(self, documents: Places) -> Places:
        """Return where the blocks of documents begin; 0 where there is none."""
        blocks = np.zeros(len(documents), dtype=np.int64)
        known = (documents > 0) & (documents < len(self.places))
        blocks[known] = self.places[documents[known]]
        blocks[(blocks < 0) | (blocks > self.state.size - HEADER) | (blocks % 8 != 0)] = 0
        # A crash may leave a place that another document's block has taken since.
        blocks[self.words[blocks // 4] != documents] = 0
        return blocks

    def _check_heads(self, documents: Places) -> NDArray[np.bool_]:
        """Return which stored documents have heads as they were written; number 0 has not."""
        for number in np.unique(documents[~self._has_whole_head[documents]]).tolist():
            self._has_whole_head[number] = number > 0 and self._is_head_whole(number)
        return self._has_whole_head[documents]

    def _is_head_whole(self, number: int) -> bool:
        block = int(self.places[number])
        stop = block + HEADER + 8 * int(self.words[block // 4 + 1])
        if stop > self.state.size:
            return False
        found = sum_head(self.rows[block : block + 12].data, self.rows[block + HEADER : stop].data)
        return found == int(self.words[block // 4 + 3])

    def is_whole(self, found: "Located", place: int) -> bool:
        """Return whether the rows of a sentence are as they were written."""
        return bool(found.lengths[place] >= 0) and (
            sum_rows(self.read(found, place)) == found.sums[place]
        )

    def read(self, found: "Located", place: int) -> Bytes:
        """Return the rows of a sentence."""
        start, length = int(found.starts[place]), int(found.lengths[place])
        rows = self.rows[start : start + length * self.state.row_bytes]
        return rows.reshape(length, self.state.row_bytes)


def _map(folder: Path, name: str, size: int) -> Bytes:
    """Return the first bytes of a file, mapped into memory."""
    path = folder / name
    try:
        if path.stat().st_size < size:
            raise torn(folder, f"{name} is cut short")
        return np.asarray(np.memmap(path, np.uint8, mode="r", shape=(size,)))
    except (OSError, ValueError) as error:
        raise torn(folder, f"{name} cannot be read") from error


class Located(NamedTuple):
    """Where sentences stand, one number per sentence."""

    starts: Places
    lengths: Places
    sums: Places
    ordinals: Places
    """How many sentences stand before it in the store; -1 where there is none."""


def sum_rows(rows: Bytes) -> int:
    """Return what tells rows from damaged ones."""
    return zlib.crc32(rows.data)


def sum_head(numbers: bytes | memoryview, ends_and_sums: bytes | memoryview) -> int:
    """Return what tells the head of a block from a damaged one."""
    return zlib.crc32(ends_and_sums, zlib.crc32(numbers))
