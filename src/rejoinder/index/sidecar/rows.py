"""A row store: a folder with rows of bytes, found by document number and position.

    state.json   the bundle, the generation it has followed, and the committed size of each file
    rows-1       one block per document, one after another; memory-mapped and append-only
    places-1     the offset of each document's block, 8 bytes per document number; 0 for none

A block is a header and the rows.  The header: the document number, the number of its sentences,
the number of sentences before it in the store, and the CRC-32 of the rest of the header; then the
end of each sentence's rows, counted in rows; then the CRC-32 of each sentence's rows.  Each of
these takes 4 bytes, little-endian, and blocks are aligned to 8 bytes.  A sentence may have no rows.

A commit replaces `state.json` atomically after everything else is on disk: a crash leaves
uncommitted rows, which the next writer overwrites.  Rewriting a store creates files of the next
edition, which replace the old ones in the same way.  Opening maps two files and reads no rows; the
checksum of each header and sentence is verified when it is first read.
"""

import logging
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import StoreError
from rejoinder.index.state import (
    corrupt,
    map_current,
    map_file,
    read_state,
    stamp,
    sync,
    write_state,
    writing,
)
from rejoinder.models.scorer import Places
from rejoinder.models.sidecar import Bytes, StoredRows

log = logging.getLogger(__name__)

MAGIC = b"rejoindr" + b"\0" * 8
"""The first bytes of the rows, so that no block is at offset 0."""
HEADER = 16
FORMAT = 2


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


class RowStore:
    """The rows of one folder; many threads and processes may read while one writes."""

    def __init__(self, folder: Path, *, is_own: Callable[[], bool] = lambda: True) -> None:
        """Map the rows.

        Args:
            is_own: whether the folder is still of the same index, once it is mapped again.
        """
        self.folder = folder
        self._is_own = is_own
        self._has_warned = False
        self._mapped = map_current(folder, MappedRows)

    @classmethod
    def create(cls, folder: Path, *, bundle: str, hash_: str, row_bytes: int) -> "RowStore":
        """Create an empty store."""
        part = folder.with_name(f".{folder.name}")
        with writing(folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            state = State(bundle, hash_, row_bytes, size=len(MAGIC))
            _create_files(part, state)
            write_state(part, state)
            part.rename(folder)
        return cls(folder)

    @property
    def state(self) -> State:
        """The committed state."""
        return self._mapped.state

    def __contains__(self, number: int) -> bool:
        return self._mapped.has(number)

    def list_documents(self) -> list[int]:
        """Return the numbers of all documents that are stored."""
        return self._mapped.list_documents()

    def find(self, documents: Places, positions: Places) -> StoredRows:
        """Return the rows of sentences; corrupt ones count as not stored."""
        mapped = self._follow()
        located = mapped.locate(documents, positions)
        is_new = (located.lengths != 0) & ~mapped.checked[located.ordinals]
        for place in np.flatnonzero(is_new).tolist():
            if mapped.is_whole(located, place):
                mapped.checked[located.ordinals[place]] = True
            else:
                located.lengths[place] = 0
                self._warn()
        return StoredRows(mapped.rows, mapped.state.row_bytes, located.starts, located.lengths)

    def find_document(self, number: int) -> Bytes | None:
        """Return the memory-mapped rows of all sentences of a document, one after another.

        None where it is not stored, or where a sentence has no rows or corrupt ones.
        """
        positions = np.arange(self._follow().count(number))
        rows = self.find(np.full(len(positions), number), positions)
        if not len(positions) or not rows.lengths.all():
            return None
        start, size = int(rows.starts[0]), int(rows.lengths.sum()) * rows.row_bytes
        return rows.data[start : start + size].reshape(-1, rows.row_bytes)

    def read_block(self, number: int) -> list[Bytes]:
        """Return the rows of each sentence of a document; refuse those that are corrupt."""
        mapped = self._mapped
        sentences = mapped.count(number)
        positions = np.arange(sentences)
        located = mapped.locate(np.full(len(positions), number), positions)
        are_whole = (mapped.is_whole(located, place) for place in positions.tolist())
        if sentences < 0 or not all(are_whole):
            raise StoreError(f"{self.folder}: document {number} is corrupt")
        return [mapped.read(located, place) for place in positions.tolist()]

    def find_damage(self) -> list[str]:
        """Return a line for each document with corrupt rows."""
        problems = []
        for number in self.list_documents():
            try:
                self.read_block(number)
            except StoreError as error:
                problems.append(f"{error}; compact the index")
        return problems

    @contextmanager
    def changing(self) -> Iterator["RowWriter"]:
        """Yield a writer, whose changes count from its `commit` on; the index's lock is held."""
        with writing(self.folder):
            self.reload()  # another process may have committed before the lock was taken
            with self._open_files(self.state) as writer:
                yield writer

    @contextmanager
    def rewriting(self) -> Iterator["RowWriter"]:
        """Yield a writer for a new edition, which replaces the old one with its `commit`."""
        with writing(self.folder):
            self.reload()
            edition = self.state.edition + 1
            empty = replace(self.state, edition=edition, size=len(MAGIC), sentences=0, numbers=1)
            try:
                _create_files(self.folder, empty)
                with self._open_files(empty) as writer:
                    yield writer
            finally:
                current = (self.state.rows, self.state.places)
                for path in self.folder.iterdir():
                    if path.name.startswith(("rows-", "places-")) and path.name not in current:
                        path.unlink()

    def reload(self) -> None:
        """Map later commits."""
        self._mapped = map_current(self.folder, MappedRows)

    @contextmanager
    def _open_files(self, state: State) -> Iterator["RowWriter"]:
        with (
            (self.folder / state.rows).open("r+b") as rows,
            (self.folder / state.places).open("r+b") as places,
        ):
            rows.truncate(state.size)
            places.truncate(8 * state.numbers)
            yield RowWriter(self, state, rows, places)

    def _follow(self) -> "MappedRows":
        """Return the current mapping: another process may have committed."""
        if stamp(self.folder) != self._mapped.stamp:
            # While it is being replaced, the old mapping stays right: numbers are used once.
            with suppress(StoreError):
                mapped = map_current(self.folder, MappedRows)
                if self._is_own():
                    self._mapped = mapped
        return self._mapped

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: the rows of a sentence are corrupt, and count as not stored;"
                " 'rejoinder index check' lists all, 'compact' drops them",
                self.folder,
            )


class RowWriter:
    """Appends to a store; nothing is visible before it is committed."""

    def __init__(self, store: RowStore, state: State, rows: IO[bytes], places: IO[bytes]) -> None:
        self._store = store
        self._state = state
        self._rows, self._places = rows, places
        self._size, self._sentences = state.size, state.sentences
        self._changed: dict[int, int] = {}

    def add(self, number: int, sentences: Sequence[Bytes]) -> None:
        """Add a document: the rows of each of its sentences."""
        ends = np.cumsum([len(rows) for rows in sentences], dtype="<u4").tobytes()
        checksums = [checksum_rows(np.ascontiguousarray(rows)) for rows in sentences]
        table = ends + np.array(checksums, dtype="<u4").tobytes()
        numbers = struct.pack("<III", number, len(sentences), self._sentences)
        header = numbers + struct.pack("<I", checksum_header(numbers, table)) + table
        block = b"".join([header, *(rows.tobytes() for rows in sentences)])
        self._rows.seek(self._size)
        self._rows.write(block + b"\0" * (-len(block) % 8))
        self._changed[number] = self._size
        self._size += len(block) + -len(block) % 8
        self._sentences += len(sentences)

    def remove(self, number: int) -> None:
        """Remove a document; its rows stay on disk until the store is rewritten."""
        if number in self._store:
            self._changed[number] = 0

    def commit(self, generation: int | None = None) -> None:
        """Commit all changes so far, and the generation that they have followed."""
        sync(self._rows)
        for number, place in sorted(self._changed.items()):
            self._places.seek(8 * number)
            self._places.write(place.to_bytes(8, "little"))
        sync(self._places)
        self._state = replace(
            self._state,
            generation=self._state.generation if generation is None else generation,
            size=self._size,
            sentences=self._sentences,
            numbers=max(self._state.numbers, 1 + max(self._changed, default=0)),
        )
        write_state(self._store.folder, self._state)
        self._changed.clear()
        self._store.reload()


def _create_files(folder: Path, state: State) -> None:
    """Create the files of an empty store."""
    (folder / state.rows).write_bytes(MAGIC)
    (folder / state.places).write_bytes(b"\0" * 8 * state.numbers)


class MappedRows:
    """The files of one state; a later state is another object, so that threads agree."""

    def __init__(self, folder: Path) -> None:
        self.stamp = stamp(folder)
        self.state = read_state(folder, State, FORMAT)
        self.rows = map_file(folder, self.state.rows, self.state.size)
        places = map_file(folder, self.state.places, 8 * self.state.numbers)
        self.words: NDArray[np.uint32] = self.rows.view("<u4")
        self.places: NDArray[np.int64] = places.view("<i8")
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
        checksums = self.words[np.where(is_here, at + counts, 0)].astype(np.int64)
        starts = blocks + HEADER + 8 * counts + begins * self.state.row_bytes
        is_corrupt = (blocks > 0) & ~is_whole
        return Located(
            np.where(is_here, starts, 0),
            np.where(is_here, ends - begins, np.where(is_corrupt, -1, 0)),
            checksums,
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
        checksum = checksum_header(
            self.rows[block : block + 12].data, self.rows[block + HEADER : stop].data
        )
        return checksum == int(self.words[block // 4 + 3])

    def is_whole(self, located: "Located", place: int) -> bool:
        """Return whether the checksum of a sentence's rows is correct."""
        return bool(located.lengths[place] >= 0) and (
            checksum_rows(self.read(located, place)) == located.checksums[place]
        )

    def read(self, located: "Located", place: int) -> Bytes:
        """Return the rows of a sentence."""
        start, length = int(located.starts[place]), int(located.lengths[place])
        rows = self.rows[start : start + length * self.state.row_bytes]
        return rows.reshape(length, self.state.row_bytes)


class Located(NamedTuple):
    """The places of sentences, one number per sentence."""

    starts: Places
    lengths: Places
    checksums: Places
    ordinals: Places
    """How many sentences precede it in the store; -1 where it is missing."""


def checksum_rows(rows: Bytes) -> int:
    """Return the checksum of rows."""
    return zlib.crc32(rows.data)


def checksum_header(numbers: bytes | memoryview, ends_and_sums: bytes | memoryview) -> int:
    """Return the checksum of a block's header."""
    return zlib.crc32(ends_and_sums, zlib.crc32(numbers))
