"""Cosinet without torch; module.py has the formula.

Word vectors are frozen and a convolution is linear, so the products of a word's vector with
the five kernel slices are precomputed once per word.  A position is then the sum of five rows,
plus five relatedness values times five rows of the kernel.  The compiled kernel does this in
one pass; numpy does it in chunks that stay in the cache.

Axes: Q words of the question, C candidates, N words of candidates, K kernel, H channels,
L channels padded with zeros to whole lines of the compiled kernel.
"""

from dataclasses import dataclass

import numpy as np

from rejoinder.models.kernel import Kernel, Linear, Matrix, pad_columns
from rejoinder.models.ranker.network import (
    Network,
    PairArrays,
    Weights,
    batch_texts,
    max_pool,
    window_indices,
)

KERNEL = 5
HALF = KERNEL // 2
CHUNK_WORDS = 512
"""Words of candidates that numpy convolves at a time, so that their sums stay in the cache."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The convolution of one side, with its kernel in slices."""

    by_word: Linear  # (E, K * L)
    by_related: Matrix  # (K, L)
    bias: Matrix  # (L,)

    @classmethod
    def from_weights(cls, weights: Weights, side: str, kernel: Kernel | None) -> "_Side":
        weight = weights[f"{side}.convolution.weight"]  # (H, E + 1, K)
        if weight.ndim != 3 or weight.shape[2] != KERNEL or not weight.size:
            raise ValueError(f"a convolution of shape {weight.shape}, not (…, …, {KERNEL})")
        if weights[f"{side}.convolution.bias"].shape != weight.shape[:1]:
            raise ValueError("a convolution and its bias do not fit")
        line = kernel.line if kernel else 1
        slices = pad_columns(weight.transpose(1, 2, 0), line)  # (E + 1, K, L)
        by_word = Linear(slices[:-1].reshape(len(slices) - 1, -1), kernel=kernel)
        bias = pad_columns(weights[f"{side}.convolution.bias"], line)
        return cls(by_word, np.ascontiguousarray(slices[-1]), bias)


class CosinetNetwork(Network):
    """Encodes pairs as [q * c; q - c]."""

    def __init__(self, weights: Weights, kernel: Kernel | None = None) -> None:
        self._kernel = kernel
        self._question = _Side.from_weights(weights, "question", kernel)
        self._candidate = _Side.from_weights(weights, "candidate", kernel)
        if self._question.bias.shape != self._candidate.bias.shape:
            raise ValueError("the convolutions of question and candidate do not fit")
        self._channels = len(weights["candidate.convolution.bias"])
        self._width = len(self._candidate.bias)
        self.precomputed_width = KERNEL * self._width

    def precompute(self, vectors: Matrix, out: Matrix) -> None:
        """Write the products of words with the candidate's kernel, shape (words, K * L)."""
        self._candidate.by_word(vectors, out)

    def encode(self, pairs: PairArrays) -> Matrix:
        """Return the pairs, shape (C, 2 * H)."""
        channels = self._channels
        c = self._encode_candidates(pairs)[:, :channels]
        q = self._encode_question(pairs)[:, :channels]
        encoded = np.empty((len(c), 2 * channels), dtype=np.float32)
        np.multiply(q, c, out=encoded[:, :channels])
        np.subtract(q, c, out=encoded[:, channels:])
        return encoded

    def _encode_question(self, pairs: PairArrays) -> Matrix:
        """Return one row per candidate, shape (C, L): only the relatedness differs."""
        side, length = self._question, len(pairs.question)
        products = side.by_word(pairs.vectors[pairs.question]).reshape(length, KERNEL, -1)
        base = np.tile(side.bias, (length, 1))  # (Q, L)
        for offset in range(KERNEL):
            shift = offset - HALF
            target = slice(max(0, -shift), length - max(0, shift))
            source = slice(max(0, shift), length + min(0, shift))
            base[target] += products[source, offset]
        related = np.zeros((len(pairs.lengths), length + 2 * HALF), dtype=np.float32)
        related[:, HALF : HALF + length] = pairs.related_question
        if self._kernel is None:
            return self._pool_question(base, related)
        return self._kernel.convolve_question(base, related, side.by_related)

    def _pool_question(self, base: Matrix, related: Matrix) -> Matrix:
        windows = np.lib.stride_tricks.sliding_window_view(related, KERNEL, axis=1)  # (C, Q, K)
        pooled = np.empty((len(related), self._width), dtype=np.float32)
        step = max(1, CHUNK_WORDS // len(base))
        for first in range(0, len(related), step):
            positions = windows[first : first + step] @ self._question.by_related + base
            positions.max(axis=1, out=pooled[first : first + step])
        return pooled

    def _encode_candidates(self, pairs: PairArrays) -> Matrix:
        side = self._candidate
        if self._kernel is None:
            return self._pool_candidates(pairs) + side.bias
        return self._kernel.convolve_texts(
            *(pairs.precomputed, pairs.words, pairs.related, pairs.lengths),
            *(side.by_related, side.bias),
        )

    def _pool_candidates(self, pairs: PairArrays) -> Matrix:
        pooled = np.empty((len(pairs.lengths), self._width), dtype=np.float32)
        products = pairs.precomputed.reshape(-1, self._width)  # (V * K, L)
        for batch in batch_texts(pairs.lengths, CHUNK_WORDS):
            lengths, words = pairs.lengths[batch], pairs.get_words(batch)
            windows = window_indices(lengths, KERNEL)  # (K, N)
            related = np.append(pairs.related[words], np.float32(0))[windows]
            rows = np.append(pairs.words[words], 0)[windows] * KERNEL
            positions = related.T @ self._candidate.by_related  # (N, L)
            for offset, row in enumerate(rows):
                positions += products[row + offset]
            max_pool(positions, lengths, out=pooled[batch])
        return pooled
