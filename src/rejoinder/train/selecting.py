"""Trains a selector, and scores with it in torch."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.records import Example, to_candidates
from rejoinder.runtime.catalogue import list_shipped
from rejoinder.runtime.scorer import Given, Scores
from rejoinder.text.pair_tokens import PairTokens
from rejoinder.text.pieces import Pieces
from rejoinder.train.convolution import IN_BFLOAT16
from rejoinder.train.encoders import DEFAULT
from rejoinder.train.export_selector import reopen_selector
from rejoinder.train.fit import Fitted, Plan, Run, describe_weights, keep_answered
from rejoinder.train.lists import Lists, TokenBatch, make_chunks
from rejoinder.train.loop import Recipe, Step
from rejoinder.train.losses import LOSSES
from rejoinder.train.mixing import Part
from rejoinder.train.models.selector import Selector, SelectorConfig, load_selector

DEFAULTS: dict[str, Any] = {"clip": 1.0, "weight_decay": 0.01, "questions_at_once": 16}
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
) -> tuple[Selector, list[str]]:
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


def fit_selector(
    plan: Plan[SelectorConfig],
    parts: Sequence[Part],
    model: Selector,
    vocabulary: Sequence[str],
    *,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted[Selector]:
    """Train a selector from the weights it has, or from the checkpoint where there is one.

    Raises:
        TrainingError: no question has an answer, the loss is not finite, the checkpoint is
            of another training, or the best is to be kept without dev examples.
    """
    answered = keep_answered(parts)
    start = time.perf_counter()
    tokens = PairTokens(Pieces(vocabulary), max_tokens=plan.config.max_tokens)
    examples = list(chain.from_iterable(part.examples for part in answered))
    run = Run(
        plan,
        _InChunks(model),
        Lists(examples, tokens, seed=plan.recipe.seed),
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

    def __init__(self, model: Selector, vocabulary: Sequence[str]) -> None:
        self._model = model.eval()
        self._tokens = PairTokens(Pieces(vocabulary), max_tokens=model.config.max_tokens)
        self.name = "selector"

    def score(self, question: str, candidates: Given) -> Scores:
        """Return one score per candidate, in the order given."""
        asked = self._tokens.cut(question)
        pairs = [
            self._tokens.join(asked, self._tokens.cut(item.text))
            for item in to_candidates(candidates)
        ]
        scores = np.empty(len(pairs), dtype=np.float64)
        with torch.inference_mode():
            for chunk in make_chunks(pairs, CHUNK):
                scores[chunk.places.numpy()] = self._model(
                    chunk.ids, chunk.mask, chunk.kinds
                ).numpy()
        return scores


class _InChunks(nn.Module):
    """A selector that scores a batch chunk by chunk.

    Where the processor multiplies bfloat16 itself, which is twice as fast, products are
    taken in it; sums, weights and gradients stay in float32.
    """

    def __init__(self, selector: Selector) -> None:
        super().__init__()
        self.selector = selector

    def forward(self, batch: TokenBatch) -> Tensor:
        places = torch.cat([chunk.places for chunk in batch.chunks])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=IN_BFLOAT16):
            found = [self.selector(chunk.ids, chunk.mask, chunk.kinds) for chunk in batch.chunks]
        return torch.cat(found).float()[torch.argsort(places)]
