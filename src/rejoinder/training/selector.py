"""Trains a selector, and scores with it in torch."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.ranker.module.convolution import IN_BFLOAT16
from rejoinder.models.registry import list_shipped
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.export import reopen_selector
from rejoinder.models.selector.module.ensemble import AnySelector, join_selectors
from rejoinder.models.selector.module.selector import (
    Selector,
    SelectorConfig,
    add_context,
    load_selector,
)
from rejoinder.models.selector.module.similarities import get_vector_width, make_reader
from rejoinder.training.batches import CandidateLists, TokenBatch, make_chunks
from rejoinder.training.fit import Fitted, Plan, TrainingRun, describe_weights, keep_answered
from rejoinder.training.loop import Recipe, Step
from rejoinder.training.losses import LOSSES
from rejoinder.training.mixing import Part
from rejoinder.types import Example, to_candidates

DEFAULTS: dict[str, Any] = {
    "clip": 1.0,
    "weight_decay": 0.01,
    "questions_at_once": 16,
    "new_learning_rate": 2e-4,
}
"""What of a selector's recipe nobody has to choose."""
ADAPTING = Recipe("anchored", epochs=2, questions_per_step=8, learning_rate=3e-5, **DEFAULTS)
"""The recipe for a set of a few thousand questions."""
CHUNK = 32
"""Pairs that the network reads at once when it scores."""


def make_plan(config: SelectorConfig, given: Mapping[str, Any]) -> Plan[SelectorConfig]:
    """Return the plan for options of the command line.

    Raises:
        UnknownNameError: no loss has this name.
    """
    if given["loss"] not in LOSSES:
        raise UnknownNameError("loss", given["loss"], LOSSES)
    names = ("loss", "epochs", "questions_per_step", "learning_rate", "seed")
    recipe = Recipe(**{name: given[name] for name in names}, **DEFAULTS)
    return Plan(config, recipe, keeps_best=given["keep_best"])


def open_start(
    start: str | None, encoder: str = DEFAULT, layers: int | None = None
) -> tuple[AnySelector, list[str]]:
    """Return what training begins with: a selector's bundle, else a pretrained encoder.

    Raises:
        BundleError: the bundle is torn, or holds something else.
        InputError: the encoder cannot be loaded, or a bundle was to lose layers.
    """
    if start is None:
        return load_selector(SelectorConfig(encoder, layers))
    if layers is not None:
        raise InputError("--layers cuts an encoder; a selector's bundle keeps its layers")
    return reopen_selector(list_shipped().get(start, Path(start)))


def read_context(models: Sequence[AnySelector], form: str | None, similarity: str) -> AnySelector:
    """Return the selector that reads this context, with the weights of those that are given.

    An ensemble is made of two that were trained apart, one on neighbours and one on the page.

    Raises:
        UnknownNameError: no form or similarity has this name.
        InputError: an ensemble's members are missing, or a selector reads other context.
    """
    first = models[0]
    if form is None and len(models) == 1:
        return first
    context = ContextConfig(form or "ensemble", similarity)
    if context.form == "ensemble":
        return join_selectors(models, context)
    if len(models) > 1 or not isinstance(first, Selector):
        raise InputError("only an ensemble begins with two selectors")
    if context.is_vectors:
        context = replace(context, vector_width=get_vector_width(similarity))
    return add_context(first, context)


def fit_selector(
    plan: Plan[SelectorConfig],
    parts: Sequence[Part],
    model: AnySelector,
    vocabulary: Sequence[str],
    *,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted[AnySelector]:
    """Train a selector from the weights it has, or from the checkpoint where there is one.

    Raises:
        TrainingError: no question has an answer, the loss is not finite, the checkpoint is
            of another training, or the best is to be kept without dev examples.
    """
    answered = keep_answered(parts)
    start = time.perf_counter()
    reader = make_reader(plan.config, tuple(vocabulary))
    examples = list(chain.from_iterable(part.examples for part in answered))
    run = TrainingRun(
        plan,
        _InChunks(model),
        CandidateLists(examples, reader, seed=plan.recipe.seed),
        answered,
        to_scorer=lambda trained: SelectorTorchScorer(trained.selector, vocabulary),
        dev=dev,
        checkpoint=checkpoint,
        start=describe_weights(model),
    )
    fitted = run.finish(on_step, since=start)
    return Fitted(fitted.model.selector, fitted.seconds, fitted.steps)


class SelectorTorchScorer:
    """Scores with the network itself; the runtime's scorer does it without torch."""

    def __init__(self, model: AnySelector, vocabulary: Sequence[str]) -> None:
        self._model = model.eval()
        self._reader = make_reader(model.config, tuple(vocabulary))
        self.name = "selector"

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        feeds = self._reader.read(question, to_candidates(candidates))
        scores = np.empty(len(feeds), dtype=np.float64)
        with torch.inference_mode():
            for chunk in make_chunks(feeds, CHUNK):
                scores[chunk.places.numpy()] = self._model(**chunk.inputs).numpy()
        return scores


class _InChunks(nn.Module):
    """A selector that scores a batch chunk by chunk.

    Where the processor multiplies bfloat16 itself, which is twice as fast, products are
    taken in it; sums, weights and gradients stay in float32.
    """

    def __init__(self, selector: AnySelector) -> None:
        super().__init__()
        self.selector = selector

    def get_new_parameters(self) -> list[nn.Parameter]:
        return self.selector.get_new_parameters()

    def forward(self, batch: TokenBatch) -> Tensor:
        places = torch.cat([chunk.places for chunk in batch.chunks])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=IN_BFLOAT16):
            found = [self.selector(**chunk.inputs) for chunk in batch.chunks]
        return torch.cat(found).float()[torch.argsort(places)]
