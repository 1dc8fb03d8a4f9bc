"""The training loop: plain torch, one generator, no callbacks.

The caller owns the model, the data and the clock.  Everything random depends only on the seed
and on the step's number, so a resumed training ends with the same bits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isfinite
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.amp import GradScaler
from torch.optim import Adam, AdamW, Optimizer

from rejoinder.errors import TrainingError
from rejoinder.models.ranker.module.pairs import move, pad_lists
from rejoinder.training.devices import (
    Compute,
    choose_compute,
    count_processes,
    explain_out_of_memory,
    has_fused_optimizer,
    sum_gradients,
    sum_over_processes,
    take_share,
)
from rejoinder.training.losses import MEANS, count_terms, measure_terms

PEAKS = {"pointwise": 2e-3, "pairwise": 2e-4, "listwise": 2e-4, "anchored": 2e-4}
"""Default peak learning rate of each loss."""

MeasureLoss = Callable[[nn.Module, Any, str], Tensor]
"""Computes the loss of a model on a batch: one mean, or several; the text names the loss."""


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
    pairs_per_step: int | None = None
    """Pairs per step, drawn from all lists, instead of whole lists; each is an example."""
    learning_rate: float | None = None
    new_learning_rate: float | None = None
    """Peak learning rate of new weights beside pretrained ones."""
    weight_decay: float = 0.0
    clip: float | None = None
    """Largest norm of the gradient."""
    questions_at_once: int | None = None
    """Accumulate gradients over parts of a step, to save memory; None computes all at once."""
    seed: int = 0

    @property
    def examples_per_step(self) -> int:
        """How many examples a step reads."""
        return self.pairs_per_step or self.questions_per_step

    @property
    def peak(self) -> float:
        """The peak learning rate; without `learning_rate`, the default of the loss."""
        return self.learning_rate or PEAKS[self.loss]


@dataclass(frozen=True, slots=True)
class TrainingState:
    """Everything that a step changes, on the device of a training."""

    model: nn.Module
    optimizer: Optimizer
    scaler: GradScaler
    compute: Compute


@dataclass(frozen=True, slots=True)
class Step:
    """The result of one optimizer step, counted from 1."""

    number: int
    of: int
    epoch: int
    loss: float
    ends_epoch: bool
    dev: Mapping[str, float] = field(default_factory=dict)
    """The measure on dev after an epoch, by name; empty where it was not measured."""


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


def make_state(model: nn.Module, recipe: Recipe, compute: Compute | None = None) -> TrainingState:
    """Move a model to the device of a training, and return it with its optimizer."""
    compute = compute or choose_compute()
    model.to(compute.device)
    return TrainingState(model, make_optimizer(model, recipe), compute.make_scaler(), compute)


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
    fused = has_fused_optimizer(model)
    if recipe.weight_decay:
        return AdamW(groups, lr=recipe.peak, weight_decay=recipe.weight_decay, fused=fused)
    return Adam(groups, lr=recipe.peak, fused=fused)


def train(
    state: TrainingState,
    source: BatchSource,
    recipe: Recipe,
    *,
    order: Callable[[int], Tensor],
    done: int = 0,
    measure: MeasureLoss | None = None,
) -> Iterator[Step]:
    """Train, yielding after every step, so that the caller can evaluate, save or stop.

    Args:
        state: its model returns one score per pair of a batch.
        order: returns the questions of an epoch in order; every epoch has the same number.
        done: steps already taken, when a training is resumed.
        measure: computes the loss of a batch, a mean over questions, if it is none of `LOSSES`.
    """
    per_epoch = ceil(len(order(0)) / recipe.examples_per_step)
    steps = per_epoch * recipe.epochs
    for epoch in range(done // per_epoch, recipe.epochs):
        for place, questions in enumerate(order(epoch).split(recipe.examples_per_step)):
            number = epoch * per_epoch + place
            if number < done:
                continue
            for group in state.optimizer.param_groups:
                group["lr"] = group["peak"] * slanted_triangle(number, steps)
            with state.compute.seeded(recipe.seed * 1_000_003 + number):
                loss = _take_step(state, source, recipe, questions, measure)
            if not isfinite(loss):
                raise TrainingError(
                    f"the loss became {loss} at step {number + 1} of {steps};"
                    " lower the learning rate, or check the vectors"
                )
            yield Step(number + 1, steps, epoch + 1, loss, place + 1 == per_epoch)


def _take_step(
    state: TrainingState,
    source: BatchSource,
    recipe: Recipe,
    questions: Tensor,
    measure: MeasureLoss | None,
) -> float:
    """Update the weights by the gradient of all questions; return their loss."""
    model, optimizer, scaler = state.model.train(), state.optimizer, state.scaler
    device = state.compute.device
    optimizer.zero_grad()
    own = take_share(questions)
    parts = own.split(recipe.questions_at_once or len(own)) if len(own) else ()
    batches = [source.batch(part) for part in parts]
    shares = _weigh(batches, parts, recipe.loss if measure is None else None, device)
    total = torch.zeros((), device=device)
    with explain_out_of_memory(max(map(len, parts), default=0)):
        for batch, share in zip(batches, shares, strict=True):
            means = (measure or measure_means)(model, move(batch, device), recipe.loss)
            loss = (means * share).sum()
            scaler.scale(loss).backward()
            total += loss.detach()
    sum_gradients(model, total)
    if recipe.clip is not None:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
    scaler.step(optimizer)
    scaler.update()
    return total.item()


def _weigh(
    batches: Sequence[Any], parts: Sequence[Tensor], loss: str | None, device: torch.device
) -> Sequence[Tensor]:
    """Return the share of each part in the means of the whole step, of all processes.

    The means of a loss are over candidates, answers or questions; without its name, it is one
    mean over questions.
    """
    if len(parts) == 1 and count_processes() == 1:
        return [torch.ones(1, device=device)]
    counts = torch.zeros(len(parts), len(MEANS[loss]) if loss else 1, device=device)
    for row, (batch, part) in enumerate(zip(batches, parts, strict=True)):
        counts[row] = _count_terms(batch, loss) if loss else len(part)
    totals = counts.sum(dim=0)
    sum_over_processes([totals])
    return (counts / totals.clamp(min=1)).unbind()


def measure_means(model: nn.Module, batch: Any, loss: str) -> Tensor:
    """Return the means over a batch's scores that the loss with this name adds up."""
    scores, mask = pad_lists(model(batch), batch.list_lengths)
    labels, _ = pad_lists(batch.labels, batch.list_lengths)
    return measure_terms(loss, scores, labels, mask)


def _count_terms(batch: Any, loss: str) -> Tensor:
    labels, mask = pad_lists(batch.labels, batch.list_lengths)
    return count_terms(loss, labels, mask)
