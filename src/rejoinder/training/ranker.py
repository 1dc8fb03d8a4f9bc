"""Trains the small rankers: Cosinet, Rel-CNN and Compare-Aggregate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Unpack

from torch import Tensor

from rejoinder.errors import TrainingError
from rejoinder.evaluation import evaluate
from rejoinder.models.ranker.export import read_weights, write_ranker
from rejoinder.models.ranker.module.convolution import PooledConvolution, set_product_type
from rejoinder.models.ranker.module.pairs import TrainingPairs, WordVectors
from rejoinder.models.ranker.module.ranker import Ranker, RankerConfig, TorchScorer, initialise
from rejoinder.models.static_vectors.files import load_published_vectors
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.training.batches import split_pairs
from rejoinder.training.fit import Control, Fitted, Hooks, Plan, fit_and_write, fit_model, make_plan
from rejoinder.training.mixing import Part, TrainingData, TrainingSet, join_parts, prepare
from rejoinder.training.options import RankerOptions, Trained

PARITY_SAMPLE = 20
"""Questions that the bundle must score as torch does."""


def train_ranker(
    options: RankerOptions, data: TrainingData = (), **hooks: Unpack[Hooks]
) -> Trained:
    """Train a small ranker, measure it on dev, and write it as a bundle.

    A training that was interrupted resumes from the checkpoint beside its bundle.

    Args:
        data: names of data sets as `NAME[:SPLIT][@WEIGHT]`, or examples.

    Raises:
        RejoinderError: an option, the data or the checkpoint does not fit, the loss is not
            finite, or the bundle does not score as torch does.
    """
    return train_prepared(
        options, prepare(options, data, hooks.get("say", lambda _: None)), **hooks
    )


def train_prepared(options: RankerOptions, data: TrainingSet, **hooks: Unpack[Hooks]) -> Trained:
    """Train a small ranker on data that are read already, as `train_ranker` does."""
    vectors = _load_vectors(options, data, hooks.get("say", lambda _: None))
    config = RankerConfig(
        options.model, vectors.width, options.head, options.dropout, options.context
    )
    start = read_weights(str(options.start), config) if options.start else None
    means: dict[str, float] = {}

    def write(model: Ranker, training: Mapping[str, Any]) -> None:
        if data.dev:
            means.update(evaluate(TorchScorer(model, vectors), data.dev).means)
        scores = {"dataset": data.dev_name, "protocol": "answered", "means": means}
        write_ranker(
            data.target,
            model,
            vectors,
            training=training,
            scores=scores if data.dev else {},
            sample=data.parts[0].take(PARITY_SAMPLE),
        )

    fit = partial(fit_ranker, vectors=vectors, start=start)
    return replace(
        fit_and_write(make_plan(options, config), data, fit, write, **hooks), means=means
    )


def fit_ranker(
    plan: Plan[RankerConfig],
    parts: Sequence[Part],
    vectors: WordVectors,
    *,
    start: Mapping[str, Tensor] | None = None,
    **control: Unpack[Control],
) -> Fitted[Ranker]:
    """Train a small ranker from initial weights, random ones by default, or its checkpoint.

    Raises:
        TrainingError: a loss or a head over lists is to learn from single pairs.
    """
    if plan.recipe.pairs_per_step:
        if (plan.recipe.loss, plan.config.head) != ("pointwise", "none"):
            raise TrainingError(
                f"{plan.recipe.loss} with head {plan.config.head} learns from whole lists; pairs"
                " per step need the loss pointwise and the head none"
            )
        parts = [split_pairs(part) for part in parts]
    model = initialise(plan.config, plan.recipe.seed)
    compute = plan.compute
    if not any(isinstance(module, PooledConvolution) for module in model.modules()):
        compute = compute.only_if_chosen()  # small products gain little
    set_product_type(model, compute.dtype)
    if start is not None:
        model.load_state_dict(dict(start))
    return fit_model(
        replace(plan, compute=compute),
        model,
        parts,
        lambda answered: TrainingPairs(
            answered,
            vectors,
            targets=answered.get_targets(),
            context=plan.config.context,
        ),
        to_scorer=lambda model: TorchScorer(model, vectors),
        **control,
    )


def _load_vectors(
    options: RankerOptions, data: TrainingSet, say: Callable[[str], None]
) -> StaticVectors:
    """Return the shipped vectors, a bundle's, or those of a file for the words of the data."""
    if options.vectors is None:
        return load_vectors()
    path = Path(options.vectors)
    if path.is_dir():
        return load_vectors(path)
    say(f"reading {path}")
    return load_published_vectors(path, chain(join_parts(data.parts), data.dev))
