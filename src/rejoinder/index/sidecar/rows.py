"""What was made of sentences, in a folder: rows of bytes, found by document and position.

    state.json   who made it, the generation it has followed, and how much of which files counts
    rows-1       a block per document, one after another; mapped into memory, only appended to
    places-1     where each document's block begins, 8 bytes per document number; 0 for none

A block is its head and the rows.  The head: the document's number, how many sentences it has, how
many stand before it in the store, and the CRC-32 of all the rest of the head; then of each sentence
where its rows end, counted in rows; then of each the CRC-32 of its rows.  All of these take 4
bytes, low bytes first, and blocks begin at multiples of 8.  A sentence of which nothing is
needed has no rows.

What counts is what `state.json` says, which is replaced in one step after all else is on
disk: a crash leaves rows that do not count, and the next writer writes over them.  A store that is
written anew gets files of the next edition, which count from that step on.  Opening maps two
files and reads no rows; the sum of each head and sentence is checked when it is first read.
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
    sum_head,
    sum_rows,
    sync,
    write_state,
)
from rejoinder.models.sidecar import Bytes, Places, StoredRows

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
        self._mapped = _map(folder)

    @classmethod
    def create(cls, folder: Path, *, bundle: str, hash_: str, row_bytes: int) -> "RowStore":
        """Make an empty store.

        Raises:
            StoreError: it cannot be written.
        """
        part = folder.with_name(f".{folder.name}")
        with _writing(folder):
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            state = State(bundle, hash_, row_bytes, size=len(MAGIC))
            _begin(part, state)
            write_state(part, state)
            part.rename(folder)
        return cls(folder)

    @property
    def state(self) -> State:
        """What the store says about itself."""
        return self._mapped.state

    def __contains__(self, number: int) -> bool:
        return self._mapped.has(number)

    def list_documents(self) -> list[int]:
        """Return the numbers of all documents that are stored."""
        return self._mapped.list_documents()

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
        positions = np.arange(self._follow().count(number))
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
        sentences = mapped.count(number)
        positions = np.arange(sentences)
        found = mapped.locate(np.full(len(positions), number), positions)
        are_whole = (mapped.is_whole(found, place) for place in positions.tolist())
        if sentences < 0 or not all(are_whole):
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

        The lock of the index is held.

        Raises:
            StoreError: it is torn, or cannot be written; what was committed still counts.
        """
        with _writing(self.folder):
            self.reload()  # another may have committed before the lock was had
            with self._open_files(self.state) as writer:
                yield writer

    @contextmanager
    def rewriting(self) -> Iterator["RowWriter"]:
        """Give what writes the store anew; what it has counts until `commit` is called.

        The lock of the index is held.

        Raises:
            StoreError: it is torn, or cannot be written; what it has still counts.
        """
        with _writing(self.folder):
            self.reload()
            edition = self.state.edition + 1
            empty = replace(self.state, edition=edition, size=len(MAGIC), sentences=0, numbers=1)
            try:
                _begin(self.folder, empty)
                with self._open_files(empty) as writer:
                    yield writer
            finally:
                self._drop_other_editions()

    def reload(self) -> None:
        """See what was committed since.

        Raises:
            StoreError: it is torn.
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
        counting = (self.state.rows, self.state.places)
        for path in self.folder.iterdir():
            if path.name.startswith(("rows-", "places-")) and path.name not in counting:
                path.unlink()

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
        told = ends + np.array(sums, dtype="<u4").tobytes()
        numbers = struct.pack("<III", number, len(sentences), self._sentences)
        head = numbers + struct.pack("<I", sum_head(numbers, told)) + told
        block = b"".join([head, *(rows.tobytes() for rows in sentences)])
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
    """Return what counts now, also where the files are just being replaced by others."""
    while True:
        seen = stamp(folder)
        try:
            return MappedRows(folder)
        except StoreError:
            if stamp(folder) == seen:
                raise


def _begin(folder: Path, state: State) -> None:
    """Make the files of an empty store."""
    (folder / state.rows).write_bytes(MAGIC)
    (folder / state.places).write_bytes(b"\0" * 8 * state.numbers)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written ({error.strerror or error}); the documents, and what"
            " was stored of them, are kept"
        ) from error
