"""One training from start to end: checkpoints on the way, the last or the best weights kept."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from torch import nn
from torch.optim import Optimizer

from rejoinder.errors import TrainingError
from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.module.ranker import count_parameters
from rejoinder.models.scorer import Scorer
from rejoinder.training.checkpoint import (
    Best,
    keep_checkpoint,
    load_checkpoint,
    make_fingerprint,
    save_checkpoint,
)
from rejoinder.training.loop import BatchSource, MeasureLoss, Recipe, Step, make_optimizer, train
from rejoinder.training.mixing import Part, TrainingSet, order_epoch
from rejoinder.training.options import Trained, TrainingOptions
from rejoinder.types import Example

SECONDS_BETWEEN_CHECKPOINTS = 30.0

Config = TypeVar("Config", covariant=True)
AnyConfig = TypeVar("AnyConfig")
Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Plan(Generic[Config]):
    """All that determines a training, except its examples and its initial weights."""

    config: Config
    recipe: Recipe
    keeps_best: bool = False
    """Keep the epoch with the highest MAP on dev, not the last one."""
    patience: int | None = None
    """Stop after this many epochs without a better one; needs `keeps_best`."""


@dataclass(frozen=True, slots=True)
class Fitted(Generic[Network]):
    """A trained network and the cost of its training."""

    model: Network
    seconds: float
    steps: int


def make_plan(options: TrainingOptions, config: AnyConfig, **fixed: Any) -> Plan[AnyConfig]:
    """Return the plan of a training.

    Args:
        fixed: hyper-parameters of the recipe that are not options.
    """
    names = {item.name for item in fields(Recipe)} & {item.name for item in fields(options)}
    recipe = Recipe(**{name: getattr(options, name) for name in names}, **fixed)
    return Plan(config, recipe, options.keep_best, options.patience)


def describe_training(
    plan: Plan[Any], fitted: Fitted[Any], *, data: Sequence[str], command: str = ""
) -> dict[str, Any]:
    """Return the provenance that a bundle's manifest records.

    Args:
        command: the command that reproduces the training, if there is one.
    """
    return {
        "data": list(data),
        **asdict(plan.recipe),
        "learning_rate": plan.recipe.peak,
        "kept": "best epoch on dev" if plan.keeps_best else "last epoch",
        "steps": fitted.steps,
        "seconds": round(fitted.seconds, 1),
        **({"command": command} if command else {}),
    }


class Control(TypedDict, total=False):
    """How a training is measured, resumed and followed."""

    dev: Sequence[Example]
    """Examples to choose the best epoch on."""
    checkpoint: Path | None
    """File to resume from, and to save the state in."""
    on_step: Callable[[Step], None]


class Hooks(TypedDict, total=False):
    """Callbacks of a training, and its provenance."""

    on_step: Callable[[Step], None]
    """Called after every optimizer step."""
    say: Callable[[str], None]
    """Receives messages for the user."""
    command: str
    """The command that repeats the training, for the manifest."""


def fit_and_write(
    plan: Plan[Any],
    data: TrainingSet,
    fit: Callable[..., Fitted[Network]],
    write: Callable[[Network, dict[str, Any]], None],
    *,
    on_step: Callable[[Step], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    command: str = "",
) -> Trained:
    """Train a network and write its bundle; the checkpoint stays until the bundle is written.

    Args:
        fit: takes plan and parts, and by keyword `dev`, `checkpoint` and `on_step`.
        write: takes the network and its provenance.
    """
    with keep_checkpoint(data.target, say) as checkpoint:
        fitted = fit(plan, data.parts, dev=data.dev, checkpoint=checkpoint, on_step=on_step)
        write(fitted.model, describe_training(plan, fitted, data=data.names, command=command))
    seconds = round(fitted.seconds, 2)
    return Trained(
        data.target, count_parameters(fitted.model), fitted.steps, seconds, data.dev_name
    )


def describe_weights(model: nn.Module) -> str:
    """Return a text that identifies these weights in a checkpoint's fingerprint."""
    return ",".join(f"{parameter.double().sum().item():.6g}" for parameter in model.parameters())


class TrainingRun(Generic[Network]):
    """One training: its network, its optimizer and its checkpoint."""

    def __init__(
        self,
        plan: Plan[Any],
        model: Network,
        parts: Sequence[Part],
        make_source: Callable[[Sequence[Part]], BatchSource],
        *,
        to_scorer: Callable[[Network], Scorer],
        start: str = "",
        measure: MeasureLoss | None = None,
        dev: Sequence[Example] = (),
        checkpoint: Path | None = None,
        on_step: Callable[[Step], None] = lambda _: None,
    ) -> None:
        """Load the checkpoint, if there is one.

        Args:
            make_source: makes the batches of the answered questions of all parts, in order.
            to_scorer: wraps the network for its evaluation on `dev`.
            start: identifies the initial weights, if the plan does not.
            measure: computes the loss of a batch, if it is not a loss over scores.

        Raises:
            TrainingError: a part has no answer, the plan is inconsistent, or the checkpoint
                belongs to another training.
        """
        if plan.keeps_best and not dev:
            raise TrainingError("keeping the best epoch needs dev examples to choose it on")
        if plan.patience is not None and not plan.keeps_best:
            raise TrainingError("stopping early requires keeping the best epoch: set both")
        parts = [part.keep_answered() for part in parts]
        if not all(part.examples for part in parts):
            raise TrainingError("no question has an answer: there is nothing to learn from")
        self._begun = time.perf_counter()
        self._plan, self._model, self._source = plan, model, make_source(parts)
        self._to_scorer, self._dev, self._measure = to_scorer, dev, measure
        self._counts = [len(part.examples) for part in parts]
        self._weights = [part.weight for part in parts]
        self._checkpoint, self._on_step = checkpoint, on_step
        self._fingerprint = make_fingerprint(
            asdict(plan), self._counts, self._weights, self._source.describe(), start
        )
        self._optimizer: Optimizer = make_optimizer(model, plan.recipe)
        self._best: Best | None = None
        self.done = 0
        if checkpoint and checkpoint.exists():
            self.done, self._best = load_checkpoint(
                checkpoint, model, self._optimizer, of=self._fingerprint
            )

    def finish(self) -> Fitted[Network]:
        """Train to the end; return the last network, or the best.

        The last checkpoint stays on disk until the caller has written the network.
        """
        for step in self._take_steps():
            self._on_step(step)
        self._save()
        if self._best:
            self._model.load_state_dict(dict(self._best.weights))
        return Fitted(self._model.eval(), time.perf_counter() - self._begun, self.done)

    def _take_steps(self) -> Iterator[Step]:
        saved = time.monotonic()
        recipe = self._plan.recipe
        steps = train(
            self._model,
            self._source,
            recipe,
            self._optimizer,
            order=lambda epoch: order_epoch(self._counts, self._weights, recipe.seed, epoch),
            done=self.done,
            measure=self._measure,
        )
        for step in steps:
            self.done = step.number
            if step.ends_epoch and self._plan.keeps_best:
                self._update_best(step.epoch)
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self._save()
                saved = time.monotonic()
            yield step
            if step.ends_epoch and self._is_out_of_patience(step.epoch):
                return

    def _is_out_of_patience(self, epoch: int) -> bool:
        patience = self._plan.patience
        return (
            self._best is not None and patience is not None and epoch - self._best.epoch >= patience
        )

    def _update_best(self, epoch: int) -> None:
        report = evaluate(self._to_scorer(self._model), self._dev, measures=["MAP"])
        value = report.means["MAP"]
        if self._best is None or value > self._best.value:
            state = {name: tensor.clone() for name, tensor in self._model.state_dict().items()}
            self._best = Best(value, epoch, state)

    def _save(self) -> None:
        if self._checkpoint:
            save_checkpoint(
                self._checkpoint,
                self._model,
                self._optimizer,
                done=self.done,
                best=self._best,
                of=self._fingerprint,
            )
