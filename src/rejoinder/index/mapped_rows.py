"""The files of a store of rows, mapped into memory: finds rows, and tells whether they are whole.

How they are laid out says row_store.py.
"""

import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.index.row_state import read_state, stamp, torn
from rejoinder.runtime.stored_rows import Bytes, Places

MAGIC = b"rejoindr" + b"\0" * 8
"""At the beginning of the rows, so that no block has place 0."""
HEADER = 16


class MappedRows:
    """The files as one state has them; a later state is another object, so that threads agree."""

    def __init__(self, folder: Path) -> None:
        self.stamp = stamp(folder)
        self.state = read_state(folder)
        self.rows = _map(folder, "rows", self.state.size)
        self.words: NDArray[np.uint32] = self.rows.view("<u4")
        self.places: NDArray[np.int64] = _map(folder, "places").view("<i8")
        # Which sentences were found to be whole; the last stands for what is not there.
        self.checked = np.zeros(self.state.sentences + 1, dtype=np.bool_)
        if bytes(self.rows[: len(MAGIC)]) != MAGIC:
            raise torn(folder, "its rows are not rows")

    def has(self, number: int) -> bool:
        """Return whether a document is stored."""
        if not 0 <= number < len(self.places):
            return False
        place = int(self.places[number])
        if not 0 < place <= self.state.size - HEADER or place % 8:
            return False
        # A crash may leave a place that another document's block has taken since.
        return int(self.words[place // 4]) == number

    def count(self, number: int) -> int:
        """Return how many sentences are stored of a document."""
        if not self.has(number):
            return 0
        found = int(self.words[int(self.places[number]) // 4 + 2])
        return min(found, self.state.sentences)  # a damaged one may be any number

    def locate(self, documents: Places, positions: Places) -> "Located":
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
        return Located(
            np.where(fits, starts, 0),
            np.where(fits, lengths, np.where(is_here, -1, 0)),
            sums,
            np.where(fits, before + positions, -1),
        )

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
