"""The static sentence encoder in torch: a table of word pieces, and gains of questions' pieces.

Axes: T texts, V word pieces, D width.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding_bag, normalize


class Bags(NamedTuple):
    """Texts as weighted word pieces, one text after another."""

    pieces: NDArray[np.int32]
    weights: NDArray[np.float32]
    ends: NDArray[np.int64]
    """Where each text ends, (T,)."""

    def take(self, texts: NDArray[np.int64]) -> "Bags":
        """Return some texts, in this order."""
        starts = np.concatenate([[0], self.ends[:-1]])[texts]
        lengths = self.ends[texts] - starts
        ends = np.cumsum(lengths)
        places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(
            starts - (ends - lengths), lengths
        )
        return Bags(self.pieces[places], self.weights[places], ends)


def make_bags(parts: Iterable[Sequence[tuple[NDArray[np.int64], float]]]) -> Bags:
    """Return texts that consist of pieces with a weight; a piece of a text counts once.

    >>> bags = make_bags([[(np.array([5, 5]), 1.0), (np.array([2]), 0.5)]])
    >>> bags.pieces.tolist(), bags.weights.tolist()
    ([2, 5], [0.5, 2.0])
    """
    pieces, weights, ends = array("i"), array("f"), array("q")
    for text in parts:
        own = np.concatenate([np.empty(0, np.int64), *(ids for ids, _ in text)])
        given = [np.full(len(ids), weight, np.float32) for ids, weight in text]
        distinct, places = np.unique(own, return_inverse=True)
        counts = np.bincount(places, np.concatenate([[], *given]), minlength=len(distinct))
        pieces.frombytes(distinct.astype(np.int32).tobytes())
        weights.frombytes(counts.astype(np.float32).tobytes())
        ends.append(len(pieces))
    return Bags(np.asarray(pieces), np.asarray(weights), np.asarray(ends))


class StaticTable(nn.Module):
    """A table of word pieces; a text is the sum of its rows, scaled to length 1."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = nn.Parameter(table.clone())  # (V, D)
        self.log_gains = nn.Parameter(torch.zeros(len(table)))

    def encode_sentences(self, bags: Bags) -> Tensor:
        """Return the vectors of sentences, (T, D)."""
        return self._encode(bags, self._place(bags.weights))

    def encode_questions(self, bags: Bags) -> Tensor:
        """Return the vectors of questions, (T, D)."""
        gains = self.log_gains[self._place(bags.pieces)].exp()
        return self._encode(bags, self._place(bags.weights) * gains)

    def _encode(self, bags: Bags, weights: Tensor) -> Tensor:
        starts = self._place(np.concatenate([[0], bags.ends[:-1]]).astype(np.int64))
        sums = embedding_bag(
            self._place(bags.pieces).long(),
            self.table,
            starts,
            mode="sum",
            per_sample_weights=weights,
        )
        return normalize(sums, dim=1)

    def _place(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(values).to(self.table.device)
