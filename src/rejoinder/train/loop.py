"""The training loop: plain torch, one generator, no callbacks.

The caller owns the model, the data and the clock; this module owns only the order in which
they meet.  Everything random depends on the seed and the step's number, so training
that goes on from a checkpoint ends where it would have ended.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, isfinite

import torch
from torch import Tensor
from torch.optim import Adam, AdamW, Optimizer

from rejoinder.errors import TrainingError
from rejoinder.train.losses import LOSSES, pad_lists
from rejoinder.train.models.ranker import Ranker
from rejoinder.train.pairs import Pairs
from rejoinder.train.schedule import slanted_triangle

PEAKS = {"pointwise": 2e-3, "pairwise": 2e-4, "listwise": 2e-4}


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is trained; the defaults are the Cosinet paper's.

    The paper does not say how many questions one step holds; 4 was best on WikiQA dev
    (docs/models.md).
    """

    loss: str = "listwise"
    epochs: int = 3
    questions_per_step: int = 4
    learning_rate: float | None = None
    weight_decay: float = 0.0
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


def make_optimizer(model: Ranker, recipe: Recipe) -> Optimizer:
    """Return Adam, with decoupled weight decay where the recipe asks for it."""
    if recipe.weight_decay:
        return AdamW(
            model.parameters(), lr=recipe.peak, weight_decay=recipe.weight_decay, fused=True
        )
    return Adam(model.parameters(), lr=recipe.peak, fused=True)


def train(
    model: Ranker,
    pairs: Pairs,
    recipe: Recipe,
    optimizer: Optimizer,
    *,
    order: Callable[[int], Tensor],
    done: int = 0,
) -> Iterator[Step]:
    """Train, yielding after every step.

    It is a generator, so that the caller decides what a step is worth: show it, evaluate,
    save a checkpoint, or stop by leaving the loop.

    Args:
        order: which questions an epoch reads, in which order; every epoch as many.
        done: how many steps a checkpoint has behind it.

    Raises:
        TrainingError: the loss is not a finite number.
    """
    per_epoch = ceil(len(order(0)) / recipe.questions_per_step)
    steps = per_epoch * recipe.epochs
    for epoch in range(done // per_epoch, recipe.epochs):
        for place, questions in enumerate(order(epoch).split(recipe.questions_per_step)):
            number = epoch * per_epoch + place
            if number < done:
                continue
            for group in optimizer.param_groups:
                group["lr"] = recipe.peak * slanted_triangle(number, steps)
            loss = _take_step(model, pairs, questions, recipe, optimizer, number)
            if not isfinite(loss):
                raise TrainingError(
                    f"the loss became {loss} at step {number + 1} of {steps};"
                    " lower the learning rate, or look for odd vectors"
                )
            yield Step(number + 1, steps, epoch + 1, loss, place + 1 == per_epoch)


def _take_step(
    model: Ranker,
    pairs: Pairs,
    questions: Tensor,
    recipe: Recipe,
    optimizer: Optimizer,
    number: int,
) -> float:
    model.train()
    batch = pairs.batch(questions)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed * 1_000_003 + number)
        scores = model(batch)
    padded, mask = pad_lists(scores, batch.list_lengths)
    labels, _ = pad_lists(batch.labels, batch.list_lengths)
    loss = LOSSES[recipe.loss](padded, labels, mask)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
