"""Trains HAS and its baselines, and scores with them in torch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.bundle.folder import open_bundle
from rejoinder.evaluation import evaluate
from rejoinder.evaluation.stored_answers import list_texts
from rejoinder.models.encoders.tokens import TextTokens
from rejoinder.models.has.export import write_has
from rejoinder.models.has.module import (
    Has,
    HasConfig,
    Texts,
    Words,
    load_has,
    measure_distance,
    pad_texts,
    pool,
)
from rejoinder.models.has.scorer import HasScorer
from rejoinder.models.ranker.module.pairs import move
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.training.batches import CHUNK, TripletBatch, Triplets, group_by_length, split_answers
from rejoinder.training.devices import Compute
from rejoinder.training.fit import Control, Fitted, Hooks, Plan, fit_and_write, fit_model, make_plan
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import Part, TrainingData, prepare
from rejoinder.training.options import HasOptions, Trained
from rejoinder.types import Example, to_candidates

MARGIN = 0.1
PAIRS_AT_ONCE = 64
"""Pairs whose attention is computed together, where each answer is encoded once."""
PARITY_TEXTS = 60
"""Candidates that the bundle must encode as torch does."""
DEFAULTS: dict[str, Any] = {"loss": "triplet", "weight_decay": 0.01, "clip": 1.0}
"""Fixed hyper-parameters."""
RECIPE = Recipe(questions_per_step=32, epochs=18, learning_rate=2e-5, **DEFAULTS)
"""The paper's for WikiQA, with a learning rate for a smaller encoder (docs/models/has.md)."""


def train_has(options: HasOptions, data: TrainingData = (), **hooks: Unpack[Hooks]) -> Trained:
    """Train HAS or a baseline, write it as a bundle, and measure the bundle on dev.

    Args and errors are those of `train_ranker`.
    """
    training_set = prepare(options, data, hooks.get("say", lambda _: None))
    names = ["encoder", "composition", "attention_width", "max_tokens", "width"]
    names += ["beta", "delta", "layers"]
    config = HasConfig(**{name: getattr(options, name) for name in names})
    model, tokenizer = load_has(config, seed=options.seed)

    def write(model: Has, training: Mapping[str, Any]) -> None:
        write_has(
            training_set.target,
            model,
            tokenizer,
            precision=options.bundle_precision,
            training=training,
            sample=list_texts(training_set.parts[0].take(PARITY_TEXTS))[:PARITY_TEXTS],
        )

    plan = make_plan(options, model.config, **DEFAULTS)
    fit = partial(fit_has, model=model, tokenizer=tokenizer)
    trained = fit_and_write(plan, training_set, fit, write, **hooks)
    bundle = open_bundle(training_set.target)
    return replace(
        trained,
        means=evaluate(HasScorer(bundle), training_set.dev).means if training_set.dev else {},
        flipped_bits=bundle.manifest.scores["flipped bits"],
    )


def fit_has(
    plan: Plan[HasConfig],
    parts: Sequence[Part],
    model: Has,
    tokenizer: Tokenizer,
    **control: Unpack[Control],
) -> Fitted[Has]:
    """Train a network from its present weights, or from the checkpoint if there is one."""
    tokens = TextTokens(tokenizer, max_tokens=plan.config.max_tokens)
    return fit_model(
        plan,
        model,
        [split_answers(part) for part in parts],
        lambda answered: Triplets(answered, tokens),
        to_scorer=lambda trained: HasTorchScorer(trained, tokenizer).prepare(
            control.get("dev", ())
        ),
        measure=partial(measure_loss, compute=plan.compute),
        **control,
    )


def measure_loss(model: nn.Module, batch: TripletBatch, _: str, *, compute: Compute) -> Tensor:
    """Return the triplet hinge and, for HAS, the distance of words from bits; a mean."""
    assert isinstance(model, Has)
    questions = pool(_encode_fast(model, batch.questions, compute))  # (T, D)
    count = len(questions)
    scores, distances = [], []
    for places, texts in batch.chunks:
        hashed = model.hash(_encode_fast(model, texts, compute))
        scores.append(model.score(questions[places % count], hashed))
        distances.append(measure_distance(hashed).sum())
    places = torch.cat([places for places, _ in batch.chunks])
    right, wrong = torch.cat(scores)[torch.argsort(places)].split(count)
    hinge = (MARGIN - right + wrong).clamp(min=0).mean()
    if model.config.composition != "has":
        return hinge
    return hinge + model.config.delta * torch.stack(distances).sum() / count


class HasTorchScorer:
    """Scores with the torch network, answers as bits; `HasScorer` does it without torch."""

    def __init__(self, model: Has, tokenizer: Tokenizer) -> None:
        self._model = model.eval()
        self._tokens = TextTokens(tokenizer, max_tokens=model.config.max_tokens)
        self._known: dict[tuple[str, str], float] = {}
        self.name = model.config.composition

    def prepare(self, examples: Sequence[Example]) -> "HasTorchScorer":
        """Score all lists beforehand: an answer that many of them have is encoded once.

        In pools of InsuranceQA V1, each of 24,981 answers stands in dozens of lists.
        """
        asked: dict[str, list[str]] = {}
        for example in examples:
            for item in example.candidates:
                asked.setdefault(item.text, []).append(example.question)
        questions = {example.question: self._pool(example.question) for example in examples}
        texts = [*asked]
        encoded = [self._tokens.encode(text) for text in texts]
        for places in group_by_length([*map(len, encoded)], CHUNK):
            own = [texts[place] for place in places]
            pairs = [(at, question) for at, text in enumerate(own) for question in asked[text]]
            with torch.inference_mode():
                words = self._model.to_bits(self._encode([encoded[place] for place in places]))
                for first in range(0, len(pairs), PAIRS_AT_ONCE):
                    part = pairs[first : first + PAIRS_AT_ONCE]
                    rows = [at for at, _ in part]
                    pooled = torch.cat([questions[question] for _, question in part])
                    listed = Words(words.states[rows], words.mask[rows])
                    scores = self._model.score(pooled, listed).tolist()
                    keys = [(question, own[at]) for at, question in part]
                    self._known.update(zip(keys, scores, strict=True))
        return self

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        items = to_candidates(candidates)
        if all((question, item.text) in self._known for item in items):
            return np.array([self._known[question, item.text] for item in items], np.float64)
        texts = [self._tokens.encode(item.text) for item in items]
        scores = np.empty(len(texts), dtype=np.float64)
        pooled = self._pool(question)
        with torch.inference_mode():
            for places in group_by_length([*map(len, texts)], CHUNK):
                words = self._encode([texts[place] for place in places])
                found = self._model.score(
                    pooled.expand(len(places), -1), self._model.to_bits(words)
                )
                scores[places] = found.numpy(force=True)
        return scores

    def _pool(self, question: str) -> Tensor:
        with torch.inference_mode():
            return pool(self._encode([self._tokens.encode(question)]))

    def _encode(self, texts: Sequence[Sequence[int]]) -> Words:
        device = next(self._model.parameters()).device
        return _encode(self._model, move(pad_texts(texts), device))


def _encode(model: Has, texts: Texts) -> Words:
    return model.encode(texts.ids, texts.mask)


def _encode_fast(model: Has, texts: Texts, compute: Compute) -> Words:
    """Encode with products in the training's precision; all that follows is float32."""
    with compute.autocast():
        return _encode(model, texts)
