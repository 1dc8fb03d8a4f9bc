"""Compare-Aggregate: each word is compared with its attention over the other side.

Wang & Jiang 2017, "A Compare-Aggregate Model for Matching Text Sequences" (arXiv 1611.01747),
as Bonadiman & Moschitti 2020 re-implement it.  A gated projection reads the words; each word
attends to those of the other side; word and attended vector are multiplied element by
element; convolutions of widths 1 to 5, ReLU and max-pooling aggregate the products of a side.

Deviations from Wang & Jiang, which follow from the parameter counts of the re-implementation:
the attention has no weights, both sides are aggregated (theirs: the candidate's alone), and no
layer is between the aggregate and the score.  Further deviations: texts are padded so that one
of a single word has a window of every width; vectors may have any width and are projected
to 300; a vector's length is the root of its width.

Axes: P pairs, N words, E vector width, H reader width, Q and C words of the longest question
and candidate.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from rejoinder.models.ranker.module.convolution import PooledConvolutions
from rejoinder.models.ranker.module.heads import LstmModule
from rejoinder.models.ranker.module.pairs import Batch, join_ranges, pad_lists, start_offsets

WIDTH = 300
KERNELS = (1, 2, 3, 4, 5)


def rescale(vectors: Tensor) -> Tensor:
    """Scale vectors of length 1 so that a component is about 1.

    The products of small numbers are smaller still: with vectors of length 1 three epochs
    teach this network next to nothing (docs/models/rankers.md).
    """
    return vectors * vectors.shape[1] ** 0.5


class GatedProjection(nn.Module):
    """sigmoid(W x + b) * tanh(V x + d) of each word by itself, the same for both sides."""

    def __init__(self, vector_width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(vector_width, WIDTH)
        self.update = nn.Linear(vector_width, WIDTH)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the words of the questions and of the candidates, shape (N, H) each."""
        vectors = rescale(batch.vectors)
        projected = self.gate(vectors).sigmoid() * self.update(vectors).tanh()
        return (
            projected.index_select(0, batch.question.words),
            projected.index_select(0, batch.candidate.words),
        )


class BilstmReader(nn.Module):
    """A bidirectional LSTM over the words of each text, the same for both sides."""

    def __init__(self, vector_width: int) -> None:
        super().__init__()
        self.lstm = LstmModule(vector_width, WIDTH // 2, directions=2)

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the words of the questions and of the candidates, shape (N, H) each."""
        question, candidate = batch.question, batch.candidate
        # The pairs of a list share one question; it is read once.
        pairs_of_list = batch.list_lengths[batch.list_lengths > 0]
        lengths = question.lengths[start_offsets(pairs_of_list)]
        once = join_ranges(start_offsets(lengths * pairs_of_list), lengths)
        words = torch.cat([question.words[once], candidate.words])
        vectors = rescale(batch.vectors)
        read = self.lstm(vectors[words], torch.cat([lengths, candidate.lengths]))
        q, c = read.split([len(once), len(candidate.words)])
        starts = torch.repeat_interleave(start_offsets(lengths), pairs_of_list)
        return q.index_select(0, join_ranges(starts, question.lengths)), c


class CompareAggregate(nn.Module):
    """Encodes each pair by the comparisons of its words."""

    pair_width = 2 * len(KERNELS) * WIDTH
    hidden_width = 2 * WIDTH
    """Output width of a head; it follows from the paper's parameter counts."""
    reader: ClassVar[type[nn.Module]] = GatedProjection

    def __init__(self, vector_width: int) -> None:
        super().__init__()
        self.read = self.reader(vector_width)
        self.question = PooledConvolutions(WIDTH, channels=WIDTH, kernels=KERNELS)
        self.candidate = PooledConvolutions(WIDTH, channels=WIDTH, kernels=KERNELS)

    def forward(self, batch: Batch) -> Tensor:
        """Return the pairs, shape (P, 10 * H)."""
        question, candidate = batch.question, batch.candidate
        q, c = self.read(batch)
        attended_q, attended_c = attend(q, question.lengths, c, candidate.lengths)
        sides = [
            self.question(q * attended_q, question.lengths).relu(),
            self.candidate(c * attended_c, candidate.lengths).relu(),
        ]
        return torch.cat(sides, dim=1)


class CompareAggregateBilstm(CompareAggregate):
    """The variant that reads words in their context.

    Matsubara et al. 2020, "Reranking for Efficient Transformer-based Answer Selection",
    section 4.1.4: a BiLSTM of hidden width 300 instead of the projection.  The paper does not
    say whether that is one direction or both; here it is both, 150 each, so that the layers
    after it are the same.
    """

    reader = BilstmReader


def attend(
    q: Tensor, question_lengths: Tensor, c: Tensor, candidate_lengths: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the dot-product attention of each word over the other side, in their shapes.

    `q` and `c` are the words (N, H) of all questions, and of all candidates, one after another.
    """
    padded_q, is_q = _pad(q, question_lengths)  # (P, Q, H), (P, Q)
    padded_c, is_c = _pad(c, candidate_lengths)  # (P, C, H), (P, C)
    similarities = padded_q @ padded_c.transpose(1, 2)  # (P, Q, C)
    # A padded word would still have the weight exp(0).
    over_c = similarities.masked_fill(~is_c[:, None, :], float("-inf")).softmax(dim=2)
    over_q = similarities.masked_fill(~is_q[:, :, None], float("-inf")).softmax(dim=1)
    return _flatten(over_c @ padded_c, is_q), _flatten(over_q.transpose(1, 2) @ padded_q, is_c)


def _pad(rows: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    positions, mask = pad_lists(torch.arange(len(rows), device=rows.device), lengths)
    return rows.index_select(0, positions.flatten()).view(*positions.shape, -1), mask


def _flatten(padded: Tensor, mask: Tensor) -> Tensor:
    return padded.flatten(0, 1).index_select(0, mask.flatten().nonzero().squeeze(1))
