"""Trains a network on examples: checkpoints on the way, the last or the best weights kept."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import Tensor, nn
from torch.optim import Optimizer

from rejoinder.errors import TrainingError
from rejoinder.evaluation.evaluate import evaluate
from rejoinder.models.ranker.module.pairs import Pairs, WordVectors
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig, initialise
from rejoinder.models.ranker.module.torch_scorer import TorchScorer
from rejoinder.models.scorer import Scorer
from rejoinder.training.checkpoint import Best, load_checkpoint, make_fingerprint, save_checkpoint
from rejoinder.training.loop import Lists, Measure, Recipe, Step, make_optimizer, train
from rejoinder.training.mixing import Part, order_epoch
from rejoinder.types import Example

SECONDS_BETWEEN_CHECKPOINTS = 30.0

Config = TypeVar("Config", covariant=True)
Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class Plan(Generic[Config]):
    """All that a training depends on, but its examples and where it starts."""

    config: Config
    recipe: Recipe
    keeps_best: bool = False
    """Keep the epoch with the highest MAP on dev, not the last one."""
    patience: int | None = None
    """Stop when so many epochs have passed without a better one; needs `keeps_best`."""


@dataclass(frozen=True, slots=True)
class Fitted(Generic[Network]):
    """A trained network and what its training cost."""

    model: Network
    seconds: float
    steps: int


class Described(Lists, Protocol):
    """Lists that a checkpoint can tell from others."""

    def describe(self) -> Any:
        """Return what tells these lists from others, in plain JSON types."""
        ...


def fit(
    plan: Plan[RankerConfig],
    parts: Sequence[Part],
    vectors: WordVectors,
    *,
    start: Mapping[str, Tensor] | None = None,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted[Ranker]:
    """Train a small ranker, from the checkpoint where there is one.

    Args:
        start: the weights to begin with, where they are not to be new ones.

    Raises:
        TrainingError: no question has an answer, the loss is not finite, the checkpoint is
            of another training, or the best is to be kept without dev examples.
    """
    answered = keep_answered(parts)
    begun = time.perf_counter()
    model = initialise(plan.config, plan.recipe.seed)
    if start is not None:
        model.load_state_dict(dict(start))
    run = Run(
        plan,
        model,
        Pairs(
            list(chain.from_iterable(part.examples for part in answered)),
            vectors,
            targets=chain.from_iterable(part.get_targets() for part in answered),
            context=plan.config.context,
        ),
        answered,
        to_scorer=lambda model: TorchScorer(model, vectors),
        dev=dev,
        checkpoint=checkpoint,
        start=describe_weights(model) if start is not None else "",
    )
    return run.finish(on_step, since=begun)


def describe_training(
    plan: Plan[Any], fitted: Fitted[Any], *, data: Sequence[str], command: str = ""
) -> dict[str, Any]:
    """Return the provenance that a bundle's manifest records.

    Args:
        command: the command that reproduces the training, where there is one.
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


def keep_answered(parts: Sequence[Part]) -> list[Part]:
    """Return the questions with an answer of each part.

    Raises:
        TrainingError: a part has none.
    """
    answered = [part.keep_answered() for part in parts]
    if not all(part.examples for part in answered):
        raise TrainingError("no question has an answer: there is nothing to learn from")
    return answered


def describe_weights(model: nn.Module) -> str:
    """Return a text that tells these weights from others."""
    return ",".join(f"{parameter.double().sum().item():.6g}" for parameter in model.parameters())


class Run(Generic[Network]):
    """One training: its network, its optimizer, and what is saved between steps."""

    def __init__(
        self,
        plan: Plan[Any],
        model: Network,
        lists: Described,
        parts: Sequence[Part],
        *,
        to_scorer: Callable[[Network], Scorer],
        dev: Sequence[Example] = (),
        checkpoint: Path | None = None,
        start: str = "",
        measure: Measure | None = None,
    ) -> None:
        """Get ready, and go back to the checkpoint where there is one.

        Args:
            lists: the examples of all parts, one part after another.
            to_scorer: makes the network measurable on `dev`.
            start: names the weights that the model begins with, where the plan does not.
            measure: the loss of a batch, where it is no loss over scores.

        Raises:
            TrainingError: the plan does not fit, or the checkpoint is of another training.
        """
        if plan.keeps_best and not dev:
            raise TrainingError("keeping the best epoch needs dev examples to choose it on")
        if plan.patience is not None and not plan.keeps_best:
            raise TrainingError("stopping early means keeping the best epoch: ask for both")
        self._plan, self._model, self._lists = plan, model, lists
        self._to_scorer, self._dev, self._measure = to_scorer, dev, measure
        self._counts = [len(part.examples) for part in parts]
        self._weights = [part.weight for part in parts]
        self._checkpoint = checkpoint
        self._fingerprint = make_fingerprint(
            asdict(plan), self._counts, self._weights, lists.describe(), start
        )
        self._optimizer: Optimizer = make_optimizer(model, plan.recipe)
        self._best: Best | None = None
        self.done = 0
        if checkpoint and checkpoint.exists():
            self.done, self._best = load_checkpoint(
                checkpoint, model, self._optimizer, of=self._fingerprint
            )

    def finish(self, on_step: Callable[[Step], None], *, since: float) -> Fitted[Network]:
        """Train to the end; return the network that is kept, and the seconds since `since`.

        The checkpoint stays, at its last step: who wrote the network somewhere removes it.
        """
        for step in self._go_on():
            on_step(step)
        self._save()
        if self._best:
            self._model.load_state_dict(dict(self._best.weights))
        return Fitted(self._model.eval(), time.perf_counter() - since, self.done)

    def _go_on(self) -> Iterator[Step]:
        saved = time.monotonic()
        recipe = self._plan.recipe
        steps = train(
            self._model,
            self._lists,
            recipe,
            self._optimizer,
            order=lambda epoch: order_epoch(self._counts, self._weights, recipe.seed, epoch),
            done=self.done,
            measure=self._measure,
        )
        for step in steps:
            self.done = step.number
            if step.ends_epoch and self._plan.keeps_best:
                self._remember_best(step.epoch)
            if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                self._save()
                saved = time.monotonic()
            yield step
            if step.ends_epoch and self._has_waited_enough(step.epoch):
                return

    def _has_waited_enough(self, epoch: int) -> bool:
        patience = self._plan.patience
        return (
            self._best is not None
            and patience is not None
            and (epoch - self._best.epoch >= patience)
        )

    def _remember_best(self, epoch: int) -> None:
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
