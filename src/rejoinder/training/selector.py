"""Trains a selector, and scores with it in torch."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.errors import InputError
from rejoinder.evaluation import evaluate
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.ranker.module.pairs import move
from rejoinder.models.registry import list_shipped, open_scorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module import (
    AnySelector,
    Selector,
    SelectorConfig,
    add_context,
    get_vector_width,
    join_selectors,
    load_selector,
    make_reader,
)
from rejoinder.training.batches import CandidateLists, TokenBatch, make_chunks
from rejoinder.training.devices import Compute
from rejoinder.training.fit import Control, Fitted, Hooks, Plan, fit_and_write, fit_model, make_plan
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part, TrainingData, prepare
from rejoinder.training.options import SelectorOptions, Trained
from rejoinder.types import to_candidates

DEFAULTS: dict[str, Any] = {
    "clip": 1.0,
    "weight_decay": 0.01,
    "new_learning_rate": 2e-4,
}
"""Fixed hyper-parameters."""
ADAPTING = Recipe("anchored", epochs=2, questions_per_step=8, learning_rate=3e-5, **DEFAULTS)
"""The recipe for a data set of a few thousand questions."""
PARITY_SAMPLE = 60
"""Questions that the bundle must score as torch does."""


def train_selector(
    options: SelectorOptions, data: TrainingData = (), **hooks: Unpack[Hooks]
) -> Trained:
    """Train a selector, write it as a bundle, and measure the bundle on dev.

    Args and errors are those of `train_ranker`.
    """
    training_set = prepare(options, data, hooks.get("say", lambda _: None))
    target, dev = training_set.target, training_set.dev
    starts = [open_start(start, options.encoder, options.layers) for start in options.start]
    starts = starts or [open_start(None, options.encoder, options.layers)]
    vocabulary = starts[0][1]
    model = read_context([start for start, _ in starts], options.context, options.similarity)

    def write(model: AnySelector, training: dict[str, Any]) -> None:
        write_selector(
            target,
            model,
            vocabulary,
            precision=options.bundle_precision,
            training={"from": " ".join(options.start) or options.encoder, **training},
            sample=training_set.parts[0].take(PARITY_SAMPLE),
        )

    plan = make_plan(options, model.config, **DEFAULTS)
    fit = partial(fit_selector, model=model, vocabulary=vocabulary)
    trained = fit_and_write(plan, training_set, fit, write, **hooks)
    return replace(trained, means=evaluate(open_scorer(target), dev).means if dev else {})


def open_start(
    start: str | None, encoder: str = DEFAULT, layers: int | None = None
) -> tuple[AnySelector, list[str]]:
    """Return the initial selector and its vocabulary: a bundle's, else a pretrained encoder's."""
    if start is None:
        return load_selector(SelectorConfig(encoder, layers))
    if layers is not None:
        raise InputError("--layers applies to an encoder; a selector's bundle keeps its layers")
    return reopen_selector(list_shipped().get(start, Path(start)))


def read_context(models: Sequence[AnySelector], form: str | None, similarity: str) -> AnySelector:
    """Return a selector that reads this context, with the weights of `models`.

    An ensemble consists of two that were trained separately, one on neighbours, one on pages.
    """
    first = models[0]
    if form is None and len(models) == 1:
        return first
    context = ContextConfig(form or "ensemble", similarity)
    if context.form == "ensemble":
        return join_selectors(models, context)
    if len(models) > 1 or not isinstance(first, Selector):
        raise InputError("only an ensemble starts from two selectors")
    if context.is_vectors:
        context = replace(context, vector_width=get_vector_width(similarity))
    return add_context(first, context)


def fit_selector(
    plan: Plan[SelectorConfig],
    parts: Sequence[Part],
    model: AnySelector,
    vocabulary: Sequence[str],
    **control: Unpack[Control],
) -> Fitted[AnySelector]:
    """Train a selector from its present weights, or from the checkpoint if there is one."""
    reader = make_reader(plan.config, tuple(vocabulary))
    fitted = fit_model(
        plan,
        _InChunks(model, plan.compute),
        parts,
        lambda answered: CandidateLists(answered, reader, seed=plan.recipe.seed),
        to_scorer=lambda trained: SelectorTorchScorer(trained.selector, vocabulary),
        **control,
    )
    return Fitted(fitted.model.selector, fitted.seconds, fitted.steps, fitted.compute)


class SelectorTorchScorer:
    """Scores with the torch network; `SelectorScorer` does it without torch."""

    def __init__(self, model: AnySelector, vocabulary: Sequence[str]) -> None:
        self._model = model.eval()
        self._reader = make_reader(model.config, tuple(vocabulary))
        self.name = "selector"

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        feeds = self._reader.read(question, to_candidates(candidates))
        scores = np.empty(len(feeds), dtype=np.float64)
        device = next(self._model.parameters()).device
        with torch.inference_mode():
            for chunk in make_chunks(feeds):
                found = self._model(**move(chunk.inputs, device))
                scores[chunk.places.numpy()] = found.numpy(force=True)
        return scores


class _InChunks(nn.Module):
    """A selector that scores a batch chunk by chunk.

    Products are in bfloat16 on processors that support it, which is twice as fast; sums,
    weights and gradients stay in float32.
    """

    def __init__(self, selector: AnySelector, compute: Compute) -> None:
        super().__init__()
        self.selector = selector
        self._compute = compute

    def get_new_parameters(self) -> list[nn.Parameter]:
        return self.selector.get_new_parameters()

    def forward(self, batch: TokenBatch) -> Tensor:
        places = torch.cat([chunk.places for chunk in batch.chunks])
        with self._compute.autocast():
            scores = [self.selector(**chunk.inputs) for chunk in batch.chunks]
        return torch.cat(scores).float()[torch.argsort(places)]
