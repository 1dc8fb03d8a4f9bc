"""How an answer's words become a score, and what of them is stored.

Three ways of Xu & Li 2020, Table 5, over the same encoder: words as bits with attention
(HAS), words as floats with attention, and one pooled vector.  The question's vector is the
largest value of each number over its words.

Axes: N words, D width, A answers.
"""

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from rejoinder.models.has.attention import AttentionWeights, attend, take_cosines
from rejoinder.models.has.bits import BitAttention, pack
from rejoinder.models.kernel import Linear, Matrix, load_kernel
from rejoinder.models.sidecar import Bytes, StoredRows

Weights = Mapping[str, Matrix]


class Composition(Protocol):
    """Stores an answer as rows of bytes, and scores such answers."""

    row_bytes: int

    def to_rows(self, states: Matrix) -> Bytes:
        """Return what is stored of an answer's words (N, D): one row or more."""
        ...

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score (A,) of stored answers for a question's vector (D,)."""
        ...


class Hashed:
    """A bit per number of a word; attention straight from the bits."""

    def __init__(self, weights: Weights, width: int) -> None:
        self.row_bytes = -(-width // 8)
        self._attention = BitAttention(_read_attention(weights))

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the signs of the words' numbers, packed."""
        return pack(states)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score (A,) of stored answers."""
        return self._attention.score(question, answers)


class Attended:
    """A float per number of a word; attention over the floats."""

    def __init__(self, weights: Weights, width: int) -> None:
        self.row_bytes = 4 * width
        self._weights = _read_attention(weights)
        self._multiply = Linear(self._weights.of_word.T, kernel=load_kernel())

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the words as they are."""
        return np.ascontiguousarray(states, dtype="<f4").view(np.uint8)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the score (A,) of stored answers."""
        words: Matrix = answers.gather().view("<f4")
        return attend(self._weights, question, words, answers.lengths, multiply=self._multiply)


class Pooled:
    """One vector for the whole answer."""

    def __init__(self, _: Weights, width: int) -> None:
        self.row_bytes = 4 * width

    def to_rows(self, states: Matrix) -> Bytes:
        """Return the largest value of each number over the words, as one row."""
        return np.ascontiguousarray(pool(states)[None], dtype="<f4").view(np.uint8)

    def score(self, question: Matrix, answers: StoredRows) -> Matrix:
        """Return the cosine (A,) of the two sides."""
        return take_cosines(question, answers.gather().view("<f4"))


COMPOSITIONS: dict[str, Callable[[Weights, int], Composition]] = {
    "has": Hashed,
    "attention": Attended,
    "pooling": Pooled,
}


def pool(states: Matrix) -> Matrix:
    """Return the largest value of each number over words (N, D)."""
    return np.asarray(states.max(axis=0))


def _read_attention(weights: Weights) -> AttentionWeights:
    names = ("of_word.weight", "of_question.weight", "of_hidden.weight")
    of_word, of_question, of_hidden = (weights[f"attention.{name}"] for name in names)
    return AttentionWeights(of_word, of_question, of_hidden.ravel())
