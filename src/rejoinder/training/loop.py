"""The training loop: plain torch, one generator, no callbacks.

The caller owns the model, the data and the clock.  Everything random depends only on the seed
and on the step's number, so a resumed training ends with the same bits.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, isfinite
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from rejoinder.errors import TrainingError
from rejoinder.models.ranker.module.pairs import pad_lists
from rejoinder.training.losses import LOSSES

PEAKS = {"pointwise": 2e-3, "pairwise": 2e-4, "listwise": 2e-4, "anchored": 2e-4}
"""Default peak learning rate of each loss."""

MeasureLoss = Callable[[nn.Module, Any, str], Tensor]
"""Computes the loss of a model on a batch; the text is the name of the loss."""


class BatchSource(Protocol):
    """Training examples that can be gathered into batches.

    A batch has `labels`, one per pair, and `list_lengths`, one per question, unless the
    training computes its loss itself.
    """

    def batch(self, questions: Tensor) -> Any:
        """Return the pairs of these questions."""
        ...

    def describe(self) -> Any:
        """Return plain JSON that identifies the examples, for a checkpoint's fingerprint."""
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """Hyper-parameters of a training; the defaults are the Cosinet paper's.

    The paper does not give the number of questions per step; 4 was best on WikiQA dev
    (docs/models/rankers.md).
    """

    loss: str = "listwise"
    epochs: int = 3
    questions_per_step: int = 4
    learning_rate: float | None = None
    new_learning_rate: float | None = None
    """Peak learning rate of new weights beside pretrained ones."""
    weight_decay: float = 0.0
    clip: float | None = None
    """Largest norm of the gradient."""
    questions_at_once: int | None = None
    """Accumulate gradients over parts of a step, to save memory."""
    seed: int = 0

    @property
    def peak(self) -> float:
        """The peak learning rate; without `learning_rate`, the default of the loss."""
        return self.learning_rate or PEAKS[self.loss]


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one optimizer step, counted from 1."""

    number: int
    of: int
    epoch: int
    loss: float
    ends_epoch: bool


def use_threads(count: int | None) -> None:
    """Limit torch to this number of threads; None keeps its default."""
    if count is not None:
        torch.set_num_threads(count)


def slanted_triangle(step: int, steps: int) -> float:
    """Return the share of the peak learning rate at a step, counted from 0.

    Howard & Ruder 2018, "Universal Language Model Fine-tuning for Text Classification", with
    their constants: the first tenth of all steps rises, and the ends are 1/32 of the peak.

    >>> [round(slanted_triangle(step, 20), 3) for step in (0, 1, 2, 11, 19)]
    [0.031, 0.516, 1.0, 0.516, 0.085]
    """
    peak = max(1, int(steps * 0.1))
    height = step / peak if step < peak else 1 - (step - peak) / max(1, steps - peak)
    return (1 + height * 31) / 32


def make_optimizer(model: nn.Module, recipe: Recipe) -> Optimizer:
    """Return Adam, or AdamW if the recipe has weight decay.

    Each parameter group has its own `peak`; a network lists its new weights with
    `get_new_parameters`.
    """
    new = list(getattr(model, "get_new_parameters", list)()) if recipe.new_learning_rate else []
    ids = {id(parameter) for parameter in new}
    pretrained = [parameter for parameter in model.parameters() if id(parameter) not in ids]
    groups: list[dict[str, Any]] = [{"params": pretrained, "peak": recipe.peak}]
    if new:
        groups.append({"params": new, "peak": recipe.new_learning_rate})
    if recipe.weight_decay:
        return AdamW(groups, lr=recipe.peak, weight_decay=recipe.weight_decay, fused=True)
    return Adam(groups, lr=recipe.peak, fused=True)


def train(
    model: nn.Module,
    source: BatchSource,
    recipe: Recipe,
    optimizer: Optimizer,
    *,
    order: Callable[[int], Tensor],
    done: int = 0,
    measure: MeasureLoss | None = None,
) -> Iterator[Step]:
    """Train, yielding after every step, so that the caller can evaluate, save or stop.

    Args:
        model: returns one score per pair of a batch.
        order: returns the questions of an epoch in order; every epoch has the same number.
        done: steps already taken, when a training is resumed.
        measure: computes the loss of a batch, if it is none of `LOSSES` over scores.
    """
    compute_loss = measure or measure_loss

    def take_step(questions: Tensor, number: int) -> float:
        model.train()
        optimizer.zero_grad()
        total = 0.0
        with torch.random.fork_rng():
            torch.manual_seed(recipe.seed * 1_000_003 + number)
            for part in questions.split(recipe.questions_at_once or len(questions)):
                loss = compute_loss(model, source.batch(part), recipe.loss)
                loss = loss * (len(part) / len(questions))
                loss.backward()
                total += loss.item()
        if recipe.clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        return total

    per_epoch = ceil(len(order(0)) / recipe.questions_per_step)
    steps = per_epoch * recipe.epochs
    for epoch in range(done // per_epoch, recipe.epochs):
        for place, questions in enumerate(order(epoch).split(recipe.questions_per_step)):
            number = epoch * per_epoch + place
            if number < done:
                continue
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * slanted_triangle(number, steps)
            loss = take_step(questions, number)
            if not isfinite(loss):
                raise TrainingError(
                    f"the loss became {loss} at step {number + 1} of {steps};"
                    " lower the learning rate, or check the vectors"
                )
            yield Step(number + 1, steps, epoch + 1, loss, place + 1 == per_epoch)


def measure_loss(model: nn.Module, batch: Any, loss: str) -> Tensor:
    """Return the loss with this name over a batch's scores."""
    scores, mask = pad_lists(model(batch), batch.list_lengths)
    labels, _ = pad_lists(batch.labels, batch.list_lengths)
    return LOSSES[loss](scores, labels, mask)
