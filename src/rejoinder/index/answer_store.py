"""Answers as they were encoded, in a folder: rows of bytes, found by document and position.

    state.json   who made it, the generation it has followed, and how many bytes of rows count
    rows         a block per document, one after another; mapped into memory, never rewritten
    places       where each document's block begins, 8 bytes per document number; 0 for none

A block is the document's number (8 bytes), how many sentences it has (4), how many stand before
it in the store (4); of each sentence where its rows end, counted in rows, and the CRC-32 of
them (4 each); then the rows.  Low bytes come first, blocks begin at multiples of 8.  A
sentence that is never a candidate has no rows.

What counts is what `state.json` says, which is replaced in one step after all else is on
disk: a crash leaves rows that do not count, and the next writer writes over them.  Opening
maps two files and reads no answer; each answer's sum is checked when it is first read.
"""

import logging
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import StoreError
from rejoinder.index.answer_state import State, read_state, stamp, sync, torn, write_state
from rejoinder.runtime.stored_rows import Bytes, Places, StoredRows

MAGIC = b"rejoindr" + b"\0" * 8
"""At the beginning of the rows, so that no block has place 0."""
HEADER = 16

log = logging.getLogger(__name__)


class AnswerStore:
    """The answers of one folder; many may read, from many threads, while one writes."""

    def __init__(self, folder: Path) -> None:
        """Open a store.

        Raises:
            StoreError: it is torn, cut short, or of another format.
        """
        self.folder = folder
        self._has_warned = False
        self._mapped = _Mapped(folder)

    @classmethod
    def create(cls, folder: Path, *, bundle: str, hash_: str, row_bytes: int) -> "AnswerStore":
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

    def read_block(self, number: int) -> list[Bytes]:
        """Return the rows of each sentence of a document.

        Raises:
            StoreError: they are not as they were written.
        """
        mapped = self._mapped
        count = int(mapped.words[int(mapped.places[number]) // 4 + 2])
        positions = np.arange(min(count, mapped.state.sentences))
        found = mapped.locate(np.full(len(positions), number), positions)
        if not all(mapped.is_whole(found, place) for place in positions.tolist()):
            raise StoreError(f"{self.folder}: document {number} is damaged")
        return [mapped.read(found, place) for place in positions.tolist()]

    def find_damage(self) -> list[str]:
        """Return what is wrong with the stored answers, one line per document."""
        problems = []
        for number in self.list_documents():
            try:
                self.read_block(number)
            except StoreError as error:
                problems.append(f"{error}; compact the index")
        return problems

    @contextmanager
    def changing(self) -> Iterator["AnswerWriter"]:
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
            yield AnswerWriter(self, rows, places)

    def reload(self) -> None:
        """See what was committed since."""
        self._mapped = _Mapped(self.folder)

    def _follow(self) -> "_Mapped":
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
                "%s: a stored answer is damaged, and counts as not stored;"
                " 'rejoinder index check' lists all, 'compact' mends them",
                self.folder,
            )


class _Mapped:
    """The files as one state has them; a later state is another object, so that threads agree."""

    def __init__(self, folder: Path) -> None:
        self.stamp = stamp(folder)
        self.state = read_state(folder)
        self.rows = _map(folder, "rows", self.state.size)
        self.words: NDArray[np.uint32] = self.rows.view("<u4")
        self.places: NDArray[np.int64] = _map(folder, "places").view("<i8")
        # Which answers were found to be whole; the last one stands for what is not there.
        self.checked = np.zeros(self.state.sentences + 1, dtype=np.bool_)
        if bytes(self.rows[: len(MAGIC)]) != MAGIC:
            raise torn(folder, "its rows are not rows")

    def has(self, number: int) -> bool:
        """Return whether a document is stored."""
        if number >= len(self.places):
            return False
        place = int(self.places[number])
        if not 0 < place <= self.state.size - HEADER or place % 8:
            return False
        # A crash may leave a place that another document's block has taken since.
        return int(self.words[place // 4]) == number

    def locate(self, documents: Places, positions: Places) -> "_Located":
        """Return where sentences stand; their length is -1 where what is there cannot be."""
        size, row_bytes = self.state.size, self.state.row_bytes
        blocks = np.zeros(len(documents), dtype=np.int64)
        known = (documents >= 0) & (documents < len(self.places))
        blocks[known] = self.places[documents[known]]
        blocks[(blocks < 0) | (blocks > size - HEADER)] = 0
        heads = blocks // 4
        counts, before = (self.words[heads + at].astype(np.int64) for at in (2, 3))
        is_here = (blocks > 0) & (positions < counts)
        is_whole = (blocks % 8 == 0) & (self.words[heads] == documents)
        is_whole &= blocks + HEADER + 8 * counts <= size
        is_whole &= before + counts <= self.state.sentences
        usable = is_here & is_whole
        at = np.where(usable, heads + HEADER // 4 + positions, 0)
        ends = self.words[at].astype(np.int64)
        begins = np.where(positions > 0, self.words[np.maximum(at - 1, 0)], 0).astype(np.int64)
        sums = self.words[np.where(usable, at + counts, 0)].astype(np.int64)
        starts = blocks + HEADER + 8 * counts + begins * row_bytes
        lengths = ends - begins
        fits = usable & (lengths >= 0) & (starts + lengths * row_bytes <= size)
        return _Located(
            np.where(fits, starts, 0),
            np.where(fits, lengths, np.where(is_here, -1, 0)),
            sums,
            np.where(fits, before + positions, -1),
        )

    def is_whole(self, found: "_Located", place: int) -> bool:
        """Return whether an answer is as it was written."""
        return bool(found.lengths[place] >= 0) and (
            _sum(self.read(found, place)) == found.sums[place]
        )

    def read(self, found: "_Located", place: int) -> Bytes:
        """Return the rows of an answer."""
        start, length = int(found.starts[place]), int(found.lengths[place])
        rows = self.rows[start : start + length * self.state.row_bytes]
        return rows.reshape(length, self.state.row_bytes)


def _map(folder: Path, name: str, size: int | None = None) -> Bytes:
    """Return a file, or its first bytes, mapped into memory; 8 bytes at least."""
    path = folder / name
    try:
        found = path.stat().st_size
        size = found - found % 8 if size is None else size
        if found < size or size < 8:
            raise torn(folder, f"{name} is cut short")
        return np.asarray(np.memmap(path, np.uint8, mode="r", shape=(size,)))
    except (OSError, ValueError) as error:
        raise torn(folder, f"{name} cannot be read") from error


class _Located(NamedTuple):
    """Where sentences stand, one number per sentence."""

    starts: Places
    lengths: Places
    sums: Places
    ordinals: Places
    """How many sentences stand before it in the store; -1 where there is none."""


class AnswerWriter:
    """Appends to a store; nothing counts before it is committed."""

    def __init__(self, store: AnswerStore, rows: IO[bytes], places: IO[bytes]) -> None:
        self._store = store
        self._rows, self._places = rows, places
        self._size, self._sentences = store.state.size, store.state.sentences
        self._changed: dict[int, int] = {}

    def add(self, number: int, answers: Sequence[Bytes]) -> None:
        """Add a document: the rows of each of its sentences."""
        ends = np.cumsum([len(rows) for rows in answers], dtype="<u4")
        sums = np.array([_sum(np.ascontiguousarray(rows)) for rows in answers], dtype="<u4")
        head = struct.pack("<QII", number, len(answers), self._sentences)
        rows = np.concatenate([np.empty(0, np.uint8), *(item.ravel() for item in answers)])
        block = b"".join([head, ends.tobytes(), sums.tobytes(), rows.tobytes()])
        self._rows.seek(self._size)
        self._rows.write(block + b"\0" * (-len(block) % 8))
        self._changed[number] = self._size
        self._size += len(block) + -len(block) % 8
        self._sentences += len(answers)

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


def _sum(rows: Bytes) -> int:
    return zlib.crc32(rows.data)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: answers cannot be stored ({error.strerror or error}); the documents are"
            " kept, add them again to go on"
        ) from error
