"""Where the rows of answers stand that were encoded before: one row per word, bytes in a file.

What a row is, bits or floats, is its composition's affair (compositions.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Candidate

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of some answers, wherever they stand in `data`."""

    data: Bytes
    row_bytes: int
    starts: Places
    """The byte at which each answer's rows begin, shape (answers,)."""
    lengths: Places
    """How many rows each answer has, shape (answers,); 0 where it is not stored."""

    def take(self, places: Places) -> "StoredRows":
        """Return the answers at these places."""
        return StoredRows(self.data, self.row_bytes, self.starts[places], self.lengths[places])

    def gather(self) -> Bytes:
        """Return all rows one after another, shape (rows, row_bytes)."""
        parts = [
            self.data[start : start + length * self.row_bytes]
            for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        ]
        return np.concatenate([np.empty(0, np.uint8), *parts]).reshape(-1, self.row_bytes)


class AnswerRows(Protocol):
    """Finds the rows of candidates: a store, as a scorer sees it."""

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return where the rows of candidates stand."""
        ...


def join_rows(rows: Sequence[Bytes], row_bytes: int) -> StoredRows:
    """Return rows that are in memory, one array (rows, row_bytes) per answer, as stored ones."""
    lengths = np.array([len(item) for item in rows], dtype=np.int64)
    data = np.concatenate([np.empty(0, np.uint8), *(item.ravel() for item in rows)])
    return StoredRows(data, row_bytes, (np.cumsum(lengths) - lengths) * row_bytes, lengths)
