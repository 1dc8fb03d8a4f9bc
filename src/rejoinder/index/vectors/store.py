"""A vector store: a folder with one row per sentence that may answer.

    state.json   the encoder, the generation of SQLite, how many rows are committed, checksums
    bits         the signs of the rotated vector, width / 8 bytes per row
    places       the document number and position of each row, 4 bytes each
    rows         int8 numbers, their scale as float32, and the CRC-32 of both

The files are memory-mapped and append-only (`index/state.py`).  `state.json` has the CRC-32 of
bits and of places for each `CHUNK` rows, verified once before the first search.  The rows that a
search returns are verified each time, so a corrupt row is never an answer.
"""

import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import StoreError
from rejoinder.index.sqlite.documents import Place
from rejoinder.index.state import (
    corrupt,
    get_inode,
    map_current,
    map_file,
    read_state,
    stamp,
    sync,
    write_state,
    writing,
)
from rejoinder.index.vectors.codes import Bytes, Codes, Matrix, encode_question, encode_vectors
from rejoinder.index.vectors.nearest import Ids, choose_rows, score_rows

FORMAT = 1
CHUNK = 1 << 16
"""Rows whose bits and places share a checksum."""
TAIL = 8
"""Bytes of a row after its numbers."""
MAX_LATER = 1 / 8
"""The share of rows that are mapped apart from earlier ones, before all are mapped again."""
MARK = "corrupt"
"""A file that a search leaves where it found damage, for the next writer to rebuild the store."""


@dataclass(frozen=True, slots=True)
class VectorState:
    """The committed state of a store."""

    bundle: str
    """The folder of the encoder's bundle; empty for the shipped one."""
    hash: str
    """The hash of the encoder."""
    width: int
    generation: int = 0
    rows: int = 0
    dead: int = 0
    """Rows of removed documents."""
    bits_checksums: list[int] = field(default_factory=list)
    places_checksums: list[int] = field(default_factory=list)
    format: int = FORMAT

    @property
    def row_bytes(self) -> dict[str, int]:
        """The bytes of a row in each file."""
        return {"bits": self.width // 8, "places": 8, "rows": self.width + TAIL}


class Nearest(NamedTuple):
    """The sentences nearest to a question."""

    cosines: dict[Place, float]
    """Best first; those of equal cosine by place."""
    corrupt: int
    """Rows that were left out."""


class VectorStore:
    """The vectors of one folder; many threads and processes may read while one writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._mapped = map_current(folder, MappedVectors)
        self._verified: set[tuple[object, ...]] = set()

    @classmethod
    def create(cls, folder: Path, state: VectorState) -> "VectorStore":
        """Create an empty store."""
        with writing(folder):
            folder.mkdir()
            for name in state.row_bytes:
                (folder / name).touch()
            write_state(folder, state)
        return cls(folder)

    @property
    def state(self) -> VectorState:
        """The committed state."""
        return self._mapped.state

    @property
    def mapped(self) -> "MappedVectors":
        """The committed rows."""
        return self._mapped

    @property
    def is_marked(self) -> bool:
        """Whether a search has found damage."""
        return (self.folder / MARK).exists()

    def mark_corrupt(self) -> None:
        """Have the next writer rebuild the store."""
        with suppress(OSError):  # a full or read-only disk
            (self.folder / MARK).touch()

    def refresh(self, is_own: Callable[[], bool] = lambda: True) -> None:
        """Map later commits of another process.

        Args:
            is_own: whether the folder is still of the same index, once it is mapped.
        """
        if stamp(self.folder) != self._mapped.stamp:
            mapped = self._map()
            if is_own():
                self._mapped = mapped

    def reload(self) -> None:
        """Map the current commit."""
        self._mapped = self._map()

    def _map(self) -> "MappedVectors":
        return map_current(self.folder, partial(MappedVectors, earlier=self._mapped))

    def verify(self) -> "MappedVectors":
        """Return the rows; refuse corrupt bits and places, which are read once."""
        mapped = self._mapped
        for chunk in range(len(mapped.state.bits_checksums)):
            key = mapped.get_key(chunk)
            if key not in self._verified:
                mapped.verify(chunk)
                self._verified.add(key)
        return mapped

    def search(self, question: Matrix, limit: int, allowed: NDArray[np.bool_]) -> Nearest:
        """Return the sentences nearest to a question's vector whose cosine is above 0.

        Args:
            limit: at most so many.
            allowed: which documents are searched, by number.

        Raises:
            StoreError: bits or places are corrupt.
        """
        return self.verify().search(question, limit, allowed)

    def find_damage(self) -> list[str]:
        """Return the problems of the rows, all of which are read."""
        self._verified.clear()
        try:
            mapped = self.verify()
        except StoreError as error:
            return [str(error)]
        chunks = (slice(at, at + CHUNK) for at in range(0, mapped.state.rows, CHUNK))
        damaged = sum(int((~mapped.are_whole(chunk)).sum()) for chunk in chunks)
        return [f"{self.folder}: {damaged} rows are corrupt"] if damaged else []


class MappedVectors:
    """The files of one state; a later state is another object, so that threads agree."""

    def __init__(self, folder: Path, *, earlier: "MappedVectors | None" = None) -> None:
        self.folder = folder
        self.stamp = stamp(folder)
        self.state = state = read_state(folder, VectorState, FORMAT)
        self._inode = get_inode(folder, "rows")  # before it is mapped, so that it is never later
        data = {
            name: map_file(folder, name, state.rows * size).reshape(state.rows, size)
            for name, size in state.row_bytes.items()
        }
        self.rows = data["rows"]
        # A search reads rows in thousands of pages, each of which takes microseconds to map.
        first = earlier.first if earlier and earlier._inode == self._inode else self.rows
        is_most = len(first) <= len(self.rows) <= (1 + MAX_LATER) * len(first)
        self.first: Bytes = first if is_most else self.rows
        """The first rows, or all of them, in memory that an earlier state has mapped."""
        self.bits: NDArray[np.uint64] = data["bits"].view("<u8")
        self.places: NDArray[np.uint32] = data["places"].view("<u4")

    def get_key(self, chunk: int) -> tuple[object, ...]:
        """Identify the content of a chunk."""
        state = self.state
        rows = min(state.rows, (chunk + 1) * CHUNK)
        return chunk, rows, state.bits_checksums[chunk], state.places_checksums[chunk]

    def verify(self, chunk: int) -> None:
        """Refuse a chunk whose checksums do not match."""
        own = slice(chunk * CHUNK, (chunk + 1) * CHUNK)
        for name, data, checksums in (
            ("bits", self.bits, self.state.bits_checksums),
            ("places", self.places, self.state.places_checksums),
        ):
            if zlib.crc32(data[own].data) != checksums[chunk]:
                raise corrupt(self.folder, f"the checksum of {name} does not match")

    def are_whole(self, rows: Ids | slice) -> NDArray[np.bool_]:
        """Return whether the checksum of each row matches."""
        chosen = np.ascontiguousarray(self.rows[rows])
        stored = np.ascontiguousarray(chosen[:, -4:]).view("<u4")[:, 0]
        checksums = np.fromiter(map(zlib.crc32, chosen[:, :-4]), np.uint32, len(chosen))
        whole: NDArray[np.bool_] = checksums == stored
        return whole

    def search(self, question: Matrix, limit: int, allowed: NDArray[np.bool_]) -> Nearest:
        """Return the sentences nearest to a question's vector (`VectorStore.search`)."""
        if limit < 1 or not self.state.rows or not allowed.any() or not question.any():
            return Nearest({}, 0)
        code = encode_question(question)
        rows = choose_rows(self.bits, self.places, allowed, code, limit)
        later = int(np.searchsorted(rows, len(self.first)))
        parts = (self.first, rows[:later]), (self.rows, rows[later:])
        scores = np.concatenate([score_rows(data, own, code) for data, own in parts])
        scores = np.nan_to_num(scores, nan=np.inf)  # corrupt, and so to be found below
        enough = min(limit, len(scores))
        near = np.flatnonzero(scores >= np.partition(scores, -enough)[-enough]) if enough else rows
        # Rows are in the order of their places, which decides between equal scores.
        best = near[np.argsort(-scores[near], kind="stable")][:limit]
        best = best[scores[best] > 0]
        whole = best[self.are_whole(rows[best])]
        places = map(tuple, self.places[rows[whole]].tolist())
        cosines = dict(zip(places, scores[whole].tolist(), strict=True))
        return Nearest(cosines, len(best) - len(whole))


class VectorWriter:
    """Appends rows to a store; nothing is visible before it is committed.

    The caller holds the index's lock.
    """

    def __init__(self, store: VectorStore) -> None:
        self._store = store
        store.reload()
        self._state = state = store.state
        self._rows, self._dead = state.rows, state.dead
        self._files: dict[str, IO[bytes]] = {}
        with writing(store.folder), ExitStack() as stack:
            for name, size in state.row_bytes.items():
                file = stack.enter_context((store.folder / name).open("r+b"))
                file.truncate(state.rows * size)
                file.seek(state.rows * size)
                self._files[name] = file
            stack.pop_all()

    @property
    def rows(self) -> int:
        """How many rows there are, uncommitted ones included."""
        return self._rows

    def add(self, number: int, positions: Sequence[int], vectors: Matrix) -> None:
        """Add sentences of a document in their order."""
        places = np.column_stack([np.full(len(positions), number), positions])
        codes = encode_vectors(vectors)
        self._write(codes.bits, places.astype("<u4"), _to_rows(codes))

    def copy(self, source: "MappedVectors", rows: NDArray[np.int64]) -> None:
        """Add rows of another store of the same encoder, as they are."""
        self._write(source.bits[rows], source.places[rows], source.rows[rows])

    def remove(self, numbers: Iterable[int]) -> None:
        """Count the committed rows of removed documents as dead."""
        stored = self._store.mapped.places[:, 0]
        # Rows are in the order of document numbers.
        self._dead += sum(
            bisect_right(stored, number) - bisect_left(stored, number) for number in numbers
        )

    def set_dead(self, dead: int) -> None:
        """Set the number of dead rows, where all were counted again."""
        self._dead = dead

    def roll_back(self, rows: int) -> None:
        """Drop the rows after so many; committed rows stay."""
        assert rows >= self._state.rows, "committed rows are permanent"
        with writing(self._store.folder):
            for name, size in self._state.row_bytes.items():
                self._files[name].seek(rows * size)
                self._files[name].truncate()
        self._rows = rows

    def commit(self, generation: int | None = None) -> None:
        """Commit all rows so far, and the generation of SQLite that they have followed."""
        with writing(self._store.folder):
            if self._rows > self._state.rows:
                for file in self._files.values():
                    sync(file)
            self._state = replace(
                self._state,
                generation=self._state.generation if generation is None else generation,
                rows=self._rows,
                dead=self._dead,
                bits_checksums=self._extend("bits", self._state.bits_checksums),
                places_checksums=self._extend("places", self._state.places_checksums),
            )
            write_state(self._store.folder, self._state)
        self._store.reload()

    def close(self) -> None:
        """Close the files; uncommitted rows are dropped by the next writer."""
        for file in self._files.values():
            with suppress(OSError):  # a full disk: what is buffered was never committed
                file.close()

    def _write(self, bits: NDArray[np.generic], places: NDArray[np.uint32], rows: Bytes) -> None:
        data = {"bits": bits, "places": places, "rows": rows}
        with writing(self._store.folder):
            for name, file in self._files.items():
                file.write(data[name].tobytes())
        self._rows += len(places)

    def _extend(self, name: str, checksums: list[int]) -> list[int]:
        """Return the checksums of a file's chunks, of which all but the new rows are known."""
        size, known = self._state.row_bytes[name], self._state.rows
        extended = list(checksums)
        file = self._files[name]
        file.seek(known * size)
        for first in _split(known, self._rows):
            if first % CHUNK == 0:
                extended.append(0)
            stop = min(self._rows, first - first % CHUNK + CHUNK)
            extended[-1] = zlib.crc32(file.read((stop - first) * size), extended[-1])
        return extended


def _split(first: int, stop: int) -> list[int]:
    """Return where the parts of a range of rows begin that are in one chunk each."""
    return [first, *range(first - first % CHUNK + CHUNK, stop, CHUNK)] if first < stop else []


def _to_rows(codes: Codes) -> Bytes:
    """Return the numbers of vectors with their scales and checksums."""
    width = codes.numbers.shape[1]
    rows = np.empty((len(codes.numbers), width + TAIL), dtype=np.uint8)
    rows[:, :width] = codes.numbers.view(np.uint8)
    rows[:, width:-4] = codes.scales.astype("<f4")[:, None].view(np.uint8)
    checksums = [zlib.crc32(row.data) for row in rows[:, :-4]]
    rows[:, -4:] = np.array(checksums, dtype="<u4")[:, None].view(np.uint8)
    return rows
