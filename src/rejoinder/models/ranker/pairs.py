"""One question with its candidates as arrays: the input of a network.

Axes: Q words of the question, C candidates, N words of all candidates one after another,
V rows of the word table, E vector width, F width of a pair.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from rejoinder.models.kernel import Ids, Kernel, Matrix

Weights = Mapping[str, Matrix]
"""The arrays of a bundle, by the names of the network's state."""


@dataclass(frozen=True, slots=True)
class PairArrays:
    """The words of a question and of its candidates, with their max relatedness."""

    vectors: Matrix  # (V, E); row 0 is zeros: padding
    question: Ids  # (Q,) rows of `vectors`, at least one
    words: Ids  # (N,) rows of `vectors`
    lengths: Ids  # (C,) words of each candidate, at least 1
    related: Matrix  # (N,) largest cosine of a candidate's word to a word of the question
    related_question: Matrix  # (C, Q) largest cosine of a question's word to the candidate's
    precomputed: Matrix  # (V, …) what the network precomputed from each word's vector


class Network:
    """Encodes pairs with the weights of a ranker's encoder."""

    precomputed_width = 0

    def __init__(self, weights: Weights, kernel: Kernel | None = None) -> None:
        raise NotImplementedError

    def precompute(self, vectors: Matrix) -> Matrix:
        """Return what depends on a word alone, shape (words, precomputed_width)."""
        return vectors[:, :0]

    def encode(self, pairs: PairArrays) -> Matrix:
        """Return one row per candidate, shape (C, F)."""
        raise NotImplementedError
