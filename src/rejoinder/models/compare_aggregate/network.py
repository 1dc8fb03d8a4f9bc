"""Compare-Aggregate without torch: see train/models/compare_aggregate.py for the formula.

All candidates have one question.  So what a gated projection makes of a candidate's word, and
what the question says about it, is the same wherever the word stands, and is computed once for
each distinct word.

Axes: Q words of the question, C candidates, N words of candidates, M rows, E vector width,
H reader width, K width of a window.
"""

from typing import Protocol

import numpy as np

from rejoinder.models.ranker.heads import LstmHead
from rejoinder.models.ranker.pairs import Ids, Matrix, Pairs, Weights
from rejoinder.models.ranker.windows import (
    cut_texts,
    find_rows,
    find_starts,
    find_windows,
    pool_texts,
    sum_windows,
)

MAX_WORDS = 4096
"""How many words of a side are worked on at a time (some ten arrays of 5 MB)."""


class _Reader(Protocol):
    """Gives the words of texts rows of width H."""

    def read(self, vectors: Matrix, places: Ids, lengths: Ids) -> tuple[Matrix, Ids]:
        """Read texts one after another.

        Args:
            vectors: of distinct words, shape (distinct words, E).
            places: the distinct word at each place of the texts, shape (N,).
            lengths: words of each text.

        Returns:
            Rows, shape (M, H), and the row at each place of the texts, shape (N,).
        """
        ...


class _GatedProjection:
    """sigmoid(W x + b) * tanh(V x + d): one row for each distinct word."""

    def __init__(self, weights: Weights) -> None:
        # Half, since sigmoid(x) = (1 + tanh(x / 2)) / 2: one tanh does for both.
        gate, gate_bias = weights["read.gate.weight"] / 2, weights["read.gate.bias"] / 2
        weight = np.concatenate([gate, weights["read.update.weight"]])
        self._weight = np.ascontiguousarray(weight.T)  # (E, 2 * H)
        self._bias = np.concatenate([gate_bias, weights["read.update.bias"]])

    def read(self, vectors: Matrix, places: Ids, lengths: Ids) -> tuple[Matrix, Ids]:  # noqa: ARG002
        projected = _spread(vectors) @ self._weight
        projected += self._bias
        gate, update = np.split(np.tanh(projected, out=projected), 2, axis=1)
        gate += 1
        gate *= 0.5
        return gate * update, places


class _BilstmReader:
    """A bidirectional LSTM over the words of each text: one row for each place."""

    def __init__(self, weights: Weights) -> None:
        prefix = "read.lstm."
        own = {name.removeprefix(prefix): array for name, array in weights.items()}
        self._lstm = LstmHead(own, directions=2)

    def read(self, vectors: Matrix, places: Ids, lengths: Ids) -> tuple[Matrix, Ids]:
        projected = self._lstm.project(_spread(vectors))
        return self._lstm.run(projected, places, lengths), np.arange(len(places))


def _spread(vectors: Matrix) -> Matrix:
    """Return vectors of length 1 at the length that the network was trained with."""
    return vectors * np.float32(vectors.shape[1] ** 0.5)


class CompareAggregateNetwork:
    """Encodes pairs by the comparisons of their words."""

    _reader: type[_GatedProjection | _BilstmReader] = _GatedProjection

    def __init__(self, weights: Weights) -> None:
        self._read: _Reader = self._reader(weights)
        self._question = _Convolutions(weights, "question")
        self._candidate = _Convolutions(weights, "candidate")

    def encode(self, pairs: Pairs) -> Matrix:
        """Return the pairs, shape (C, 10 * H)."""
        length = len(pairs.question)
        rows, places = self._read.read(
            pairs.vectors[pairs.question], np.arange(length), np.array([length])
        )
        q = rows[places]
        starts = find_starts(pairs.lengths)
        width = self._question.pooled_width
        encoded = np.empty(
            (len(pairs.lengths), width + self._candidate.pooled_width), dtype=np.float32
        )
        # Each candidate takes as many rows of the question's side as the question has words.
        for run in cut_texts(np.maximum(pairs.lengths, length), MAX_WORDS):
            lengths = pairs.lengths[run]
            words = pairs.words[starts[run.start] : starts[run.start] + lengths.sum()]
            distinct, places = np.unique(words, return_inverse=True)
            rows, places = self._read.read(pairs.vectors[distinct], places, lengths)
            likeness = rows @ q.T  # (M, Q)
            about_c = _softmax(likeness) @ q  # (M, H)
            about_c *= rows
            self._candidate.pool(about_c, places, lengths, encoded[run, width:])
            about_q = _attend(likeness, rows, places, lengths)  # (run, Q, H)
            about_q *= q
            self._question.pool(
                about_q.reshape(-1, q.shape[1]),
                np.arange(len(lengths) * length),
                np.full(len(lengths), length),
                encoded[run, :width],
            )
        return encoded


class CompareAggregateBilstmNetwork(CompareAggregateNetwork):
    """The variant whose words know their neighbours."""

    _reader = _BilstmReader


class _Convolutions:
    """max over positions of one convolution for each width, joined, and ReLU."""

    def __init__(self, weights: Weights, side: str) -> None:
        names = [name for name in weights if name.startswith(f"{side}.convolutions.")]
        layers = [f"{side}.convolutions.{number}" for number in range(len(names) // 2)]
        self._bias = np.concatenate([weights[f"{layer}.bias"] for layer in layers])
        # The first layer reads single words, so its width is that of a row.
        width = weights[f"{layers[0]}.weight"].shape[1]
        self._kernels = [_cut_kernel(weights[f"{layer}.weight"], width) for layer in layers]

    @property
    def pooled_width(self) -> int:
        """The widths' channels together."""
        return len(self._bias)

    def pool(self, rows: Matrix, places: Ids, lengths: Ids, out: Matrix) -> None:
        """Convolve and pool texts.

        Args:
            rows: shape (M, H).
            places: the row at each place of the texts, shape (N,).
            lengths: words of each text, shape (texts,).
            out: what is filled, shape (texts, pooled width).
        """
        first = 0
        for kernel in self._kernels:
            read = find_rows(find_windows(lengths, len(kernel)), places, len(rows))
            last = first + kernel.shape[2]
            pool_texts(sum_windows(rows, read, kernel), lengths, out[:, first:last])
            first = last
        out += self._bias
        np.maximum(out, 0, out=out)


def _cut_kernel(weight: Matrix, width: int) -> Matrix:
    """Take a layer over joined rows, shape (channels, K * H); return shape (K, H, channels)."""
    channels, joined = weight.shape
    return np.ascontiguousarray(weight.reshape(channels, joined // width, width).transpose(1, 2, 0))


def _attend(likeness: Matrix, rows: Matrix, places: Ids, lengths: Ids) -> Matrix:
    """Return, for each word of the question, the mean of each candidate's words, by likeness.

    Args:
        likeness: of rows to the words of the question, shape (M, Q).
        rows: shape (M, H).
        places: the row at each place of the candidates, shape (N,).
        lengths: words of each candidate, shape (C,).

    Returns:
        Shape (C, Q, H).
    """
    starts = find_starts(lengths)
    share = likeness[places]  # (N, Q)
    share -= np.repeat(np.maximum.reduceat(share, starts), lengths, axis=0)
    np.exp(share, out=share)
    share /= np.repeat(np.add.reduceat(share, starts), lengths, axis=0)
    words = rows[places]  # (N, H)
    about = np.empty((len(lengths), likeness.shape[1], rows.shape[1]), dtype=np.float32)
    for mean, start, length in zip(about, starts.tolist(), lengths.tolist(), strict=True):
        end = start + length
        np.dot(share[start:end].T, words[start:end], out=mean)
    return about


def _softmax(rows: Matrix) -> Matrix:
    share: Matrix = rows - rows.max(axis=1, keepdims=True)
    np.exp(share, out=share)
    share /= share.sum(axis=1, keepdims=True)
    return share
