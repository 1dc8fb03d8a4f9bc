"""Rel-CNN without torch: see train/models/rel_cnn.py for the formula.

Axes: Q words of the question, C candidates, N words of candidates, E vector width,
U overlap width, K kernel, H channels.
"""

from dataclasses import dataclass

import numpy as np

from rejoinder.models.ranker.pairs import Ids, Matrix, Pairs, Weights
from rejoinder.models.ranker.windows import (
    cut_texts,
    find_rows,
    find_starts,
    find_windows,
    pool_texts,
    sum_windows,
)

IDENTICAL = 0.9999
"""Cosine above which two words are one; rounding takes a little off 1."""
MAX_WORDS = 8192
"""How many words of a side are worked on at a time (four arrays of up to 8 MB)."""


class RelCnnNetwork:
    """Encodes pairs by both of their sides and their learnt similarity."""

    def __init__(self, weights: Weights) -> None:
        self._question = _Convolution.compose(weights, "question")
        self._candidate = _Convolution.compose(weights, "candidate")
        self._similarity = np.ascontiguousarray(weights["similarity.weight"].T)  # (H, H)
        self._hidden = np.ascontiguousarray(weights["hidden.weight"].T)  # (2H + 1, 2H + 1)
        self._hidden_bias = weights["hidden.bias"]

    def encode(self, pairs: Pairs) -> Matrix:
        """Return the pairs, shape (C, 2 * H + 1)."""
        channels = len(self._similarity)
        joined = np.empty((len(pairs.lengths), 2 * channels + 1), dtype=np.float32)
        q, c = joined[:, :channels], joined[:, channels + 1 :]
        self._pool_question(pairs, q)
        self._question.finish(q)
        self._pool_candidates(pairs, c)
        self._candidate.finish(c)
        np.einsum("ch,ch->c", q, c @ self._similarity, out=joined[:, channels])
        hidden: Matrix = joined @ self._hidden
        hidden += self._hidden_bias
        np.maximum(hidden, 0, out=hidden)
        return hidden

    def _pool_question(self, pairs: Pairs, pooled: Matrix) -> None:
        side, length = self._question, len(pairs.question)
        windows = find_windows(np.array([length]), side.width)
        vectors = pairs.vectors[pairs.question]
        words = sum_windows(vectors, windows, side.by_word)  # (Q, H)
        for run in cut_texts(np.full(len(pooled), length), MAX_WORDS):
            related = pairs.related_question[run]  # (run, Q)
            positions = side.sum_cases(related.ravel(), np.full(len(related), length))
            positions = positions.reshape(*related.shape, -1)
            positions += words
            positions.max(axis=1, out=pooled[run])

    def _pool_candidates(self, pairs: Pairs, pooled: Matrix) -> None:
        side, starts = self._candidate, find_starts(pairs.lengths)
        for run in cut_texts(pairs.lengths, MAX_WORDS):
            lengths = pairs.lengths[run]
            inside = slice(starts[run.start], starts[run.start] + lengths.sum())
            distinct, places = np.unique(pairs.words[inside], return_inverse=True)
            positions = side.sum_cases(pairs.related[inside], lengths)
            read = find_rows(find_windows(lengths, side.width), places, len(distinct))
            positions += sum_windows(pairs.vectors[distinct], read, side.by_word)
            pool_texts(positions, lengths, pooled[run])


@dataclass(frozen=True, slots=True)
class _Convolution:
    """The kernel of one side: a word's vector, and whether the other side has the word."""

    by_word: Matrix  # (K, E, H)
    by_case: Matrix  # (K * 2, H)
    bias: Matrix  # (H,)

    @classmethod
    def compose(cls, weights: Weights, side: str) -> "_Convolution":
        """Multiply the overlap embeddings into the kernel: a word has one of two."""
        weight = weights[f"{side}.convolution.parametrizations.weight.original"]
        cases = weights[f"{side}.convolution.parametrizations.weight.0.cases"]  # (2, U)
        kernel = weight.transpose(2, 1, 0)  # (K, E + U, H)
        vector_width = kernel.shape[1] - cases.shape[1]
        by_case = cases @ kernel[:, vector_width:]  # (K, 2, H)
        return cls(
            np.ascontiguousarray(kernel[:, :vector_width]),
            by_case.reshape(-1, kernel.shape[2]),
            weights[f"{side}.convolution.bias"],
        )

    @property
    def width(self) -> int:
        """How many words a window reads."""
        return len(self.by_word)

    def sum_cases(self, related: Matrix, lengths: Ids) -> Matrix:
        """Return what the cases of the words add to the convolution, shape (N, H)."""
        windows = find_windows(lengths, self.width).T  # (N, K)
        cases = np.zeros((len(related) + 1, 2), dtype=np.float32)  # neither where there is no word
        cases[:-1, 1] = related > IDENTICAL
        cases[:-1, 0] = 1 - cases[:-1, 1]
        return cases[windows].reshape(len(related), -1) @ self.by_case

    def finish(self, pooled: Matrix) -> None:
        """Do what follows the maximum, in place."""
        pooled += self.bias
        np.maximum(pooled, 0, out=pooled)
