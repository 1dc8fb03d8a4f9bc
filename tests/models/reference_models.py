"""The pair encoders written as in their papers, one pair at a time, and batches to test them on."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from rejoinder.models.compare_aggregate.module import (
    BilstmReader,
    CompareAggregate,
    GatedProjection,
)
from rejoinder.models.ranker.module.convolution import PooledConvolution, PooledConvolutions
from rejoinder.models.ranker.module.pairs import Batch, Side, TrainingPairs, pad_lists
from rejoinder.models.ranker.module.ranker import RankerConfig, initialise
from rejoinder.models.rel_cnn.module import RelCnn, find_shared
from rejoinder.training.losses import LOSSES
from rejoinder.types import Candidate, Example
from tests.models.examples import WIDTH, SpelledVectors

VOCABULARY = ["ant", "bee", "cat", "dog", "elk", "fox", "gnu", "hen", "ibis", "jay"]

Lengths = Sequence[tuple[int, Sequence[int]]]
"""Words of each question, and of each of its candidates."""
LENGTHS: list[Lengths] = [
    [(3, [4, 1, 9])],
    [(1, [1])],
    [(1, [7, 2]), (12, [1, 3, 30])],
    [(5, [2, 2, 2]), (2, [6]), (4, [5, 4])],
]


def make_batch(lists: Lengths) -> Batch:
    """Return one batch of all lists; the first candidate of each is the answer."""
    rng = np.random.default_rng(0)

    def write(words: int) -> str:
        return " ".join(rng.choice(VOCABULARY, words))

    examples = [
        Example(
            id=str(number),
            question=write(question),
            candidates=tuple(
                Candidate(f"{number}-{place}", write(words))
                for place, words in enumerate(candidates)
            ),
            labels=tuple(place == 0 for place in range(len(candidates))),
        )
        for number, (question, candidates) in enumerate(lists)
    ]
    return TrainingPairs(examples, SpelledVectors()).batch(torch.arange(len(examples)))


def take_pair(batch: Batch, pair: int) -> Batch:
    """Return a batch of one pair alone."""

    def take(side: Side) -> Side:
        lengths = side.lengths.tolist()
        words, related = side.words.split(lengths)[pair], side.related.split(lengths)[pair]
        return Side(words, related, side.lengths[pair : pair + 1])

    one = torch.ones(1, dtype=torch.long)
    return replace(
        batch,
        question=take(batch.question),
        candidate=take(batch.candidate),
        labels=batch.labels[pair : pair + 1],
        list_lengths=one,
        segment_lengths=one,
    )


def assert_agree(encoder: nn.Module, plain: Callable[..., Tensor], *inputs: Batch | Tensor) -> None:
    """Compare outputs, and the gradients of every parameter and of every input that has one."""
    learnt: list[Tensor] = [*encoder.parameters()]
    learnt += [given for given in inputs if isinstance(given, Tensor) and given.requires_grad]

    actual = encoder(*inputs)
    expected = plain(encoder, *inputs)
    weights = torch.randn(actual.shape) / actual.shape[1] ** 0.5
    actual_gradients = torch.autograd.grad((actual * weights).sum(), learnt)
    expected_gradients = torch.autograd.grad((expected * weights).sum(), learnt)

    torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-5)
    for one, other in zip(actual_gradients, expected_gradients, strict=True):
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-4)


def memorise(model: str, loss: str, *, steps: int) -> tuple[float, float]:
    """Return the loss before and after training on one batch."""
    batch = make_batch([(3, [5, 1, 4]), (6, [2, 8])])
    ranker = initialise(RankerConfig(model, WIDTH), seed=0)
    optimizer = torch.optim.Adam(ranker.parameters(), lr=3e-3, fused=True)
    labels, mask = pad_lists(batch.labels, batch.list_lengths)
    losses = []
    for _ in range(steps):
        scores, _ = pad_lists(ranker(batch), batch.list_lengths)
        value = LOSSES[loss](scores, labels, mask)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        losses.append(value.item())
    return losses[0], losses[-1]


def encode_rel_cnn(model: RelCnn, batch: Batch) -> Tensor:
    pairs = []
    for question, candidate in _split(batch):
        q = _convolve_overlap(model.question, batch.vectors, question)
        c = _convolve_overlap(model.candidate, batch.vectors, candidate)
        similarity = q @ model.similarity.weight @ c
        pairs.append(model.hidden(torch.cat([q, similarity[None], c])).relu())
    return torch.stack(pairs)


def encode_compare_aggregate(model: CompareAggregate, batch: Batch) -> Tensor:
    pairs = []
    for question, candidate in _split(batch):
        q = _read(model.read, batch.vectors[question.words])
        c = _read(model.read, batch.vectors[candidate.words])
        similarities = q @ c.t()
        attended_q, attended_c = (
            similarities.softmax(dim=1) @ c,
            similarities.t().softmax(dim=1) @ q,
        )
        sides = [
            convolve_plainly(model.question, q * attended_q, question.lengths),
            convolve_plainly(model.candidate, c * attended_c, candidate.lengths),
        ]
        pairs.append(torch.cat(sides, dim=1)[0].relu())
    return torch.stack(pairs)


def convolve_plainly(module: PooledConvolutions, rows: Tensor, lengths: Tensor) -> Tensor:
    texts = []
    for text in rows.split(lengths.tolist()):
        pooled = []
        for layer in module.convolutions:
            weight, bias = layer.get_parameter("weight"), layer.get_parameter("bias")
            by_row = weight.unflatten(1, (-1, rows.shape[1])).transpose(1, 2)  # (C, E, K)
            kernel = by_row.shape[2]
            # What padding="same" does; it warns that it copies where the width is even.
            padded = functional.pad(text.t(), ((kernel - 1) // 2, kernel // 2))
            pooled.append(functional.conv1d(padded, by_row, bias).amax(dim=1))
        texts.append(torch.cat(pooled))
    return torch.stack(texts)


def _split(batch: Batch) -> list[tuple[Side, Side]]:
    pairs = [take_pair(batch, pair) for pair in range(len(batch.labels))]
    return [(pair.question, pair.candidate) for pair in pairs]


def _convolve_overlap(module: PooledConvolution, vectors: Tensor, side: Side) -> Tensor:
    weight, cases, bias = (
        module.convolution.get_parameter(name)
        for name in ("parametrizations.weight.original", "parametrizations.weight.0.cases", "bias")
    )
    text = torch.cat([vectors[side.words], cases[find_shared(side).long()]], dim=1)  # (L, E + 5)
    positions = functional.conv1d(text.t(), weight, bias, padding=2)
    return positions.relu().amax(dim=1)


def _read(reader: nn.Module, text: Tensor) -> Tensor:
    text = text * text.shape[1] ** 0.5
    if isinstance(reader, BilstmReader):
        read: Tensor = reader.lstm.network(text)[0]
        return read
    assert isinstance(reader, GatedProjection)
    return reader.gate(text).sigmoid() * reader.update(text).tanh()
