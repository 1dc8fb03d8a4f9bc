"""Compare-Aggregate without torch; module.py has the formula.

All candidates have one question, so a word's gated projection and its attention over the
question are the same in every candidate: they are computed once for each distinct word.

Axes: Q words of the question, C candidates, N words of candidates, M rows, E vector width,
H reader width, K width of a window.
"""

import numpy as np

from rejoinder.models.kernel import Ids, Kernel, Matrix
from rejoinder.models.ranker.heads import LstmHead
from rejoinder.models.ranker.network import (
    Network,
    PairArrays,
    Weights,
    batch_texts,
    convolve,
    max_pool,
    start_offsets,
)

MAX_WORDS = 4096
"""Words of a side that are encoded at a time (some ten arrays of 5 MB)."""


class _GatedProjection:
    """sigmoid(W x + b) * tanh(V x + d): one row for each distinct word."""

    def __init__(self, weights: Weights) -> None:
        # Half, since sigmoid(x) = (1 + tanh(x / 2)) / 2: one tanh does for both.
        gate, gate_bias = weights["read.gate.weight"] / 2, weights["read.gate.bias"] / 2
        weight = np.concatenate([gate, weights["read.update.weight"]])
        self._weight = np.ascontiguousarray(weight.T)  # (E, 2 * H)
        self._bias = np.concatenate([gate_bias, weights["read.update.bias"]])

    def read(self, vectors: Matrix, words: Ids, lengths: Ids) -> tuple[Matrix, Ids]:  # noqa: ARG002
        """Return rows (M, H) of distinct words (…, E), and the row at each position (N,)."""
        projected = _rescale(vectors) @ self._weight
        projected += self._bias
        gate, update = np.split(np.tanh(projected, out=projected), 2, axis=1)
        gate += 1
        gate *= 0.5
        return gate * update, words


class _BilstmReader:
    """A bidirectional LSTM over the words of each text: one row for each position."""

    def __init__(self, weights: Weights) -> None:
        prefix = "read.lstm."
        own = {name.removeprefix(prefix): array for name, array in weights.items()}
        self._lstm = LstmHead(own, directions=2)

    def read(self, vectors: Matrix, words: Ids, lengths: Ids) -> tuple[Matrix, Ids]:
        projected = self._lstm.project(_rescale(vectors))
        return self._lstm.run(projected, words, lengths), np.arange(len(words))


def _rescale(vectors: Matrix) -> Matrix:
    """Scale vectors of length 1 as in training."""
    return vectors * np.float32(vectors.shape[1] ** 0.5)


class CompareAggregateNetwork(Network):
    """Encodes pairs by the comparisons of their words."""

    _reader: type[_GatedProjection | _BilstmReader] = _GatedProjection

    def __init__(self, weights: Weights, kernel: Kernel | None = None) -> None:  # noqa: ARG002
        self._read = self._reader(weights)
        self._question = _Convolutions(weights, "question")
        self._candidate = _Convolutions(weights, "candidate")

    def encode(self, pairs: PairArrays) -> Matrix:
        """Return the pairs, shape (C, 10 * H)."""
        length = len(pairs.question)
        rows, row_ids = self._read.read(
            pairs.vectors[pairs.question], np.arange(length), np.array([length])
        )
        q = rows[row_ids]
        width = self._question.pooled_width
        shape = (len(pairs.lengths), width + self._candidate.pooled_width)
        encoded = np.empty(shape, dtype=np.float32)
        # The question's side has as many rows per candidate as the question has words.
        for batch in batch_texts(np.maximum(pairs.lengths, length), MAX_WORDS):
            lengths, words = pairs.lengths[batch], pairs.words[pairs.get_words(batch)]
            distinct, row_ids = np.unique(words, return_inverse=True)
            rows, row_ids = self._read.read(pairs.vectors[distinct], row_ids, lengths)
            similarities = rows @ q.T  # (M, Q)
            compared_c = _softmax(similarities) @ q  # (M, H)
            compared_c *= rows
            self._candidate.pool(compared_c, row_ids, lengths, encoded[batch, width:])
            compared_q = _attend(similarities, rows, row_ids, lengths)  # (batch, Q, H)
            compared_q *= q
            rows, row_ids = compared_q.reshape(-1, q.shape[1]), np.arange(len(lengths) * length)
            copies = np.full(len(lengths), length)
            self._question.pool(rows, row_ids, copies, encoded[batch, :width])
        return encoded


class CompareAggregateBilstmNetwork(CompareAggregateNetwork):
    """The variant that reads words in their context."""

    _reader = _BilstmReader


class _Convolutions:
    """Convolutions of several widths, max-pooled, concatenated and rectified."""

    def __init__(self, weights: Weights, side: str) -> None:
        names = [name for name in weights if name.startswith(f"{side}.convolutions.")]
        layers = [f"{side}.convolutions.{number}" for number in range(len(names) // 2)]
        self._bias = np.concatenate([weights[f"{layer}.bias"] for layer in layers])
        self.pooled_width = len(self._bias)
        # The first layer reads single words, so its width is that of a row.
        width = weights[f"{layers[0]}.weight"].shape[1]
        self._kernels = [_split_kernel(weights[f"{layer}.weight"], width) for layer in layers]

    def pool(self, rows: Matrix, row_ids: Ids, lengths: Ids, out: Matrix) -> None:
        """Fill `out` (texts, pooled width); the row at each position is `row_ids` (N,)."""
        first = 0
        for kernel in self._kernels:
            last = first + kernel.shape[2]
            max_pool(convolve(rows, row_ids, lengths, kernel), lengths, out[:, first:last])
            first = last
        out += self._bias
        np.maximum(out, 0, out=out)


def _split_kernel(weight: Matrix, width: int) -> Matrix:
    """Reshape a layer over joined rows, (channels, K * H), to (K, H, channels)."""
    channels, joined = weight.shape
    return np.ascontiguousarray(weight.reshape(channels, joined // width, width).transpose(1, 2, 0))


def _attend(similarities: Matrix, rows: Matrix, row_ids: Ids, lengths: Ids) -> Matrix:
    """Return each question word's attention over each candidate's words, shape (C, Q, H).

    `similarities` (M, Q) are those of the rows (M, H), `row_ids` (N,) those at each position.
    """
    starts = start_offsets(lengths)
    weights = similarities[row_ids]  # (N, Q)
    weights -= np.repeat(np.maximum.reduceat(weights, starts), lengths, axis=0)
    np.exp(weights, out=weights)
    weights /= np.repeat(np.add.reduceat(weights, starts), lengths, axis=0)
    words = rows[row_ids]  # (N, H)
    attended = np.empty((len(lengths), similarities.shape[1], rows.shape[1]), dtype=np.float32)
    for mean, start, length in zip(attended, starts.tolist(), lengths.tolist(), strict=True):
        end = start + length
        np.dot(weights[start:end].T, words[start:end], out=mean)
    return attended


def _softmax(rows: Matrix) -> Matrix:
    weights: Matrix = rows - rows.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights
