"""Trains the small rankers: Cosinet, Rel-CNN and Compare-Aggregate."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

from torch import Tensor

from rejoinder.models.ranker.module.pairs import TrainingPairs, WordVectors
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig, TorchScorer, initialise
from rejoinder.training.fit import Fitted, Plan, TrainingRun, describe_weights, keep_answered
from rejoinder.training.loop import Step
from rejoinder.training.mixing import Part
from rejoinder.types import Example


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
