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

import json
import logging
import os
import struct
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.data.whole_files import writing_whole
from rejoinder.errors import StoreError
from rejoinder.runtime.stored_rows import Bytes, Places, StoredRows

FORMAT = 1
MAGIC = b"rejoindr" + b"\0" * 8
"""At the beginning of the rows, so that no block has place 0."""
HEADER = 16

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class State:
    """What a store says about itself."""

    bundle: str
    """Where the bundle was that encoded the answers."""
    hash: str
    """What tells that bundle from others."""
    row_bytes: int
    generation: int = 0
    size: int = len(MAGIC)
    """Bytes of rows that count."""
    sentences: int = 0
    """In these bytes, with those that were removed."""
    format: int = FORMAT


class AnswerStore:
    """The answers of one folder; many may read while one writes."""

    def __init__(self, folder: Path) -> None:
        """Open a store.

        Raises:
            StoreError: it is torn, cut short, or of another format.
        """
        self.folder = folder
        self._has_warned = False
        self._open()

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
            _write_state(folder, State(bundle, hash_, row_bytes))
        return cls(folder)

    def __contains__(self, number: int) -> bool:
        if number >= len(self._places):
            return False
        place = int(self._places[number])
        if not 0 < place <= self.state.size - HEADER or place % 8:
            return False
        # A crash may leave a place that another document's block has taken since.
        return int(self._words[place // 4]) == number

    def list_documents(self) -> list[int]:
        """Return the numbers of all documents that are stored."""
        return [number for number in np.flatnonzero(self._places).tolist() if number in self]

    def find(self, documents: Places, positions: Places) -> StoredRows:
        """Return where the rows of sentences stand; damaged ones count as not stored."""
        self._follow()
        found = self._locate(documents, positions)
        lengths = found.lengths
        for place in np.flatnonzero((lengths != 0) & ~self._checked[found.ordinals]).tolist():
            if self._is_whole(found, place):
                self._checked[found.ordinals[place]] = True
            else:
                lengths[place] = 0
                self._warn()
        return StoredRows(self._rows, self.state.row_bytes, found.starts, lengths)

    def read_block(self, number: int) -> list[Bytes]:
        """Return the rows of each sentence of a document.

        Raises:
            StoreError: they are not as they were written.
        """
        count = int(self._words[int(self._places[number]) // 4 + 2])
        positions = np.arange(min(count, self.state.size))
        found = self._locate(np.full(len(positions), number), positions)
        if not all(self._is_whole(found, place) for place in positions.tolist()):
            raise StoreError(f"{self.folder}: document {number} is damaged")
        return [self._read(found, place) for place in positions.tolist()]

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

    def _locate(self, documents: Places, positions: Places) -> "_Located":
        """Return where sentences stand; their length is -1 where what is there cannot be."""
        size, row_bytes = self.state.size, self.state.row_bytes
        blocks = np.zeros(len(documents), dtype=np.int64)
        known = (documents >= 0) & (documents < len(self._places))
        blocks[known] = self._places[documents[known]]
        blocks[(blocks < 0) | (blocks > size - HEADER)] = 0
        heads = blocks // 4
        counts, before = (self._words[heads + at].astype(np.int64) for at in (2, 3))
        is_here = (blocks > 0) & (positions < counts)
        is_whole = (blocks % 8 == 0) & (self._words[heads] == documents)
        is_whole &= blocks + HEADER + 8 * counts <= size
        is_whole &= before + counts <= self.state.sentences
        usable = is_here & is_whole
        at = np.where(usable, heads + 4 + positions, 0)
        ends = self._words[at].astype(np.int64)
        begins = np.where(positions > 0, self._words[np.maximum(at - 1, 0)], 0).astype(np.int64)
        sums = self._words[np.where(usable, at + counts, 0)].astype(np.int64)
        starts = blocks + HEADER + 8 * counts + begins * row_bytes
        lengths = ends - begins
        fits = usable & (lengths >= 0) & (starts + lengths * row_bytes <= size)
        return _Located(
            np.where(fits, starts, 0),
            np.where(fits, lengths, np.where(is_here, -1, 0)),
            sums,
            np.where(fits, before + positions, -1),
        )

    def _is_whole(self, found: "_Located", place: int) -> bool:
        """Return whether an answer is as it was written."""
        return bool(found.lengths[place] >= 0) and (
            _sum(self._read(found, place)) == found.sums[place]
        )

    def _read(self, found: "_Located", place: int) -> Bytes:
        start, length = int(found.starts[place]), int(found.lengths[place])
        rows = self._rows[start : start + length * self.state.row_bytes]
        return rows.reshape(length, self.state.row_bytes)

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s: a stored answer is damaged, and counts as not stored;"
                " 'rejoinder index check' lists all, 'compact' mends them",
                self.folder,
            )

    def _follow(self) -> None:
        """See what a writer has committed since."""
        if _stamp(self.folder) != self._stamp:
            self._open()

    def _open(self) -> None:
        self._stamp = _stamp(self.folder)
        self.state = _read_state(self.folder)
        self._rows = self._map("rows", self.state.size)
        self._words: NDArray[np.uint32] = self._rows.view("<u4")
        size = (self.folder / "places").stat().st_size
        self._places: NDArray[np.int64] = self._map("places", size - size % 8).view("<i8")
        # Which answers were found to be whole; the last one stands for what is not there.
        self._checked = np.zeros(self.state.sentences + 1, dtype=np.bool_)
        if bytes(self._rows[: len(MAGIC)]) != MAGIC:
            raise _torn(self.folder, "its rows are not rows")

    def _map(self, name: str, size: int) -> Bytes:
        path = self.folder / name
        try:
            if path.stat().st_size < size or size < 8:
                raise _torn(self.folder, f"{name} is cut short")
            mapped = np.memmap(path, np.uint8, mode="r", shape=(size,))
        except (OSError, ValueError) as error:
            raise _torn(self.folder, f"{name} cannot be read") from error
        return np.asarray(mapped)


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
        _sync(self._rows)
        for number, place in sorted(self._changed.items()):
            self._places.seek(8 * number)
            self._places.write(place.to_bytes(8, "little"))
        _sync(self._places)
        state = self._store.state
        followed = state.generation if generation is None else generation
        written = replace(state, generation=followed, size=self._size, sentences=self._sentences)
        _write_state(self._store.folder, written)
        self._changed.clear()
        self._store._open()


def _read_state(folder: Path) -> State:
    try:
        fields = json.loads((folder / "state.json").read_bytes())
        state = State(**fields)
        numbers = (state.row_bytes, state.generation, state.size, state.sentences, state.format)
        is_whole = all(isinstance(number, int) for number in numbers)
    except (OSError, ValueError, TypeError) as error:
        raise _torn(folder, "state.json cannot be read") from error
    if state.format != FORMAT:
        raise _torn(folder, f"it has format {state.format}, not {FORMAT}")
    if not is_whole or state.row_bytes < 1 or state.size % 8 or state.sentences < 0:
        raise _torn(folder, "state.json does not fit")
    return state


def _write_state(folder: Path, state: State) -> None:
    with writing_whole(folder / "state.json") as file:
        file.write(json.dumps(asdict(state)).encode())
        _sync(file)


def _stamp(folder: Path) -> tuple[int, int] | None:
    try:
        found = (folder / "state.json").stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _sum(rows: Bytes) -> int:
    return zlib.crc32(rows.data)


def _sync(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _torn(folder: Path, problem: str) -> StoreError:
    return StoreError(
        f"{folder}: the stored answers are torn, {problem};"
        " make them anew with 'rejoinder index add … --hash BUNDLE'"
    )


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder}: answers cannot be stored ({error.strerror or error}); the documents are"
            " kept, add them again to go on"
        ) from error
