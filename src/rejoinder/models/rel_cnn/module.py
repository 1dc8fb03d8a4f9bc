"""Rel-CNN: a convolution over word vectors and overlap embeddings on each side of the pair.

Severyn & Moschitti 2015, "Learning to Rank Short Text Pairs with Convolutional Deep Neural
Networks", with the overlap embeddings of Severyn & Moschitti 2016, "Modeling Relational
Information in Question-Answer Pairs with Convolutional Neural Networks" (arXiv 1604.01178).
Each word's vector is concatenated with a learnt embedding of whether the other side has the
same word; a convolution of kernel 5 for each side, ReLU and max-pooling give q and c; a hidden
layer over [q; q' M c; c] gives the pair.

The papers do not say whether the sides share their overlap embeddings (here, as in the authors'
code, they do not) and how these are initialised (as there, normal with deviation 0.25).
Deviations: the embeddings replace the overlap features that the first paper adds to the
hidden layer; texts are padded by two words on each side (theirs: four); the score is one
number (theirs: two classes).

Axes: P pairs, N words, E vector width, U overlap width, C channels, K kernel.
"""

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import register_parametrization

from rejoinder.models.ranker.module.convolution import PooledConvolution
from rejoinder.models.ranker.module.pairs import Batch, Side
from rejoinder.models.rel_cnn.network import IDENTICAL

CHANNELS = 100
OVERLAP_WIDTH = 5


class RelCnn(nn.Module):
    """Encodes each pair by both of its sides and their learnt similarity."""

    pair_width = 2 * CHANNELS + 1
    hidden_width = 2 * CHANNELS

    def __init__(self, vector_width: int) -> None:
        super().__init__()
        self.question = make_overlap_convolution(vector_width)
        self.candidate = make_overlap_convolution(vector_width)
        self.similarity = nn.Linear(CHANNELS, CHANNELS, bias=False)
        self.hidden = nn.Linear(self.pair_width, self.pair_width)

    def forward(self, batch: Batch) -> Tensor:
        """Return the pairs, shape (P, 2 * C + 1)."""
        q = _encode(self.question, batch.vectors[: batch.question_rows], batch.question)
        c = _encode(self.candidate, batch.vectors, batch.candidate)
        similarity = (q * self.similarity(c)).sum(dim=1, keepdim=True)
        pairs: Tensor = self.hidden(torch.cat([q, similarity, c], dim=1)).relu()
        return pairs


class OverlapEmbedding(nn.Module):
    """Turns a kernel over overlap embeddings into one over two indicators: not shared, shared.

    An embedding of two cases is linear in their indicators, so its product with the kernel
    is the kernel of two features, which are as frozen as the word vectors.
    """

    def __init__(self, vector_width: int) -> None:
        super().__init__()
        self.vector_width = vector_width
        self.cases = nn.Parameter(torch.randn(2, OVERLAP_WIDTH) * 0.25)

    def forward(self, weight: Tensor) -> Tensor:
        """Take a kernel of shape (C, E + U, K); return shape (C, E + 2, K)."""
        by_case = torch.einsum("fu,cuk->cfk", self.cases, weight[:, self.vector_width :])
        return torch.cat([weight[:, : self.vector_width], by_case], dim=1)


def make_overlap_convolution(vector_width: int) -> PooledConvolution:
    """Return a convolution over words and [not shared, shared]."""
    pooled = PooledConvolution(vector_width, features=OVERLAP_WIDTH, channels=CHANNELS)
    # unsafe: the composed kernel has another shape than the learnt one.
    register_parametrization(
        pooled.convolution, "weight", OverlapEmbedding(vector_width), unsafe=True
    )
    return pooled


def find_shared(side: Side) -> Tensor:
    """Return 1.0 for each word that the other side has too, else 0.0, shape (N,)."""
    return (side.related > IDENTICAL).float()


def _encode(convolution: PooledConvolution, vectors: Tensor, side: Side) -> Tensor:
    shared = find_shared(side)
    cases = torch.stack([1 - shared, shared], dim=1)  # (N, 2)
    pooled: Tensor = convolution(vectors, side.words, cases, side.lengths)
    return pooled.relu()  # the same as before max-pooling
