"""The training loop: plain torch, one generator, no callbacks.

The caller owns the model, the data and the clock; this module owns only the order in which
they meet.  Everything random depends on the seed and the step's number, so training
that goes on from a checkpoint ends where it would have ended.
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
from rejoinder.training.schedule import slanted_triangle

PEAKS = {"pointwise": 2e-3, "pairwise": 2e-4, "listwise": 2e-4, "anchored": 2e-4}


Measure = Callable[[nn.Module, Any, str], Tensor]
"""Gives the loss of a model on a batch; the text is the recipe's name for it."""


class Lists(Protocol):
    """Questions with their candidates, ready to be gathered into a batch.

    A batch has `labels`, one per pair, and `list_lengths`, one per question.
    """

    def batch(self, questions: Tensor) -> Any:
        """Return the pairs of these questions."""
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained; the defaults are the Cosinet paper's.

    The paper does not say how many questions one step holds; 4 was best on WikiQA dev
    (docs/models/rankers.md).
    """

    loss: str = "listwise"
    epochs: int = 3
    questions_per_step: int = 4
    learning_rate: float | None = None
    new_learning_rate: float | None = None
    """The highest of weights that begin from nothing beside learnt ones."""
    weight_decay: float = 0.0
    clip: float | None = None
    """Scale the gradient down to this length where it is longer."""
    questions_at_once: int | None = None
    """Accumulate the gradient over parts of a step, where a whole one needs too much memory."""
    seed: int = 0

    @property
    def peak(self) -> float:
        """The highest learning rate: the loss's own where none is given."""
        return self.learning_rate or PEAKS[self.loss]


@dataclass(frozen=True, slots=True)
class Step:
    """What happened in one optimizer step, counted from 1."""

    number: int
    of: int
    epoch: int
    loss: float
    ends_epoch: bool


def make_optimizer(model: nn.Module, recipe: Recipe) -> Optimizer:
    """Return Adam, with decoupled weight decay where the recipe asks for it.

    Each group of weights has its own `peak`: a network says with `get_new_parameters` which of
    its weights are new.
    """
    groups: list[dict[str, Any]] = [{"params": list(model.parameters()), "peak": recipe.peak}]
    new = list(getattr(model, "get_new_parameters", list)())
    if recipe.new_learning_rate is not None and new:
        known = {id(parameter) for parameter in new}
        learnt = [parameter for parameter in model.parameters() if id(parameter) not in known]
        groups = [
            {"params": learnt, "peak": recipe.peak},
            {"params": new, "peak": recipe.new_learning_rate},
        ]
    if recipe.weight_decay:
        return AdamW(groups, lr=recipe.peak, weight_decay=recipe.weight_decay, fused=True)
    return Adam(groups, lr=recipe.peak, fused=True)


def train(
    model: nn.Module,
    lists: Lists,
    recipe: Recipe,
    optimizer: Optimizer,
    *,
    order: Callable[[int], Tensor],
    done: int = 0,
    measure: Measure | None = None,
) -> Iterator[Step]:
    """Train, yielding after every step.

    It is a generator, so that the caller decides what a step is worth: show it, evaluate,
    save a checkpoint, or stop by leaving the loop.

    Args:
        model: gives a batch of the lists one score per pair.
        order: which questions an epoch reads, in which order; every epoch as many.
        done: how many steps a checkpoint has behind it.
        measure: the loss of a batch, where it is none of `LOSSES` over scores.

    Raises:
        TrainingError: the loss is not a finite number.
    """
    measure = measure or measure_loss
    per_epoch = ceil(len(order(0)) / recipe.questions_per_step)
    steps = per_epoch * recipe.epochs
    for epoch in range(done // per_epoch, recipe.epochs):
        for place, questions in enumerate(order(epoch).split(recipe.questions_per_step)):
            number = epoch * per_epoch + place
            if number < done:
                continue
            for group in optimizer.param_groups:
                group["lr"] = group["peak"] * slanted_triangle(number, steps)
            loss = _take_step(model, lists, questions, recipe, optimizer, number, measure)
            if not isfinite(loss):
                raise TrainingError(
                    f"the loss became {loss} at step {number + 1} of {steps};"
                    " lower the learning rate, or look for odd vectors"
                )
            yield Step(number + 1, steps, epoch + 1, loss, place + 1 == per_epoch)


def _take_step(
    model: nn.Module,
    lists: Lists,
    questions: Tensor,
    recipe: Recipe,
    optimizer: Optimizer,
    number: int,
    measure: Measure,
) -> float:
    model.train()
    optimizer.zero_grad()
    total = 0.0
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed * 1_000_003 + number)
        for part in questions.split(recipe.questions_at_once or len(questions)):
            loss = measure(model, lists.batch(part), recipe.loss)
            loss = loss * (len(part) / len(questions))
            loss.backward()
            total += loss.item()
    if recipe.clip is not None:
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    optimizer.step()
    return total


def measure_loss(model: nn.Module, batch: Any, loss: str) -> Tensor:
    """Return the loss with this name of a batch's scores."""
    scores, mask = pad_lists(model(batch), batch.list_lengths)
    labels, _ = pad_lists(batch.labels, batch.list_lengths)
    return LOSSES[loss](scores, labels, mask)
