"""Writes a trained selector as a bundle, if the runtime scores with it as torch does.

The network must agree with torch to 1e-4 in fp32; int8 must rank a sample nearly as torch
does, and its manifest states the tolerance of its scores.  Otherwise nothing is written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from rejoinder.bundle.folder import Bundle, Manifest, open_bundle, write_bundle
from rejoinder.errors import BundleError, MissingExtraError
from rejoinder.models.encoders.loading import order_pieces
from rejoinder.models.onnx_session import NETWORK, VOCABULARY
from rejoinder.models.scorer import Scores
from rejoinder.models.selector.module import (
    AnySelector,
    Ensemble,
    Selector,
    SelectorConfig,
    describe_similarity,
    freeze_embeddings,
    make_reader,
)
from rejoinder.models.selector.pair_reader import split_form
from rejoinder.models.selector.scorer import KIND, VECTORS, SelectorScorer
from rejoinder.types import Example

SIZES = (
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "layer_norm_eps",
    "type_vocab_size",
)
"""The settings of the encoder from which it is rebuilt."""
MAX_DIFFERENCE = {"fp32": 1e-4, "int8": 1.0}
"""Between the scores of the runtime and of torch, by precision."""
MIN_CORRELATION = 0.98
"""Between the ranks of int8 and of torch over the pairs of the sample."""
MIN_PAIRS = 20
"""The correlation of fewer pairs is not meaningful."""
MARGIN = 2
"""The tolerance over the largest difference: other pairs may differ more than the sample."""


def write_selector(
    folder: Path,
    model: AnySelector,
    vocabulary: Sequence[str],
    *,
    precision: str = "int8",
    training: Mapping[str, Any],
    sample: Sequence[Example],
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write the network, its vocabulary and their provenance.

    Args:
        vocabulary: the word piece of each row of the encoder's embedding.
        sample: questions that torch and the runtime both score before anything is written.
        files: further files of the bundle, by name, such as its model card.

    Raises:
        BundleError: the folder cannot be written, or the scores of the sample differ too much.
        MissingExtraError: onnx is not installed.
        ValueError: the precision is neither fp32 nor int8.
    """
    expected = _score_with_torch(model, vocabulary, sample)
    settings, context_files = describe_similarity(model.config.context)

    def compare(bundle: Bundle, precision: str) -> dict[str, Any]:
        scorer = SelectorScorer(bundle)
        found = [scorer.score(example.question, example.candidates) for example in sample]
        return {"tolerance": _check(np.concatenate([np.empty(0), *found]), expected, precision)}

    config = {**model.config.to_dict(), **settings}
    write_network(
        folder,
        Manifest(KIND, config, precision=precision, training=training),
        {**context_files, **files},
        encoder=(model.local if isinstance(model, Ensemble) else model).encoder,
        vocabulary=vocabulary,
        build=partial(_build, model),
        compare=compare,
    )


def write_network(
    folder: Path,
    manifest: Manifest,
    files: Mapping[str, bytes],
    *,
    encoder: Any,
    vocabulary: Sequence[str],
    build: Callable[[Sequence[int], str], bytes],
    compare: Callable[[Bundle, str], dict[str, Any]],
) -> None:
    """Write a bundle of a network over an encoder, if the runtime computes as torch does.

    Args:
        files: all but the network and its vocabulary.
        vocabulary: the word piece of each row of the encoder's embedding.
        build: returns the network in a precision, for the rows of the embedding that it keeps.
        compare: compares a bundle in a precision with torch; returns fields of the manifest.
    """
    if manifest.precision not in MAX_DIFFERENCE:
        known = ", ".join(MAX_DIFFERENCE)
        raise ValueError(f"precision {manifest.precision!r} is none of {known}")
    sizes = {name: getattr(encoder.config, name) for name in SIZES}
    manifest = replace(manifest, config={**manifest.config, "bert": sizes})
    rows = order_pieces(vocabulary)
    pieces = "".join(f"{vocabulary[row]}\n" for row in rows)
    # In fp32 too: that int8 is about as wrong as expected proves nothing about the network.
    for tried in dict.fromkeys(("fp32", manifest.precision)):
        contents = {NETWORK: build(rows, tried), VOCABULARY: pieces.encode(), **files}
        with TemporaryDirectory() as place:
            trial = Path(place, folder.name)
            write_bundle(trial, manifest, contents)
            fields = compare(open_bundle(trial), tried)
    write_bundle(folder, replace(manifest, **fields), contents)


def reopen_selector(folder: Path) -> tuple[AnySelector, list[str]]:
    """Return the network of a selector's bundle, to continue training, and its vocabulary.

    Raises:
        BundleError: it is not the bundle of a selector, or is incomplete.
        MissingExtraError: onnx is not installed.
    """
    try:
        from rejoinder.models.encoders.onnx_graph import read_state
    except ImportError as error:
        raise MissingExtraError("reading a selector", extra="train") from error
    bundle = open_bundle(folder, kind=KIND)
    vocabulary = bundle.read_text(VOCABULARY).split("\n")[:-1]
    try:
        settings = dict(bundle.manifest.config)
        settings.pop(VECTORS, None)
        sizes = settings.pop("bert")
        model = _rebuild(SelectorConfig.from_dict(settings), sizes, len(vocabulary))
        shapes = {name: value.shape for name, value in model.state_dict().items()}
        state = read_state((folder / NETWORK).read_bytes())
        model.load_state_dict(
            {name: torch.from_numpy(value).reshape(shapes[name]) for name, value in state.items()}
        )
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise BundleError(f"{folder}: training cannot continue from it: {error}") from error
    return model, vocabulary


def _rebuild(config: SelectorConfig, sizes: Mapping[str, Any], pieces: int) -> AnySelector:
    """Return a network without its weights."""
    from transformers import BertConfig, BertModel

    bert = BertConfig(
        vocab_size=pieces,
        max_position_embeddings=config.max_tokens,
        attn_implementation="eager",
        **sizes,
    )
    is_ensemble = config.context.form == "ensemble"
    contexts = split_form(config.context) if is_ensemble else (config.context,)
    members = []
    for context in contexts:
        encoder = BertModel(bert, add_pooling_layer=False)
        members.append(Selector(replace(config, context=context), encoder))
        freeze_embeddings(members[-1])
    return Ensemble(config, *members) if is_ensemble else members[0]


def _build(model: AnySelector, rows: Sequence[int], precision: str) -> bytes:
    try:
        from rejoinder.models.selector.export_graph import build_graph
    except ImportError as error:
        raise MissingExtraError("exporting a selector", extra="train") from error
    return build_graph(model, rows, precision=precision)


def _score_with_torch(
    model: AnySelector, vocabulary: Sequence[str], sample: Sequence[Example]
) -> Scores:
    """Return the scores of all pairs, each read by itself as the runtime does."""
    model.eval()
    reader = make_reader(model.config, vocabulary)
    scores = []
    with torch.inference_mode():
        for example in sample:
            for feed in reader.read(example.question, example.candidates):
                inputs = {name: torch.from_numpy(value) for name, value in feed.items()}
                scores.append(model(**inputs).item())
    return np.array(scores, dtype=np.float64)


def _check(actual: Scores, expected: Scores, precision: str) -> float:
    """Return the tolerance for the manifest, unless the scores differ too much."""
    largest = MAX_DIFFERENCE[precision]
    difference = float(np.abs(actual - expected).max(initial=0.0))
    if not difference <= largest:
        raise BundleError(
            f"scores in {precision} differ by {difference:.2g} without torch,"
            f" more than {largest:.2g}: nothing was written"
        )
    if precision == "fp32" or not len(actual):
        return largest
    correlation = correlate_ranks(actual, expected)
    if len(actual) >= MIN_PAIRS and not correlation >= MIN_CORRELATION:
        raise BundleError(
            f"ranks in {precision} correlate by {correlation:.3f} with torch's, less than"
            f" {MIN_CORRELATION}: nothing was written; export in fp32 (--no-int8)"
        )
    return ceil(100 * MARGIN * difference) / 100


def correlate_ranks(one: Scores, other: Scores) -> float:
    """Return Spearman's correlation; equal scores take ranks in their order."""
    if len(one) < 2:
        return 1.0
    first, second = (np.argsort(np.argsort(scores, kind="stable")) for scores in (one, other))
    # Ranks are all different, so Spearman's own formula holds.
    distance = float(((first - second) ** 2).sum())
    return 1 - 6 * distance / (len(one) * (len(one) ** 2 - 1))
