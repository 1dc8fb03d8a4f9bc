"""Trains the small rankers: Cosinet, Rel-CNN and Compare-Aggregate."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from torch import Tensor

from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.export import read_weights, write_ranker
from rejoinder.models.ranker.module.pairs import TrainingPairs, WordVectors
from rejoinder.models.ranker.module.ranker import (
    Ranker,
    RankerConfig,
    TorchScorer,
    count_parameters,
    initialise,
)
from rejoinder.models.static_vectors.files import load_published_vectors
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.training.checkpoint import keep_checkpoint
from rejoinder.training.fit import (
    Fitted,
    Plan,
    TrainingRun,
    describe_training,
    describe_weights,
    keep_answered,
    make_plan,
)
from rejoinder.training.loop import Step
from rejoinder.training.mixing import Part, TrainingData, TrainingSet, prepare
from rejoinder.training.options import RankerOptions, Trained
from rejoinder.types import Example

PARITY_SAMPLE = 20
"""Questions that the bundle must score as torch does."""


def train_ranker(
    options: RankerOptions,
    data: TrainingData = (),
    *,
    on_step: Callable[[Step], None] = lambda _: None,
    say: Callable[[str], None] = lambda _: None,
    command: str = "",
) -> Trained:
    """Train a small ranker, measure it on dev, and write it as a bundle.

    A training that was interrupted resumes from the checkpoint beside its bundle.

    Args:
        data: names of data sets as NAME[:SPLIT][@WEIGHT], or examples.
        on_step: called after every optimizer step.
        say: receives messages for the user.
        command: the command that repeats the training, for the manifest.

    Raises:
        RejoinderError: an option, the data or the checkpoint does not fit, the loss is not
            finite, or the bundle does not score as torch does.
    """
    return train_prepared(options, prepare(options, data), on_step, say, command)


def train_prepared(
    options: RankerOptions,
    data: TrainingSet,
    on_step: Callable[[Step], None],
    say: Callable[[str], None],
    command: str,
) -> Trained:
    """Train a small ranker on data that are read already, as `train_ranker` does."""
    vectors = _load_vectors(
        options.vectors, [*(part.examples for part in data.parts), data.dev], say
    )
    config = RankerConfig(
        options.model, vectors.width, options.head, options.dropout, options.context
    )
    plan = make_plan(options, config)
    with keep_checkpoint(data.target, say) as checkpoint:
        fitted = fit_ranker(
            plan,
            data.parts,
            vectors,
            start=read_weights(str(options.start), config) if options.start else None,
            dev=data.dev,
            checkpoint=checkpoint,
            on_step=on_step,
        )
        scores: dict[str, Any] = {}
        if data.dev:
            means = evaluate(TorchScorer(fitted.model, vectors), data.dev).means
            scores = {"dataset": data.dev_name, "protocol": "answered", "means": means}
        write_ranker(
            data.target,
            fitted.model,
            vectors,
            training=describe_training(plan, fitted, data=data.names, command=command),
            scores=scores,
            sample=data.parts[0].examples[:PARITY_SAMPLE],
        )
    return Trained(
        data.target,
        count_parameters(fitted.model),
        fitted.steps,
        round(fitted.seconds, 2),
        data.dev_name,
        scores.get("means", {}),
    )


def fit_ranker(
    plan: Plan[RankerConfig],
    parts: Sequence[Part],
    vectors: WordVectors,
    *,
    start: Mapping[str, Tensor] | None = None,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted[Ranker]:
    """Train a small ranker, from the checkpoint if there is one.

    Args:
        start: initial weights; random ones by default.

    Raises:
        TrainingError: no question has an answer, the loss is not finite, the checkpoint
            belongs to another training, or the best epoch is kept without dev examples.
    """
    answered = keep_answered(parts)
    begun = time.perf_counter()
    model = initialise(plan.config, plan.recipe.seed)
    if start is not None:
        model.load_state_dict(dict(start))
    run = TrainingRun(
        plan,
        model,
        TrainingPairs(
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


def _load_vectors(
    path: Path | str | None, lists: Sequence[Sequence[Example]], say: Callable[[str], None]
) -> StaticVectors:
    """Return the shipped vectors, a bundle's, or those of a file for the words of the data."""
    if path is None:
        return load_vectors()
    if Path(path).is_dir():
        return load_vectors(Path(path))
    say(f"reading {path}")
    return load_published_vectors(Path(path), chain.from_iterable(lists))
