"""What was made of sentences, in a folder: rows of bytes, found by document and position.

    state.json   who made it, the generation it has followed, and how many bytes of rows count
    rows         a block per document, one after another; mapped into memory, never rewritten
    places       where each document's block begins, 8 bytes per document number; 0 for none

A block is the document's number (8 bytes), how many sentences it has (4), how many stand before
it in the store (4); of each sentence where its rows end, counted in rows, and the CRC-32 of
them (4 each); then the rows.  Low bytes come first, blocks begin at multiples of 8.  A
sentence of which nothing is needed has no rows.

What counts is what `state.json` says, which is replaced in one step after all else is on
disk: a crash leaves rows that do not count, and the next writer writes over them.  Opening
maps two files and reads no rows; the sum of each sentence is checked when it is first read.
"""

import logging
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

import numpy as np

from rejoinder.errors import StoreError
from rejoinder.index.mapped_rows import MAGIC, MappedRows, sum_rows
from rejoinder.index.row_state import State, stamp, sync, write_state
from rejoinder.runtime.stored_rows import Bytes, Places, StoredRows

log = logging.getLogger(__name__)


class RowStore:
    """The rows of one folder; many may read, from many threads, while one writes."""

    def __init__(self, folder: Path) -> None:
        """Open a store.

        Raises:
            StoreError: it is torn, cut short, or of another format.
        """
        self.folder = folder
        self._has_warned = False
        self._mapped = MappedRows(folder)

    @classmethod
    def create(cls, folder: Path, *, bundle: str, hash_: str, row_bytes: int) -> "RowStore":
        """Make an empty store.

        Raises:
            StoreError: it cannot be written.
        """
        with _writing(folder):
            folder.mkdir(parents=True)
            (folder / "rows").write_bytes(MAGIC)
            (folder / "places").write_bytes(b"\0" * 8)
            write_state(folder, State(bundle, hash_, row_bytes, size=len(MAGIC)))
        return cls(folder)

    @property
    def state(self) -> State:
        """What the store says about itself."""
        return self._mapped.state

    def __contains__(self, number: int) -> bool:
        return self._mapped.has(number)

    def list_documents(self) -> list[int]:
        """Return the numbers of all documents that are stored."""
        return [number for number in np.flatnonzero(self._mapped.places).tolist() if number in self]

    def find(self, documents: Places, positions: Places) -> StoredRows:
        """Return where the rows of sentences stand; damaged ones count as not stored."""
        mapped = self._follow()
        found = mapped.locate(documents, positions)
        is_new = (found.lengths != 0) & ~mapped.checked[found.ordinals]
        for place in np.flatnonzero(is_new).tolist():
            if mapped.is_whole(found, place):
                mapped.checked[found.ordinals[place]] = True
            else:
                found.lengths[place] = 0
                self._warn()
        return StoredRows(mapped.rows, mapped.state.row_bytes, found.starts, found.lengths)

    def find_document(self, number: int) -> Bytes | None:
        """Return the rows of all sentences of a document, one after another, as they are mapped.

        None where it is not stored, or a sentence has no rows or damaged ones.
        """
        mapped = self._follow()
        positions = np.arange(mapped.count(number))
        found = self.find(np.full(len(positions), number), positions)
        if not len(positions) or not found.lengths.all():
            return None
        start, size = int(found.starts[0]), int(found.lengths.sum()) * found.row_bytes
        return found.data[start : start + size].reshape(-1, found.row_bytes)

    def read_block(self, number: int) -> list[Bytes]:
        """Return the rows of each sentence of a document.

        Raises:
            StoreError: they are not as they were written.
        """
        mapped = self._mapped
        positions = np.arange(mapped.count(number))
        found = mapped.locate(np.full(len(positions), number), positions)
        if not all(mapped.is_whole(found, place) for place in positions.tolist()):
            raise StoreError(f"{self.folder}: document {number} is damaged")
        return [mapped.read(found, place) for place in positions.tolist()]

    def find_damage(self) -> list[str]:
        """Return what is wrong with the rows, one line per document."""
        problems = []
        for number in self.list_documents():
            try:
                self.read_block(number)
            except StoreError as error:
                problems.append(f"{error}; compact the index")
        return problems

    @contextmanager
    def changing(self) -> Iterator["RowWriter"]:
        """Give what adds and removes; call its `commit`, else nothing counts.

        Raises:
            StoreError: it cannot be written; what was committed still counts.
        """
        with (
            _writing(self.folder),
            (self.folder / "rows").open("r+b") as rows,
            (self.folder / "places").open("r+b") as places,
        ):
            rows.truncate(self.state.size)
            yield RowWriter(self, rows, places)

    def reload(self) -> None:
        """See what was committed since."""
        self._mapped = MappedRows(self.folder)

    def _follow(self) -> MappedRows:
        """Return what counts now: another process may have committed."""
        if stamp(self.folder) != self._mapped.stamp:
            # Where it is being replaced, what is mapped stays right: numbers are used once.
            with suppress(StoreError):
                self.reload()
        return self._mapped

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: what is stored of a sentence is damaged, and counts as not stored;"
                " 'rejoinder index check' lists all, 'compact' mends them",
                self.folder,
            )


class RowWriter:
    """Appends to a store; nothing counts before it is committed."""

    def __init__(self, store: RowStore, rows: IO[bytes], places: IO[bytes]) -> None:
        self._store = store
        self._rows, self._places = rows, places
        self._size, self._sentences = store.state.size, store.state.sentences
        self._changed: dict[int, int] = {}

    def add(self, number: int, sentences: Sequence[Bytes]) -> None:
        """Add a document: the rows of each of its sentences."""
        ends = np.cumsum([len(rows) for rows in sentences], dtype="<u4")
        sums = np.array([sum_rows(np.ascontiguousarray(rows)) for rows in sentences], dtype="<u4")
        head = struct.pack("<QII", number, len(sentences), self._sentences)
        rows = np.concatenate([np.empty(0, np.uint8), *(item.ravel() for item in sentences)])
        block = b"".join([head, ends.tobytes(), sums.tobytes(), rows.tobytes()])
        self._rows.seek(self._size)
        self._rows.write(block + b"\0" * (-len(block) % 8))
        self._changed[number] = self._size
        self._size += len(block) + -len(block) % 8
        self._sentences += len(sentences)

    def remove(self, number: int) -> None:
        """Forget a document; its rows stay on disk until the store is written anew."""
        if number in self._store:
            self._changed[number] = 0

    def commit(self, generation: int | None = None) -> None:
        """Make all changes so far count, and say which generation they have followed."""
        sync(self._rows)
        for number, place in sorted(self._changed.items()):
            self._places.seek(8 * number)
            self._places.write(place.to_bytes(8, "little"))
        sync(self._places)
        state = self._store.state
        followed = state.generation if generation is None else generation
        written = replace(state, generation=followed, size=self._size, sentences=self._sentences)
        write_state(self._store.folder, written)
        self._changed.clear()
        self._store.reload()


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written ({error.strerror or error}); the documents are kept,"
            " add them again to go on"
        ) from error
