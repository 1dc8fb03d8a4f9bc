"""The files of a row store: `state.json`, and the rows and places mapped into memory.

The state is replaced atomically.  It holds the committed size of the other files: bytes beyond it
do not count.  rows.py describes the layout of these files.
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
from rejoinder.storage.files import atomic_write

MAGIC = b"rejoindr" + b"\0" * 8
"""The first bytes of the rows, so that no block is at offset 0."""
HEADER = 16
FORMAT = 2
NAME = "state.json"


@dataclass(frozen=True, slots=True)
class State:
    """The committed state of a store."""

    bundle: str
    """The folder of the bundle that made the rows."""
    hash: str
    """The hash of its encoder."""
    row_bytes: int
    generation: int = 0
    size: int = 0
    """Committed bytes of rows."""
    sentences: int = 0
    """Sentences in these bytes, removed ones included."""
    numbers: int = 1
    """Entries of the places file, empty ones included."""
    edition: int = 1
    """The number in the names of the current files; rewriting a store increments it."""
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
        StoreError: it is corrupt, or of another format.
    """
    try:
        fields = dict(json.loads((folder / NAME).read_bytes()))
        format_, written = fields.get("format"), fields.pop("sum", None)
        state = State(**fields) if format_ == FORMAT else None
    except (OSError, ValueError, TypeError, RecursionError) as error:
        raise corrupt(folder, "state.json cannot be read") from error
    if state is None:
        raise corrupt(folder, f"it has format {format_}, not {FORMAT}")
    if written != _sum(state):
        raise corrupt(folder, "the checksum of state.json does not match")
    return state


def write_state(folder: Path, state: State) -> None:
    """Replace the state of a folder; the disk has it when this returns."""
    with atomic_write(folder / NAME) as file:
        file.write(json.dumps({**asdict(state), "sum": _sum(state)}).encode())
        sync(file)


def _sum(state: State) -> int:
    return zlib.crc32(json.dumps(asdict(state)).encode())


def stamp(folder: Path) -> tuple[int, int] | None:
    """Return an identifier of the current state of a folder, without reading it."""
    try:
        found = (folder / NAME).stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def sync(file: IO[bytes]) -> None:
    """Wait until a file is on disk."""
    file.flush()
    os.fsync(file.fileno())


def corrupt(folder: Path, problem: str) -> StoreError:
    """Return the error to raise about a store that cannot be read."""
    return StoreError(f"{folder}: corrupt, {problem}")


class MappedRows:
    """The files of one state; a later state is another object, so that threads agree."""

    def __init__(self, folder: Path) -> None:
        self.stamp = stamp(folder)
        self.state = read_state(folder)
        self.rows = _map(folder, self.state.rows, self.state.size)
        self.words: NDArray[np.uint32] = self.rows.view("<u4")
        self.places: NDArray[np.int64] = _map(
            folder, self.state.places, 8 * self.state.numbers
        ).view("<i8")
        # The sentences whose checksums were verified; the last one is for missing sentences.
        self.checked = np.zeros(self.state.sentences + 1, dtype=np.bool_)
        # The documents whose headers were verified; no document has number 0.
        self._has_whole_header = np.zeros(self.state.numbers, dtype=np.bool_)
        if bytes(self.rows[: len(MAGIC)]) != MAGIC:
            raise corrupt(folder, "rows begin with other bytes")

    def list_documents(self) -> list[int]:
        """Return the numbers of all documents that are stored."""
        numbers = np.flatnonzero(self.places)
        stored: list[int] = numbers[self._find_blocks(numbers) > 0].tolist()
        return stored

    def has(self, number: int) -> bool:
        """Return whether a document is stored."""
        return bool(self._find_blocks(np.array([number]))[0])

    def count(self, number: int) -> int:
        """Return how many sentences of a document are stored; -1 where its header is corrupt."""
        given = np.array([number])
        block = int(self._find_blocks(given)[0])
        if not block:
            return 0
        return int(self.words[block // 4 + 1]) if self._check_headers(given)[0] else -1

    def locate(self, documents: Places, positions: Places) -> "Located":
        """Return the places of sentences; their length is -1 where the header is corrupt."""
        blocks = self._find_blocks(documents)
        is_whole = self._check_headers(np.where(blocks > 0, documents, 0))
        headers = np.where(is_whole, blocks, 0) // 4
        counts, before = (self.words[headers + at].astype(np.int64) for at in (1, 2))
        is_here = is_whole & (positions < counts)
        at = np.where(is_here, headers + HEADER // 4 + positions, 0)
        ends = self.words[at].astype(np.int64)
        begins = np.where(positions > 0, self.words[np.maximum(at - 1, 0)], 0).astype(np.int64)
        sums = self.words[np.where(is_here, at + counts, 0)].astype(np.int64)
        starts = blocks + HEADER + 8 * counts + begins * self.state.row_bytes
        is_corrupt = (blocks > 0) & ~is_whole
        return Located(
            np.where(is_here, starts, 0),
            np.where(is_here, ends - begins, np.where(is_corrupt, -1, 0)),
            sums,
            np.where(is_here, before + positions, -1),
        )

    def _find_blocks(self, documents: Places) -> Places:
        """Return the offsets of documents' blocks; 0 where there is none."""
        blocks = np.zeros(len(documents), dtype=np.int64)
        known = (documents > 0) & (documents < len(self.places))
        blocks[known] = self.places[documents[known]]
        blocks[(blocks < 0) | (blocks > self.state.size - HEADER) | (blocks % 8 != 0)] = 0
        # A crash may leave an offset at which another document's block was written since.
        blocks[self.words[blocks // 4] != documents] = 0
        return blocks

    def _check_headers(self, documents: Places) -> NDArray[np.bool_]:
        """Return which documents have a header with a correct checksum; number 0 has none."""
        for number in np.unique(documents[~self._has_whole_header[documents]]).tolist():
            self._has_whole_header[number] = number > 0 and self._is_header_whole(number)
        return self._has_whole_header[documents]

    def _is_header_whole(self, number: int) -> bool:
        block = int(self.places[number])
        stop = block + HEADER + 8 * int(self.words[block // 4 + 1])
        if stop > self.state.size:
            return False
        sum_ = sum_header(self.rows[block : block + 12].data, self.rows[block + HEADER : stop].data)
        return sum_ == int(self.words[block // 4 + 3])

    def is_whole(self, located: "Located", place: int) -> bool:
        """Return whether the checksum of a sentence's rows is correct."""
        return bool(located.lengths[place] >= 0) and (
            sum_rows(self.read(located, place)) == located.sums[place]
        )

    def read(self, located: "Located", place: int) -> Bytes:
        """Return the rows of a sentence."""
        start, length = int(located.starts[place]), int(located.lengths[place])
        rows = self.rows[start : start + length * self.state.row_bytes]
        return rows.reshape(length, self.state.row_bytes)


def _map(folder: Path, name: str, size: int) -> Bytes:
    """Return the first bytes of a file, mapped into memory."""
    path = folder / name
    try:
        if path.stat().st_size < size:
            raise corrupt(folder, f"{name} is truncated")
        return np.asarray(np.memmap(path, np.uint8, mode="r", shape=(size,)))
    except (OSError, ValueError) as error:
        raise corrupt(folder, f"{name} cannot be read") from error


class Located(NamedTuple):
    """The places of sentences, one number per sentence."""

    starts: Places
    lengths: Places
    sums: Places
    ordinals: Places
    """How many sentences precede it in the store; -1 where it is missing."""


def sum_rows(rows: Bytes) -> int:
    """Return the checksum of rows."""
    return zlib.crc32(rows.data)


def sum_header(numbers: bytes | memoryview, ends_and_sums: bytes | memoryview) -> int:
    """Return the checksum of a block's header."""
    return zlib.crc32(ends_and_sums, zlib.crc32(numbers))
