"""Writes a trained selector as a bundle, if the runtime scores with it as torch does.

The network must agree with torch to 1e-4 in fp32; int8 must rank a sample nearly as torch
does, and says in its manifest how far its scores may be off.  Else nothing is left behind.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from rejoinder.bundle.folder import open_bundle, write_bundle
from rejoinder.bundle.manifest import Manifest
from rejoinder.errors import BundleError, MissingExtraError
from rejoinder.records import Example
from rejoinder.runtime.scorer import Scores
from rejoinder.runtime.selector import KIND, NETWORK, VOCABULARY, SelectorScorer, to_feed
from rejoinder.text.pair_tokens import BETWEEN, FIRST, PairTokens
from rejoinder.text.pieces import Pieces
from rejoinder.train.models.selector import Selector

PRECISIONS = ("fp32", "int8")
LARGEST_DIFFERENCE = {"fp32": 1e-4, "int8": 1.0}
LEAST_CORRELATION = 0.98
"""Of the ranks that int8 and torch give the pairs of the sample."""
FEW_PAIRS = 20
"""Fewer pairs than this say nothing about ranks."""
MARGIN = 2
"""A pair that is not in the sample may differ more than those that are."""


def write_selector(
    folder: Path,
    model: Selector,
    vocabulary: Sequence[str],
    *,
    precision: str = "int8",
    training: Mapping[str, Any],
    scores: Mapping[str, Any],
    sample: Sequence[Example],
    files: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    """Write the network, its vocabulary and where they come from.

    Args:
        vocabulary: the word piece of each row of the encoder's embedding.
        sample: what torch and the runtime both score before anything is written.
        files: what else goes into the bundle, by name: its card, for one.

    Raises:
        BundleError: the folder cannot be written, or the scores of the sample differ too much.
        MissingExtraError: onnx is not installed.
        ValueError: the precision is neither fp32 nor int8.
    """
    if precision not in PRECISIONS:
        raise ValueError(f"precision {precision!r} is none of {', '.join(PRECISIONS)}")
    rows = order_pieces(vocabulary)
    pieces = "".join(f"{vocabulary[row]}\n" for row in rows)
    expected = _score_with_torch(model, vocabulary, sample)
    config = {**asdict(model.config), "width": model.encoder.config.hidden_size}
    for tried in dict.fromkeys(("fp32", precision)):  # int8 of a wrong network proves nothing
        contents = {
            NETWORK: _build(model, rows, tried),
            VOCABULARY: pieces.encode(),
            **files,
        }
        found = _score_with_runtime(folder.name, Manifest(KIND, config), contents, sample)
        tolerance = _check(found, expected, tried)
    manifest = Manifest(
        KIND, config, precision=precision, tolerance=tolerance, training=training, scores=scores
    )
    write_bundle(folder, manifest, contents)


def order_pieces(vocabulary: Sequence[str]) -> list[int]:
    """Return the rows that a bundle keeps, in its order.

    First come all pieces of words as they are, so that pieces stored for the shipped
    vectors, which leave out the same ones, are read as they are; then the two marks.
    Other pieces in brackets stand for nothing in a text.
    """
    marks = [vocabulary.index(mark) for mark in (FIRST, BETWEEN)]
    return [row for row, piece in enumerate(vocabulary) if not _is_special(piece)] + marks


def _is_special(piece: str) -> bool:
    is_bracketed = len(piece) > 2 and piece[0] == "[" and piece[-1] == "]"
    return is_bracketed and piece not in ("[PAD]", "[UNK]")


def _build(model: Selector, rows: Sequence[int], precision: str) -> bytes:
    try:
        from rejoinder.train.selector_graph import build_graph
    except ImportError as error:
        raise MissingExtraError("exporting a selector", extra="train") from error
    return build_graph(model, rows, precision=precision)


def _score_with_torch(
    model: Selector, vocabulary: Sequence[str], sample: Sequence[Example]
) -> Scores:
    """Return the scores of all pairs, each read by itself as the runtime does."""
    model.eval()
    tokens = PairTokens(Pieces(vocabulary), max_tokens=model.config.max_tokens)
    found = []
    with torch.inference_mode():
        for example in sample:
            asked = tokens.cut(example.question)
            for candidate in example.candidates:
                feed = to_feed(*tokens.join(asked, tokens.cut(candidate.text)))
                inputs = {name: torch.from_numpy(value) for name, value in feed.items()}
                found.append(model(**inputs).item())
    return np.array(found, dtype=np.float64)


def _score_with_runtime(
    name: str, manifest: Manifest, contents: Mapping[str, bytes], sample: Sequence[Example]
) -> Scores:
    with TemporaryDirectory() as place:
        trial = Path(place, name)
        write_bundle(trial, manifest, contents)
        scorer = SelectorScorer(open_bundle(trial))
    found = [scorer.score(example.question, example.candidates) for example in sample]
    return np.concatenate([np.empty(0), *found])


def _check(found: Scores, expected: Scores, precision: str) -> float:
    """Return the tolerance to state.

    Raises:
        BundleError: the scores differ too much.
    """
    largest = LARGEST_DIFFERENCE[precision]
    difference = float(np.abs(found - expected).max(initial=0.0))
    if not difference <= largest:
        raise BundleError(
            f"scores in {precision} differ by {difference:.2g} without torch,"
            f" more than {largest:.2g}: nothing was written"
        )
    if precision == "fp32" or not len(found):
        return largest
    correlation = correlate_ranks(found, expected)
    if len(found) >= FEW_PAIRS and not correlation >= LEAST_CORRELATION:
        raise BundleError(
            f"ranks in {precision} correlate by {correlation:.3f} with torch's, less than"
            f" {LEAST_CORRELATION}: nothing was written; export in fp32"
        )
    return ceil(100 * MARGIN * difference) / 100


def correlate_ranks(one: Scores, other: Scores) -> float:
    """Return Spearman's correlation; equal scores take ranks in their order."""
    if len(one) < 2:
        return 1.0
    return float(np.corrcoef(_rank(one), _rank(other))[0, 1])


def _rank(scores: Scores) -> Scores:
    return np.argsort(np.argsort(scores, kind="stable")).astype(np.float64)
