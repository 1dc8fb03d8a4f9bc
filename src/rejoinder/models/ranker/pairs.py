"""One question with its candidates as arrays: what a network reads.

Axes: Q words of the question, C candidates, N words of all candidates one after another,
V rows of the table, E vector width, F width of a pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]
Ids = NDArray[np.int64]
Weights = Mapping[str, Matrix]
"""The arrays of a bundle, by the names of the network's state."""


def _nothing() -> Matrix:
    return np.empty((0, 0), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Pairs:
    """The words of a question and of its candidates, and how related they are."""

    vectors: Matrix  # (V, E); row 0 is zeros, and is no word
    question: Ids  # (Q,) rows of `vectors`, at least one
    words: Ids  # (N,) rows of `vectors`
    lengths: Ids  # (C,) words of each candidate, at least 1
    related: Matrix  # (N,) cosine of a candidate's word to the closest word of the question
    related_question: Matrix  # (C, Q) cosine of a question's word to the candidate's closest
    derived: Matrix = field(
        default_factory=_nothing
    )  # (V, …) what the network derives from each word alone


class Network(Protocol):
    """Encodes pairs; its constructor takes the weights of the encoder."""

    def encode(self, pairs: Pairs) -> Matrix:
        """Return one row per candidate, shape (C, F)."""
        ...
