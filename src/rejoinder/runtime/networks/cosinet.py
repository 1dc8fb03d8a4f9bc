"""Cosinet without torch: see train/models/cosinet.py for the formula.

Word vectors are frozen and a convolution is linear, so the product of a word's vector with
each of the five kernel slices is made once per word and kept.  A position is then five rows
added, plus five relatedness values times five rows of the kernel.  The compiled kernel does
this in one pass; without it, numpy does it in pieces that stay in the cache.

Axes: Q words of the question, C candidates, N words of candidates, K kernel, H channels.
"""

from dataclasses import dataclass

import numpy as np

from rejoinder.runtime.kernel import Kernel
from rejoinder.runtime.networks.pairs import Matrix, Pairs, Weights
from rejoinder.runtime.networks.windows import cut_texts, find_windows, pool_texts

KERNEL = 5
HALF = KERNEL // 2
CHUNK_WORDS = 512
"""Words of candidates that are worked on at a time: their sums stay in the cache."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The convolution of one side, its kernel cut into slices."""

    by_word: Matrix  # (E, K * H)
    by_related: Matrix  # (K, H)
    bias: Matrix  # (H,)

    @classmethod
    def from_weights(cls, weights: Weights, side: str) -> "_Side":
        weight = weights[f"{side}.convolution.weight"]  # (H, E + 1, K)
        slices = np.ascontiguousarray(weight.transpose(1, 2, 0))  # (E + 1, K, H)
        by_word = slices[:-1].reshape(len(slices) - 1, -1)
        return cls(by_word, slices[-1], weights[f"{side}.convolution.bias"])


class CosinetNetwork:
    """Encodes pairs as [q * c; q - c]."""

    def __init__(self, weights: Weights, kernel: Kernel | None = None) -> None:
        self._question = _Side.from_weights(weights, "question")
        self._candidate = _Side.from_weights(weights, "candidate")
        self._channels = len(self._candidate.bias)
        self.derived_width = KERNEL * self._channels
        self._kernel = kernel if kernel and self._channels <= kernel.max_width else None

    def derive(self, vectors: Matrix) -> Matrix:
        """Return what each word adds to the positions around it, shape (words, K * H)."""
        return vectors @ self._candidate.by_word

    def encode(self, pairs: Pairs) -> Matrix:
        """Return the pairs, shape (C, 2 * H); `pairs.derived` holds what `derive` gave."""
        c = self._encode_candidates(pairs)
        q = self._encode_question(pairs)
        return np.concatenate([q * c, q - c], axis=1)

    def _encode_question(self, pairs: Pairs) -> Matrix:
        side = self._question
        products = pairs.vectors[pairs.question] @ side.by_word
        if self._kernel is None:
            return self._pool_question(products, pairs) + side.bias
        count = len(pairs.lengths)
        return (
            self._kernel.pool_texts(
                products,
                np.tile(np.arange(len(products)), count),
                pairs.related_question.ravel(),
                np.full(count, len(products)),
                side.by_related,
            )
            + side.bias
        )

    def _pool_question(self, rows: Matrix, pairs: Pairs) -> Matrix:
        products = rows.reshape(-1, KERNEL, self._channels)  # (Q, K, H)
        base = np.zeros((len(products), self._channels), dtype=np.float32)  # (Q, H)
        padded = np.zeros((len(pairs.lengths), len(products) + 2 * HALF), dtype=np.float32)
        padded[:, HALF : HALF + len(products)] = pairs.related_question
        for offset in range(KERNEL):
            shift = offset - HALF
            to = slice(max(0, -shift), len(products) - max(0, shift))
            since = slice(max(0, shift), len(products) + min(0, shift))
            base[to] += products[since, offset]
        windows = np.lib.stride_tricks.sliding_window_view(padded, KERNEL, axis=1)  # (C, Q, K)
        pooled = np.empty((len(padded), self._channels), dtype=np.float32)
        step = max(1, CHUNK_WORDS // len(products))
        for first in range(0, len(padded), step):
            positions = windows[first : first + step] @ self._question.by_related + base
            positions.max(axis=1, out=pooled[first : first + step])
        return pooled

    def _encode_candidates(self, pairs: Pairs) -> Matrix:
        side = self._candidate
        if self._kernel is None:
            return self._pool_candidates(pairs) + side.bias
        return (
            self._kernel.pool_texts(
                pairs.derived, pairs.words, pairs.related, pairs.lengths, side.by_related
            )
            + side.bias
        )

    def _pool_candidates(self, pairs: Pairs) -> Matrix:
        pooled = np.empty((len(pairs.lengths), self._channels), dtype=np.float32)
        products = pairs.derived.reshape(-1, self._channels)  # (V * K, H)
        ends = np.cumsum(pairs.lengths)
        for run in cut_texts(pairs.lengths, CHUNK_WORDS):
            lengths = pairs.lengths[run]
            words = slice(ends[run.start] - lengths[0], ends[run.stop - 1])
            windows = find_windows(lengths, KERNEL)  # (K, N)
            related = np.append(pairs.related[words], np.float32(0))[windows]
            rows = np.append(pairs.words[words], 0)[windows] * KERNEL
            positions = related.T @ self._candidate.by_related  # (N, H)
            for offset, read in enumerate(rows):
                positions += products[read + offset]
            pool_texts(positions, lengths, out=pooled[run])
        return pooled
