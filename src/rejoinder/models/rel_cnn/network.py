"""Rel-CNN without torch; module.py has the formula.

Axes: Q words of the question, C candidates, N words of candidates, E vector width,
U overlap width, K kernel, H channels.
"""

from dataclasses import dataclass

import numpy as np

from rejoinder.models.kernel import Ids, Kernel, Matrix
from rejoinder.models.ranker.network import (
    Network,
    PairArrays,
    Weights,
    batch_texts,
    convolve,
    max_pool,
    window_indices,
)

IDENTICAL = 0.9999
"""Two words are the same above this cosine; rounding takes a little off 1."""
MAX_WORDS = 8192
"""Words of a side that are convolved at a time (four arrays of up to 8 MB)."""


class RelCnnNetwork(Network):
    """Encodes pairs by both of their sides and their learnt similarity."""

    def __init__(self, weights: Weights, kernel: Kernel | None = None) -> None:  # noqa: ARG002
        self._question = _Convolution.compose(weights, "question")
        self._candidate = _Convolution.compose(weights, "candidate")
        self._similarity = np.ascontiguousarray(weights["similarity.weight"].T)  # (H, H)
        self._hidden = np.ascontiguousarray(weights["hidden.weight"].T)  # (2H + 1, 2H + 1)
        self._hidden_bias = weights["hidden.bias"]

    def encode(self, pairs: PairArrays) -> Matrix:
        """Return the pairs, shape (C, 2 * H + 1)."""
        channels = len(self._similarity)
        joined = np.empty((len(pairs.lengths), 2 * channels + 1), dtype=np.float32)
        q, c = joined[:, :channels], joined[:, channels + 1 :]
        self._pool_question(pairs, q)
        self._question.activate(q)
        self._pool_candidates(pairs, c)
        self._candidate.activate(c)
        np.einsum("ch,ch->c", q, c @ self._similarity, out=joined[:, channels])
        hidden: Matrix = joined @ self._hidden
        hidden += self._hidden_bias
        np.maximum(hidden, 0, out=hidden)
        return hidden

    def _pool_question(self, pairs: PairArrays, pooled: Matrix) -> None:
        side, length = self._question, len(pairs.question)
        vectors = pairs.vectors[pairs.question]
        by_word = convolve(vectors, np.arange(length), np.array([length]), side.by_word)  # (Q, H)
        for batch in batch_texts(np.full(len(pooled), length), MAX_WORDS):
            related = pairs.related_question[batch]  # (batch, Q)
            positions = side.convolve_overlap(related.ravel(), np.full(len(related), length))
            positions = positions.reshape(*related.shape, -1)
            positions += by_word
            positions.max(axis=1, out=pooled[batch])

    def _pool_candidates(self, pairs: PairArrays, pooled: Matrix) -> None:
        side = self._candidate
        for batch in batch_texts(pairs.lengths, MAX_WORDS):
            lengths, words = pairs.lengths[batch], pairs.get_words(batch)
            distinct, row_ids = np.unique(pairs.words[words], return_inverse=True)
            positions = side.convolve_overlap(pairs.related[words], lengths)
            positions += convolve(pairs.vectors[distinct], row_ids, lengths, side.by_word)
            max_pool(positions, lengths, pooled[batch])


@dataclass(frozen=True, slots=True)
class _Convolution:
    """The kernel of one side: a word's vector, and whether the other side has the word."""

    by_word: Matrix  # (K, E, H)
    by_case: Matrix  # (K * 2, H)
    bias: Matrix  # (H,)

    @classmethod
    def compose(cls, weights: Weights, side: str) -> "_Convolution":
        """Multiply both overlap embeddings, shared and not, into the kernel."""
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

    def convolve_overlap(self, related: Matrix, lengths: Ids) -> Matrix:
        """Return the convolution of the overlap alone, shape (N, H)."""
        windows = window_indices(lengths, len(self.by_word)).T  # (N, K)
        cases = np.zeros((len(related) + 1, 2), dtype=np.float32)  # padding is neither
        cases[:-1, 1] = related > IDENTICAL
        cases[:-1, 0] = 1 - cases[:-1, 1]
        return cases[windows].reshape(len(related), -1) @ self.by_case

    def activate(self, pooled: Matrix) -> None:
        """Add the bias to the pooled maxima and apply ReLU, in place."""
        pooled += self.bias
        np.maximum(pooled, 0, out=pooled)
