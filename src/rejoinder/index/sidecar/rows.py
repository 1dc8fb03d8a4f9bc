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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from rejoinder.errors import StoreError
from rejoinder.index.sidecar.files import (
    MAGIC,
    MappedRows,
    State,
    stamp,
    sum_header,
    sum_rows,
    sync,
    write_state,
)
from rejoinder.models.sidecar import Bytes, Places, StoredRows

log = logging.getLogger(__name__)


class RowStore:
    """The rows of one folder; many threads and processes may read while one writes."""

    def __init__(self, folder: Path) -> None:
        """Open a store.

        Raises:
            StoreError: it is corrupt, truncated, or of another format.
        """
        self.folder = folder
        self._has_warned = False
        self._mapped = _map(folder)

    @classmethod
    def create(cls, folder: Path, *, bundle: str, hash_: str, row_bytes: int) -> "RowStore":
        """Create an empty store.

        Raises:
            StoreError: it cannot be written.
        """
        part = folder.with_name(f".{folder.name}")
        with _writing(folder):
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
        """Return the rows of each sentence of a document.

        Raises:
            StoreError: their checksums do not match.
        """
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
        """Yield a writer that adds and removes; changes are kept when its `commit` is called.

        The lock of the index is held.

        Raises:
            StoreError: it is corrupt, or cannot be written; committed rows are kept.
        """
        with _writing(self.folder):
            self.reload()  # another process may have committed before the lock was taken
            with self._open_files(self.state) as writer:
                yield writer

    @contextmanager
    def rewriting(self) -> Iterator["RowWriter"]:
        """Yield a writer for a new edition, which replaces the old one when `commit` is called.

        The lock of the index is held.

        Raises:
            StoreError: it is corrupt, or cannot be written; the old edition is kept.
        """
        with _writing(self.folder):
            self.reload()
            edition = self.state.edition + 1
            empty = replace(self.state, edition=edition, size=len(MAGIC), sentences=0, numbers=1)
            try:
                _create_files(self.folder, empty)
                with self._open_files(empty) as writer:
                    yield writer
            finally:
                self._drop_other_editions()

    def reload(self) -> None:
        """Map later commits.

        Raises:
            StoreError: it is corrupt.
        """
        self._mapped = _map(self.folder)

    @contextmanager
    def _open_files(self, state: State) -> Iterator["RowWriter"]:
        with (
            (self.folder / state.rows).open("r+b") as rows,
            (self.folder / state.places).open("r+b") as places,
        ):
            rows.truncate(state.size)
            places.truncate(8 * state.numbers)
            yield RowWriter(self, state, rows, places)

    def _drop_other_editions(self) -> None:
        current = (self.state.rows, self.state.places)
        for path in self.folder.iterdir():
            if path.name.startswith(("rows-", "places-")) and path.name not in current:
                path.unlink()

    def _follow(self) -> MappedRows:
        """Return the current mapping: another process may have committed."""
        if stamp(self.folder) != self._mapped.stamp:
            # While it is being replaced, the old mapping stays right: numbers are used once.
            with suppress(StoreError):
                self.reload()
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
        sums = [sum_rows(np.ascontiguousarray(rows)) for rows in sentences]
        table = ends + np.array(sums, dtype="<u4").tobytes()
        numbers = struct.pack("<III", number, len(sentences), self._sentences)
        header = numbers + struct.pack("<I", sum_header(numbers, table)) + table
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


def _map(folder: Path) -> MappedRows:
    """Map the committed rows, also while the files are being replaced."""
    while True:
        seen = stamp(folder)
        try:
            return MappedRows(folder)
        except StoreError:
            if stamp(folder) == seen:
                raise


def _create_files(folder: Path, state: State) -> None:
    """Create the files of an empty store."""
    (folder / state.rows).write_bytes(MAGIC)
    (folder / state.places).write_bytes(b"\0" * 8 * state.numbers)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written ({error.strerror or error}); documents and committed"
            " rows are kept"
        ) from error
