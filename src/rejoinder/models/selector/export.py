"""Writes a trained selector as a bundle, if the runtime scores with it as torch does.

Otherwise (agreement.py) nothing is written.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rejoinder.bundle.folder import Bundle, Manifest, open_bundle
from rejoinder.errors import BundleError, MissingExtraError
from rejoinder.models.encoders.architectures import add_kinds, freeze_embeddings, is_packed
from rejoinder.models.encoders.export import (
    ARCHITECTURE,
    Build,
    export,
    make_inputs,
    rebuild_config,
    write_network,
)
from rejoinder.models.encoders.loading import drop_pooler
from rejoinder.models.encoders.tokens import open_tokenizer
from rejoinder.models.onnx_session import FOREIGN, NETWORK
from rejoinder.models.scorer import Scores
from rejoinder.models.selector.agreement import check_agreement
from rejoinder.models.selector.context import ContextConfig
from rejoinder.models.selector.module.classifier import Classifier
from rejoinder.models.selector.module.ensemble import AnySelector, Ensemble
from rejoinder.models.selector.module.loading import describe_similarity, make_reader
from rejoinder.models.selector.module.selector import Selector, SelectorConfig
from rejoinder.models.selector.pair_reader import CANDIDATE, KINDS, QUESTION, SECOND, split_form
from rejoinder.models.selector.scorer import ACTIVATION, KIND, VECTORS, SelectorScorer
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.types import Example


def write_selector(
    folder: Path,
    model: AnySelector,
    tokenizer: Tokenizer,
    *,
    precision: str = "int8",
    training: Mapping[str, Any],
    sample: Sequence[Example],
    files: Mapping[str, bytes] = MappingProxyType({}),
    settings: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write the network, its tokenizer and their provenance.

    Args:
        sample: questions that torch and the runtime both score before anything is written.
        files: further files of the bundle, by name, such as its model card.
        settings: further settings of its scorer, such as the activation.

    Raises:
        BundleError: the folder cannot be written, or the scores of the sample differ too much.
        MissingExtraError: onnx is not installed.
        ValueError: the precision is neither fp32 nor int8.
    """
    expected = _score_with_torch(model, tokenizer, sample)
    similarity, context_files = describe_similarity(model.config.context)

    def compare(bundle: Bundle, precision: str) -> dict[str, Any]:
        scorer = SelectorScorer(bundle)
        found = [scorer.get_logits(example.question, example.candidates) for example in sample]
        return check_agreement(np.concatenate([np.empty(0), *found]), expected, precision)

    config = {**model.config.to_dict(), **similarity, **settings}
    write_network(
        folder,
        Manifest(KIND, config, precision=precision, training=training),
        {**context_files, **files},
        encoder=get_encoder(model),
        tokenizer=tokenizer,
        build=_make_build(model),
        compare=compare,
    )


def reopen_selector(folder: Path) -> tuple[AnySelector, Tokenizer]:
    """Return the network of a selector's bundle, to continue training, and its tokenizer.

    Raises:
        BundleError: it is not the bundle of a selector, is incomplete, or was imported from ONNX.
        MissingExtraError: onnx is not installed.
    """
    bundle = open_bundle(folder, kind=KIND)
    if bundle.manifest.config.get(FOREIGN):
        raise BundleError(
            f"{folder}: was imported from ONNX, which training cannot continue; import the folder"
            " with its safetensors"
        )
    tokenizer = open_tokenizer(bundle)
    try:
        settings = dict(bundle.manifest.config)
        for name in (ACTIVATION, VECTORS, ARCHITECTURE, "bert"):
            settings.pop(name, None)
        config = SelectorConfig.from_dict(settings)
        encoder = rebuild_config(bundle.manifest.config, len(tokenizer), config.max_tokens)
        model = _rebuild(config, encoder)
        expected = {name: value.shape for name, value in model.state_dict().items()}
        state = _read_state((folder / NETWORK).read_bytes(), model)
        model.load_state_dict(
            {
                name: torch.from_numpy(value).reshape(expected[name])
                for name, value in state.items()
                if name in expected  # an exported graph has other constants, too
            }
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BundleError(f"{folder}: training cannot continue from it: {error}") from error
    return model, tokenizer


def _read_state(content: bytes, model: AnySelector) -> dict[str, Any]:
    try:
        from rejoinder.models.encoders.onnx_export import read_exported
        from rejoinder.models.encoders.onnx_graph import read_state
    except ImportError as error:
        raise MissingExtraError("reading a selector", extra="train") from error
    return read_state(content) if is_packed(get_encoder(model)) else read_exported(content)


def _rebuild(config: SelectorConfig, settings: Any) -> AnySelector:
    """Return a network without its weights."""
    from transformers import AutoModel, AutoModelForSequenceClassification

    is_ensemble = config.context.form == "ensemble"
    if config.recipe == "classifier" and not is_ensemble:
        settings.num_labels = 1
        model = AutoModelForSequenceClassification.from_config(
            settings, attn_implementation="eager"
        )
        _give_kinds(model.base_model, config.context)
        return Classifier(config, model)
    contexts = split_form(config.context) if is_ensemble else (config.context,)
    members = []
    for context in contexts:
        encoder = AutoModel.from_config(settings, attn_implementation="eager")
        drop_pooler(encoder)
        _give_kinds(encoder, context)
        members.append(Selector(replace(config, context=context), encoder))
        freeze_embeddings(encoder, KINDS)
    return Ensemble(config, *members) if is_ensemble else members[0]


def _give_kinds(encoder: Any, context: ContextConfig) -> None:
    """Give a rebuilt encoder the kinds of tokens of its context; token types it has already."""
    if context.reads_tokens and getattr(encoder.config, "type_vocab_size", 0) != KINDS:
        add_kinds(encoder, KINDS, first=QUESTION, second=CANDIDATE)


def get_encoder(model: AnySelector) -> Any:
    """Return the encoder of a selector, the first one of an ensemble."""
    return model.local if isinstance(model, Ensemble) else model.encoder


def _make_build(model: AnySelector) -> Build:
    """Return the function that builds a selector's network."""
    if not is_packed(get_encoder(model)):
        encoders = [model.local, model.page] if isinstance(model, Ensemble) else [model.encoder]
        return export(model, _make_inputs(model), "scores", *encoders)
    return partial(_build, model)


def _build(model: AnySelector, rows: Sequence[int], precision: str) -> bytes:
    try:
        from rejoinder.models.selector.export_graph import build_graph
    except ImportError as error:
        raise MissingExtraError("exporting a selector", extra="train") from error
    return build_graph(model, rows, precision=precision)


def _make_inputs(model: AnySelector) -> dict[str, Tensor]:
    """Return example inputs of a selector, for its export."""
    inputs = make_inputs()
    context = model.config.context
    if context.form == "ensemble":
        inputs |= make_inputs(SECOND)
    if context.vector_width:
        inputs |= {name: torch.rand(2, 3, context.vector_width) for name in ("near", "page")}
    return inputs


def _score_with_torch(
    model: AnySelector, tokenizer: Tokenizer, sample: Sequence[Example]
) -> Scores:
    """Return the scores of all pairs, each read by itself as the runtime does."""
    model.eval()
    reader = make_reader(model.config, tokenizer)
    scores = []
    with torch.inference_mode(), _one_thread():
        for example in sample:
            for feed in reader.read(example.question, example.candidates):
                inputs = {name: torch.from_numpy(value) for name, value in feed.items()}
                scores.append(model(**inputs).item())
    return np.array(scores, dtype=np.float64)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Compute on one thread: a pair is too small for several, which wait for busy cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
