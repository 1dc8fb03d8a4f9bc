"""Sidecars: rows of bytes that a model makes of an index's sentences once, and reads per question.

A family that stores rows has a `SidecarEncoder`, which the index calls for each document, and a
`SidecarScorer`, which is bound to the rows of an index.  What a row holds is the family's affair.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rejoinder.errors import StoreError
from rejoinder.models.scorer import Places, Scorer
from rejoinder.types import Candidate, Document

Bytes = NDArray[np.uint8]


class SidecarEncoder(Protocol):
    """Turns the sentences of a document into rows."""

    @property
    def name(self) -> str:
        """The kind of rows; an index stores those of one bundle per name."""
        ...

    @property
    def folder(self) -> Path:
        """The folder of the bundle."""
        ...

    @property
    def hash(self) -> str:
        """Identifies the weights: encoders with the same hash make the same rows."""
        ...

    @property
    def row_bytes(self) -> int:
        """The length of a row."""
        ...

    def encode(self, document: Document, context: Collection[int]) -> list[Bytes]:
        """Return arrays of shape (rows, row_bytes): one per sentence, and others after them.

        Args:
            context: the positions of sentences that may not answer, such as headings.
        """
        ...


@dataclass(frozen=True, slots=True)
class StoredRows:
    """The rows of some sentences, wherever they are in `data`."""

    data: Bytes
    row_bytes: int
    starts: Places
    """The byte at which each sentence's rows begin, shape (sentences,)."""
    lengths: Places
    """The number of rows of each sentence, shape (sentences,); 0 where it is not stored."""

    def take(self, places: Places) -> "StoredRows":
        """Return the sentences at these places."""
        return StoredRows(self.data, self.row_bytes, self.starts[places], self.lengths[places])

    def gather(self) -> Bytes:
        """Return all rows one after another, shape (rows, row_bytes)."""
        parts = [
            self.data[start : start + length * self.row_bytes]
            for start, length in zip(self.starts.tolist(), self.lengths.tolist(), strict=True)
        ]
        return np.concatenate([np.empty(0, np.uint8), *parts]).reshape(-1, self.row_bytes)


def join_rows(rows: Sequence[Bytes], row_bytes: int) -> StoredRows:
    """Return rows in memory, one array (rows, row_bytes) per sentence, as stored rows."""
    lengths = np.array([len(item) for item in rows], dtype=np.int64)
    data = np.concatenate([np.empty(0, np.uint8), *(item.ravel() for item in rows)])
    return StoredRows(data, row_bytes, (np.cumsum(lengths) - lengths) * row_bytes, lengths)


class CandidateRows(Protocol):
    """Finds the stored rows of candidates."""

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return the rows of each candidate; candidates from elsewhere have none."""
        ...


class SidecarRows(CandidateRows, Protocol):
    """The stored rows of an index, as a scorer reads them."""

    def find_document(self, document: Document) -> Bytes | None:
        """Return all rows of a document, shape (rows, row_bytes); None where they are not whole."""
        ...


@runtime_checkable
class SidecarScorer(Scorer, Protocol):
    """A scorer that reads the rows that its family stores beside an index."""

    @property
    def sidecar(self) -> SidecarEncoder | None:
        """The encoder of its rows; None where its bundle needs none."""
        ...

    def bind(self, rows: SidecarRows) -> Scorer:
        """Return the same scorer over the rows of an index."""
        ...

    def without_rows(self, error: StoreError) -> Scorer | None:
        """Log that an index's rows cannot be read, and return the scorer to use instead.

        None where its stage is to be left out.
        """
        ...
