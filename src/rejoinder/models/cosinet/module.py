"""Cosinet: a convolution over word vectors and word relatedness on each side of the pair.

Bonadiman & Moschitti 2020, "A Study on Efficiency, Accuracy and Document Structure for
Answer Sentence Selection", section 3.1.  Each word's vector is concatenated with its
largest cosine to the other side; a convolution of kernel 5 for each side, max-pooled, gives q and
c; the pair is [q * c; q - c].  The paper names no activation, and there is none here.
Deviations: vectors have length 1; texts are padded by two words on each side, so that
one of a single word has a position.

Axes: P pairs, E vector width, C channels.
"""

import torch
from torch import Tensor, nn

from rejoinder.models.ranker.module.convolution import PooledConvolution
from rejoinder.models.ranker.module.pairs import Batch, Side

CHANNELS = 300


class Cosinet(nn.Module):
    """Encodes each pair as [q * c; q - c]."""

    pair_width = 2 * CHANNELS
    hidden_width = CHANNELS
    """Output width of a head; it follows from the paper's parameter counts."""

    def __init__(self, vector_width: int) -> None:
        super().__init__()
        self.question = PooledConvolution(vector_width, features=1, channels=CHANNELS)
        self.candidate = PooledConvolution(vector_width, features=1, channels=CHANNELS)

    def forward(self, batch: Batch) -> Tensor:
        """Return the pairs, shape (P, 2 * C)."""
        q = _encode(self.question, batch.vectors[: batch.question_rows], batch.question)
        c = _encode(self.candidate, batch.vectors, batch.candidate)
        return torch.cat([q * c, q - c], dim=1)


def _encode(convolution: PooledConvolution, vectors: Tensor, side: Side) -> Tensor:
    pooled: Tensor = convolution(vectors, side.words, side.related[:, None], side.lengths)
    return pooled
