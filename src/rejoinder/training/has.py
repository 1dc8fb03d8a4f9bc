"""Trains HAS and its baselines, and scores with them in torch."""

import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.models.has.encoder import TextTokens
from rejoinder.models.has.module import (
    Has,
    HasConfig,
    Texts,
    Words,
    measure_distance,
    pad_texts,
    pool,
)
from rejoinder.models.ranker.module.convolution import IN_BFLOAT16
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.text.wordpiece import WordPiece
from rejoinder.training.batches import TripletBatch, Triplets, split_answers
from rejoinder.training.fit import Fitted, Plan, TrainingRun, describe_weights, keep_answered
from rejoinder.training.loop import Recipe, Step
from rejoinder.training.mixing import Part
from rejoinder.types import Example, to_candidates

MARGIN = 0.1
CHUNK = 32
"""Texts that the network reads at once when it scores."""
DEFAULTS: dict[str, Any] = {"loss": "triplet", "weight_decay": 0.01, "clip": 1.0}
"""What of a recipe nobody has to choose."""
RECIPE = Recipe(questions_per_step=32, epochs=18, learning_rate=2e-5, **DEFAULTS)
"""The paper's for WikiQA, with a learning rate for a smaller encoder (docs/models/has.md)."""


def fit_has(
    plan: Plan[HasConfig],
    parts: Sequence[Part],
    model: Has,
    vocabulary: Sequence[str],
    *,
    dev: Sequence[Example] = (),
    checkpoint: Path | None = None,
    on_step: Callable[[Step], None] = lambda _: None,
) -> Fitted[Has]:
    """Train a network from the weights it has, or from the checkpoint where there is one.

    Raises:
        TrainingError: no question has an answer, the loss is not finite, the checkpoint is
            of another training, or the best is to be kept without dev examples.
    """
    answered = [split_answers(part) for part in keep_answered(parts)]
    start = time.perf_counter()
    tokens = TextTokens(WordPiece(vocabulary), max_tokens=plan.config.max_tokens)
    run = TrainingRun(
        plan,
        model,
        Triplets(list(chain.from_iterable(part.examples for part in answered)), tokens),
        answered,
        to_scorer=lambda trained: HasTorchScorer(trained, vocabulary),
        dev=dev,
        checkpoint=checkpoint,
        start=describe_weights(model),
        measure=measure_loss,
    )
    return run.finish(on_step, since=start)


def measure_loss(model: nn.Module, batch: TripletBatch, _: str) -> Tensor:
    """Return the triplet hinge and, for HAS, how far words are from bits; a mean over triplets."""
    assert isinstance(model, Has)
    asked = pool(_encode_fast(model, batch.questions))  # (T, D)
    count = len(asked)
    found, distances = [], []
    for places, texts in batch.chunks:
        hashed = model.hash(_encode_fast(model, texts))
        found.append(model.score(asked[places % count], hashed))
        distances.append(measure_distance(hashed).sum())
    places = torch.cat([places for places, _ in batch.chunks])
    right, wrong = torch.cat(found)[torch.argsort(places)].split(count)
    hinge = (MARGIN - right + wrong).clamp(min=0).mean()
    if model.config.composition != "has":
        return hinge
    return hinge + model.config.delta * torch.stack(distances).sum() / count


class HasTorchScorer:
    """Scores with the network itself, answers as bits; the runtime does it without torch."""

    def __init__(self, model: Has, vocabulary: Sequence[str]) -> None:
        self._model = model.eval()
        self._tokens = TextTokens(WordPiece(vocabulary), max_tokens=model.config.max_tokens)
        self.name = model.config.composition

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        texts = [self._tokens.cut(item.text) for item in to_candidates(candidates)]
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        scores = np.empty(len(texts), dtype=np.float64)
        with torch.inference_mode():
            asked = pool(_encode(self._model, pad_texts([self._tokens.cut(question)])))
            for first in range(0, len(order), CHUNK):
                places = order[first : first + CHUNK]
                given = _encode(self._model, pad_texts([texts[place] for place in places]))
                same = asked.expand(len(places), -1)
                scores[places] = self._model.score(same, self._model.to_bits(given)).numpy()
        return scores


def _encode(model: Has, texts: Texts) -> Words:
    return model.encode(texts.ids, texts.mask)


def _encode_fast(model: Has, texts: Texts) -> Words:
    """Encode, with products in bfloat16 as for the selector; all that follows is float32."""
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=IN_BFLOAT16):
        return _encode(model, texts)
