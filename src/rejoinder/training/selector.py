"""Trains a selector, averages it with its start, and scores with it in torch."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import torch
from torch import Tensor, nn

from rejoinder.bundle.folder import Manifest, check_place, open_bundle
from rejoinder.errors import InputError
from rejoinder.evaluation import evaluate
from rejoinder.models.encoders.architectures import freeze_layers
from rejoinder.models.encoders.loading import DEFAULT
from rejoinder.models.ranker.module.pairs import move
from rejoinder.models.registry import find_bundle, list_shipped, open_scorer
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.selector.agreement import make_sample
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.export import reopen_selector, write_selector
from rejoinder.models.selector.module.classifier import Classifier, add_classifier_context
from rejoinder.models.selector.module.ensemble import AnySelector, Ensemble, join_selectors
from rejoinder.models.selector.module.loading import get_vector_width, load_selector, make_reader
from rejoinder.models.selector.module.selector import Selector, SelectorConfig, add_context
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.training.batches import MAX_CANDIDATES, CandidateLists, TokenBatch, make_chunks
from rejoinder.training.devices import Compute, need_one_process
from rejoinder.training.distillation import open_teachers, teach
from rejoinder.training.fit import Control, Fitted, Hooks, Plan, fit_and_write, fit_model, make_plan
from rejoinder.training.loop import Recipe
from rejoinder.training.mixing import (
    SECONDS_BETWEEN_REPORTS,
    Part,
    TrainingData,
    TrainingSet,
    prepare,
)
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
OWN = "own"
"""The similarity by the encoder that is trained, with the weights that it starts from."""
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
    names = ("encoder", "layers", "max_tokens", "recipe")
    settings = {name: getattr(options, name) for name in names}
    starts = [open_start(start, **settings) for start in options.start or (None,)]
    tokenizer = starts[0][1]
    models = [start for start, _ in starts]
    model = read_context(
        models,
        options.context,
        options.similarity,
        encoder=_name_encoder(options),
        attention=options.attention,
    )
    if options.train_layers is not None:
        if isinstance(model, Ensemble):
            raise InputError("--train-layers is for a selector with one encoder")
        freeze_layers(model.encoder, options.train_layers)

    def write(model: AnySelector, training: dict[str, Any]) -> None:
        write_selector(
            target,
            model,
            tokenizer,
            precision=options.bundle_precision,
            training={**_describe_start(options), **training},
            sample=training_set.parts[0].take(PARITY_SAMPLE),
        )

    if options.unanswered:
        parts = [part.keep_unanswered() for part in training_set.parts]
        training_set = replace(training_set, parts=parts)
    if options.teacher:
        training_set = replace(training_set, parts=_teach(options, training_set, hooks))
    plan = make_plan(options, model.config, **DEFAULTS)
    fit = partial(
        fit_selector, model=model, tokenizer=tokenizer, max_candidates=options.max_candidates
    )
    trained = fit_and_write(plan, training_set, fit, write, **hooks)
    return replace(trained, means=evaluate(open_scorer(target), dev).means if dev else {})


def _name_encoder(options: SelectorOptions) -> str:
    """Return the encoder of the similarity."""
    return options.start[0] if options.similarity == OWN and options.start else options.encoder


def _describe_start(options: SelectorOptions) -> dict[str, Any]:
    """Return where the weights come from, for the manifest."""
    described: dict[str, Any] = {"from": " ".join(options.start) or options.encoder}
    if options.teacher:
        described |= {"teacher": list(options.teacher), "teacher_share": options.teacher_share}
    if options.unanswered:
        described["unanswered"] = True
    if options.max_candidates is not None:
        described["max_candidates"] = options.max_candidates
    if options.train_layers is not None:
        described["train_layers"] = options.train_layers
    return described


def _teach(options: SelectorOptions, data: TrainingSet, hooks: Hooks) -> list[Part]:
    need_one_process("learning from a teacher")  # its scores are appended to one file
    kept = data.target.with_name(f"{data.target.name}.teacher.jsonl")
    say = hooks.get("say", lambda _: None)
    say(f"scoring with {' and '.join(options.teacher)}; the scores are cached in {kept}")
    told = time.monotonic()

    def report(done: int, of: int) -> None:
        nonlocal told
        if time.monotonic() - told > SECONDS_BETWEEN_REPORTS:
            say(f"{done:,} of {of:,} lists are scored")
            told = time.monotonic()

    return teach(
        data.parts,
        open_teachers(options.teacher),
        share=options.teacher_share,
        kept=kept,
        seed=options.seed,
        on_done=report,
    )


def open_start(
    start: str | None, encoder: str = DEFAULT, layers: int | None = None, **settings: Any
) -> tuple[AnySelector, Tokenizer]:
    """Return the initial selector and its tokenizer: a bundle's, else a pretrained encoder's.

    Args:
        settings: further fields of `SelectorConfig`.
    """
    if start is None:
        return load_selector(SelectorConfig(encoder, layers, **settings))
    if layers is not None:
        raise InputError("--layers applies to an encoder; a selector's bundle keeps its layers")
    model, tokenizer = reopen_selector(list_shipped().get(start, Path(start)))
    if settings.get("recipe") == "classifier" and not isinstance(model, Classifier):
        raise InputError(f"{start}: is no classifier; leave out --recipe, or start from an encoder")
    return model, tokenizer


def read_context(
    models: Sequence[AnySelector],
    form: str | None,
    similarity: str,
    *,
    encoder: str = DEFAULT,
    attention: str = "scaled",
) -> AnySelector:
    """Return a selector that reads this context, with the weights of `models`.

    An ensemble consists of two that were trained separately, one on neighbours, one on pages.

    Args:
        similarity: one of `SIMILARITIES`, or `OWN`; an ensemble has that of its second selector.
        encoder: the one of the similarity `encoder` or `OWN`: a folder, a name on a hub, or the
            bundle of a selector.
    """
    first = models[0]
    if form is None and len(models) == 1 and attention == "scaled":
        return first
    form = form or ("ensemble" if len(models) > 1 else "none")
    if similarity == OWN:
        similarity = "encoder"
        encoder = models[1].config.context.encoder if len(models) > 1 else encoder
    named = encoder if similarity == "encoder" else ""
    context = ContextConfig(form, similarity, encoder=named, attention=attention)
    if context.form == "ensemble":
        return join_selectors(models, context)
    if len(models) > 1 or isinstance(first, Ensemble):
        raise InputError("only an ensemble starts from two selectors")
    if context.is_vectors:
        context = replace(context, vector_width=get_vector_width(context))
    if isinstance(first, Classifier):
        return add_classifier_context(first, context)
    return add_context(first, context)


def fit_selector(
    plan: Plan[SelectorConfig],
    parts: Sequence[Part],
    model: AnySelector,
    tokenizer: Tokenizer,
    max_candidates: int | None = None,
    **control: Unpack[Control],
) -> Fitted[AnySelector]:
    """Train a selector from its present weights, or from the checkpoint if there is one.

    Args:
        max_candidates: of each list; by default `MAX_CANDIDATES`, and all for a classifier.
    """
    reader = make_reader(plan.config, tokenizer)
    limit = max_candidates or (None if isinstance(model, Classifier) else MAX_CANDIDATES)
    fitted = fit_model(
        plan,
        _InChunks(model, plan.compute),
        parts,
        lambda answered: CandidateLists(
            answered,
            reader,
            seed=plan.recipe.seed,
            max_candidates=limit,
            targets=answered.get_targets(),
        ),
        to_scorer=lambda trained: SelectorTorchScorer(trained.selector, tokenizer),
        **control,
    )
    return Fitted(fitted.model.selector, fitted.seconds, fitted.steps, fitted.compute)


def average_selectors(
    trained: str | Path, start: str | Path, *, share: float, to: Path | str, command: str = ""
) -> Manifest:
    """Write a selector whose weights are the average of two.

    Wortsman et al. 2022, "Robust fine-tuning of zero-shot models": such weights often keep the
    gain on the new task, and lose less on the old one.

    Args:
        trained: the bundle of a selector that was trained from `start`; it keeps its context.
        start: a bundle, or the name of a shipped one.
        share: the share of `start` in the average, from 0 to 1.

    Raises:
        InputError: the share is out of range, or the networks differ.
        BundleError: a bundle cannot be read or written.
    """
    if not 0 <= share <= 1:
        raise InputError(f"share cannot be {share}; it is from 0 to 1")
    folder = Path(to)
    check_place(folder)
    model, tokenizer = reopen_selector(find_bundle(trained))
    other, _ = reopen_selector(find_bundle(start))
    if not isinstance(model, Selector) or not isinstance(other, Selector):
        raise InputError("only selectors with one encoder, and of the recipe cosine, are averaged")
    if other.config.context.form == "none":
        other = add_context(other, model.config.context)
    model.load_state_dict(mix(model.state_dict(), other.state_dict(), share))
    manifest = open_bundle(find_bundle(trained)).manifest
    write_selector(
        folder,
        model,
        tokenizer,
        precision=manifest.precision,
        training={
            "averaged": {"trained": str(trained), "start": str(start), "share": share},
            "trained": dict(manifest.training),
            **({"command": command} if command else {}),
        },
        sample=make_sample(),
    )
    return open_bundle(folder).manifest


def mix(
    trained: Mapping[str, Tensor], start: Mapping[str, Tensor], share: float
) -> dict[str, Tensor]:
    """Return the average of two networks' weights; `share` is that of the second.

    >>> one, other = {"weight": torch.tensor([1.0])}, {"weight": torch.tensor([3.0])}
    >>> mix(one, other, 0.25)["weight"].tolist()
    [1.5]
    """
    shapes = ({name: tuple(value.shape) for name, value in own.items()} for own in (trained, start))
    if next(shapes) != next(shapes):
        raise InputError("the two selectors have different networks; average one with its start")
    return {
        name: torch.lerp(value, start[name], share) if value.is_floating_point() else value
        for name, value in trained.items()
    }


class SelectorTorchScorer:
    """Scores with the torch network; `SelectorScorer` does it without torch."""

    def __init__(self, model: AnySelector, tokenizer: Tokenizer) -> None:
        self._model = model.eval()
        self._reader = make_reader(model.config, tokenizer)
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

    Products are in the training's precision; sums, weights and gradients stay in float32.
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
