"""One training from start to end: checkpoints on the way, the last or the best weights kept."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypedDict, TypeVar

from torch import nn

from rejoinder.errors import TrainingError
from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.module.ranker import count_parameters
from rejoinder.models.scorer import Scorer
from rejoinder.training import devices
from rejoinder.training.checkpoint import Best, keep_checkpoint, load_checkpoint, save_checkpoint
from rejoinder.training.devices import Compute, choose_compute
from rejoinder.training.loop import BatchSource, MeasureLoss, Recipe, Step, make_state, train
from rejoinder.training.mixing import AnsweredQuestions, Part, TrainingSet, order_epoch
from rejoinder.training.options import Projection, Trained, TrainingOptions
from rejoinder.types import Example

SECONDS_BETWEEN_CHECKPOINTS = 30.0
CHECKPOINT_SHARE = 0.05
"""The share of a training's time that its checkpoints may take; that of BERT-base is 1 GB."""

Config = TypeVar("Config", covariant=True)
AnyConfig = TypeVar("AnyConfig")
Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Plan(Generic[Config]):
    """All that determines a training, except its examples and its initial weights."""

    config: Config
    recipe: Recipe
    keeps_best: bool = False
    """Keep the epoch that is best on dev, not the last one."""
    best_by: str = "MAP"
    """The measure that chooses the best epoch."""
    patience: int | None = None
    """Stop after this many epochs without a better one; needs `keeps_best`."""
    max_steps: int | None = None
    """Stop after this many steps; the learning rate falls as for all of them."""
    measures_dev: bool = False
    """Measure each epoch on dev also where the last one is kept, for a learning curve."""
    compute: Compute = field(default_factory=choose_compute)

    def describe(self) -> dict[str, Any]:
        """Return what determines the result, for a checkpoint's fingerprint.

        A training may resume on another device, in another precision, with less memory, or for
        more steps.
        """
        described = asdict(replace(self, recipe=replace(self.recipe, questions_at_once=None)))
        del described["compute"], described["measures_dev"], described["max_steps"]
        if self.recipe.pairs_per_step is None:  # checkpoints from before there were any
            del described["recipe"]["pairs_per_step"]
        if self.best_by == "MAP":  # the only one there was
            del described["best_by"]
        return described


@dataclass(frozen=True, slots=True)
class Fitted(Generic[Network]):
    """A trained network and the cost of its training."""

    model: Network
    seconds: float
    steps: int
    compute: Compute
    is_best: bool = False
    """Whether it is the epoch that was best on dev, not the last step."""
    projection: Projection | None = None
    """Of all steps, where `max_steps` stopped before them."""


class Pace:
    """Measures how long steps take, without reading the data before the first one."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._ends: list[float] = []
        self._last: Step | None = None

    def add(self, step: Step) -> None:
        """Note the end of a step."""
        self._ends.append(self.get_seconds())
        self._last = step

    def leave_out(self, seconds: float) -> None:
        """Do not count seconds that were spent beside the training."""
        self._begun += seconds

    def get_seconds(self) -> float:
        """Return the seconds since the beginning."""
        return time.monotonic() - self._begun

    def get_step_seconds(self) -> float:
        """Return the mean seconds of a step; a single one counts with reading the data."""
        first, *_, last = (*self._ends, self._ends[-1])
        return (last - first) / (len(self._ends) - 1) if len(self._ends) > 1 else last

    def get_reading_seconds(self) -> float:
        """Return the seconds before the first step."""
        return self._ends[0] - self.get_step_seconds()

    def project(self) -> Projection | None:
        """Return the cost of all steps; None after the last one."""
        if self._last is None or self._last.number == self._last.of:
            return None
        steps, per_step = self._last.of, self.get_step_seconds()
        seconds = self.get_reading_seconds() + steps * per_step
        return Projection(steps, round(per_step, 4), round(seconds, 2))


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


def make_plan(options: TrainingOptions, config: AnyConfig, **fixed: Any) -> Plan[AnyConfig]:
    """Return the plan of a training; `fixed` are hyper-parameters that are not options."""
    names = {item.name for item in fields(Recipe)} & {item.name for item in fields(options)}
    recipe = Recipe(**{name: getattr(options, name) for name in names}, **fixed)
    compute = choose_compute(options.device, options.precision)
    return Plan(
        config,
        recipe,
        options.keep_best,
        options.best_by,
        patience=options.patience,
        max_steps=options.max_steps,
        compute=compute,
    )


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
        write: takes the network and the provenance that the manifest records.
    """
    with devices.join_processes(plan.compute), keep_checkpoint(data.target, say) as checkpoint:
        plan = replace(plan, measures_dev=data.curve.is_recorded)

        def record(step: Step) -> None:
            if devices.is_first():
                data.curve.add(step)
            on_step(step)

        fitted = fit(plan, data.parts, dev=data.dev, checkpoint=checkpoint, on_step=record)
        data.curve.close()
        training = {
            "data": list(data.names),
            **asdict(plan.recipe),
            "device": fitted.compute.device.type,
            "precision": fitted.compute.precision,
            "processes": devices.count_processes(),
            "learning_rate": plan.recipe.peak,
            "kept": _name_kept(fitted),
            **({"best_by": plan.best_by} if fitted.is_best and plan.best_by != "MAP" else {}),
            "steps": fitted.steps,
            "seconds": round(fitted.seconds, 1),
            **({"command": command} if command else {}),
        }
        if devices.is_first():
            write(fitted.model, training)
    parameters, seconds = count_parameters(fitted.model), round(fitted.seconds, 2)
    cost = (parameters, fitted.steps, seconds)
    return Trained(data.target, *cost, data.dev_name, projection=fitted.projection)


def _name_kept(fitted: Fitted[Any]) -> str:
    if fitted.is_best:
        return "best epoch on dev"
    whole = fitted.projection
    return f"step {fitted.steps} of {whole.steps}" if whole else "last epoch"


def fit_model(
    plan: Plan[Any],
    model: Network,
    parts: Sequence[Part],
    make_source: Callable[[AnsweredQuestions], BatchSource],
    *,
    to_scorer: Callable[[Network], Scorer],
    measure: MeasureLoss | None = None,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted[Network]:
    """Train a network from its present weights, or from the checkpoint if there is one.

    The last checkpoint stays on disk until the caller has written the network.

    Args:
        make_source: reads the answered questions, in order, and makes their batches.
        to_scorer: wraps the network for its evaluation on `dev`.
        measure: computes the loss of a batch, if it is not a loss over scores.
    """
    _check(plan, dev)
    pace, saved = Pace(), time.monotonic()
    wait = SECONDS_BETWEEN_CHECKPOINTS
    answered = AnsweredQuestions(parts)
    recipe, source = plan.recipe, make_source(answered)
    counts, weights = answered.count(), [part.weight for part in parts]
    fingerprint = _identify(model, plan.describe(), counts, weights, source.describe())
    state = make_state(model, recipe, plan.compute)
    done, best = 0, None
    if checkpoint and checkpoint.exists():
        done, best = load_checkpoint(checkpoint, state, of=fingerprint)
    devices.check_same((fingerprint, done))

    def save() -> None:
        if checkpoint:
            save_checkpoint(checkpoint, state, done=done, best=best, of=fingerprint)

    order = partial(order_epoch, counts, weights, recipe.seed)
    for step in train(state, source, recipe, order=order, done=done, measure=measure):
        done = step.number
        pace.add(step)
        if step.ends_epoch and dev and (plan.keeps_best or plan.measures_dev):
            begun = time.monotonic()
            value = devices.compute_once(lambda: _measure(to_scorer(model), dev, plan.best_by))
            step = replace(step, dev={plan.best_by: value})
            if plan.keeps_best:
                best = _choose_best(best, value, step.epoch, model)
            else:  # for the learning curve alone
                pace.leave_out(time.monotonic() - begun)
        if (started := time.monotonic()) - saved > wait:
            save()
            saved = time.monotonic()
            wait = max(SECONDS_BETWEEN_CHECKPOINTS, (saved - started) / CHECKPOINT_SHARE)
        on_step(step)
        if _is_enough(plan, step, best):
            break
    save()
    if best:
        model.load_state_dict(dict(best.weights))
    fitted = (devices.to_host(model).eval(), pace.get_seconds(), done, plan.compute)
    is_cut = plan.max_steps and plan.max_steps <= done
    return Fitted(*fitted, is_best=best is not None, projection=pace.project() if is_cut else None)


def _is_enough(plan: Plan[Any], step: Step, best: Best | None) -> bool:
    """Whether the training stops here, before its last step."""
    if plan.max_steps and plan.max_steps <= step.number:
        return True
    is_stale = best and plan.patience and step.epoch - best.epoch >= plan.patience
    return bool(step.ends_epoch and is_stale)


def _choose_best(best: Best | None, value: float, epoch: int, model: nn.Module) -> Best:
    """Return the weights of this epoch if it is better than the best one before."""
    if best is not None and value <= best.value:
        return best
    kept = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    return Best(value, epoch, kept)


def _identify(model: nn.Module, *described: Any) -> str:
    """Return the fingerprint of a training: of its initial weights, and all that determines it."""
    sums = [f"{parameter.double().sum().item():.6g}" for parameter in model.parameters()]
    return sha256(json.dumps([*described, sums], default=str).encode()).hexdigest()


def _measure(scorer: Scorer, dev: Sequence[Example], name: str) -> float:
    return evaluate(scorer, dev, measures=[name]).means[name]


def _check(plan: Plan[Any], dev: Sequence[Example]) -> None:
    """Raise TrainingError if the plan does not fit together."""
    if plan.keeps_best and not dev:
        raise TrainingError("keeping the best epoch needs dev examples to choose it on")
    if plan.patience is not None and not plan.keeps_best:
        raise TrainingError("stopping early requires keeping the best epoch: set both")
