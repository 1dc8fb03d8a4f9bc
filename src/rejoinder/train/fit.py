"""Trains a ranker on examples: checkpoints on the way, the last or the best weights kept."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path

from torch.optim import Optimizer

from rejoinder.errors import TrainingError
from rejoinder.evaluation.evaluate import evaluate
from rejoinder.records import Example
from rejoinder.train.checkpoint import Best, load_checkpoint, make_fingerprint, save_checkpoint
from rejoinder.train.loop import Recipe, Step, make_optimizer, train
from rejoinder.train.mixing import Part, order_epoch
from rejoinder.train.models.ranker import Ranker, RankerConfig, initialise
from rejoinder.train.pairs import Pairs, WordVectors
from rejoinder.train.torch_scorer import TorchScorer

SECONDS_BETWEEN_CHECKPOINTS = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """All that a training depends on, but its examples and vectors."""

    config: RankerConfig
    recipe: Recipe
    keeps_best: bool = False
    """Keep the epoch with the highest MAP on dev, not the last one."""
    patience: int | None = None
    """Stop when so many epochs have passed without a better one; needs `keeps_best`."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained network and what its training cost."""

    model: Ranker
    seconds: float
    steps: int


def fit(
    plan: Plan,
    parts: Sequence[Part],
    vectors: WordVectors,
    *,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted:
    """Train, from the checkpoint where there is one.

    Only questions with an answer are learnt from: without one, a list has no order to learn.

    Raises:
        TrainingError: no question has an answer, the loss is not finite, the checkpoint is
            of another training, or the best is to be kept without dev examples.
    """
    answered = [_keep_answered(part) for part in parts]
    if not all(part.examples for part in answered):
        raise TrainingError("no question has an answer: there is nothing to learn from")
    if plan.keeps_best and not dev:
        raise TrainingError("keeping the best epoch needs dev examples to choose it on")
    if plan.patience is not None and not plan.keeps_best:
        raise TrainingError("stopping early means keeping the best epoch: ask for both")
    start = time.perf_counter()
    run = _Run(plan, answered, vectors, dev, checkpoint)
    for step in run.go_on():
        on_step(step)
    return Fitted(run.finish(), time.perf_counter() - start, run.done)


class _Run:
    """One training: its network, its optimizer, and what is saved between steps."""

    def __init__(
        self,
        plan: Plan,
        parts: Sequence[Part],
        vectors: WordVectors,
        dev: Sequence[Example],
        checkpoint: Path | None,
    ) -> None:
        self._plan, self._vectors, self._dev = plan, vectors, dev
        self._counts = [len(part.examples) for part in parts]
        self._weights = [part.weight for part in parts]
        self._pairs = Pairs(chain.from_iterable(part.examples for part in parts), vectors)
        self._checkpoint = checkpoint
        self._fingerprint = make_fingerprint(
            asdict(plan), self._counts, self._weights, self._pairs.describe()
        )
        self._model = initialise(plan.config, plan.recipe.seed)
        self._optimizer: Optimizer = make_optimizer(self._model, plan.recipe)
        self._best: Best | None = None
        self.done = 0
        if checkpoint and checkpoint.exists():
            self.done, self._best = load_checkpoint(
                checkpoint, self._model, self._optimizer, of=self._fingerprint
            )

    def go_on(self) -> Iterator[Step]:
        saved = time.monotonic()
        recipe = self._plan.recipe
        steps = train(
            self._model,
            self._pairs,
            recipe,
            self._optimizer,
            order=lambda epoch: order_epoch(self._counts, self._weights, recipe.seed, epoch),
            done=self.done,
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

    def finish(self) -> Ranker:
        if self._best:
            self._model.load_state_dict(dict(self._best.weights))
        if self._checkpoint:
            self._checkpoint.unlink(missing_ok=True)
        return self._model.eval()

    def _has_waited_enough(self, epoch: int) -> bool:
        patience = self._plan.patience
        return (
            self._best is not None
            and patience is not None
            and (epoch - self._best.epoch >= patience)
        )

    def _remember_best(self, epoch: int) -> None:
        report = evaluate(TorchScorer(self._model, self._vectors), self._dev, measures=["MAP"])
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


def _keep_answered(part: Part) -> Part:
    return Part([example for example in part.examples if any(example.labels)], part.weight)
