"""Make the shipped bundle `support`: fit its head to statements, and write it.

Usage: python -m benchmarks.statements --data DATA --to LISTS
       python -m benchmarks.support --lists LISTS --to support

The features of the lists are cached in LISTS/fit.npz; a second run reads them.  The head is fitted
to pairs of a statement and a sentence.  Then its score is scaled so that the sigmoid of the best
one in a list is the probability that the statement is supported, where half of the statements are:
each list with a supporting sentence is taken once with it, and once without.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.bundle.folder import WEIGHTS, Bundle, Manifest, write_bundle
from rejoinder.datasets.readers.jsonl import read_examples
from rejoinder.evaluation.calibration.confidence import fit_logistic
from rejoinder.models.support.scorer import (
    BASE,
    FEATURES,
    INTERCEPT,
    KIND,
    WEIGHTS_OF_HEAD,
    SupportScorer,
)

Numbers = NDArray[np.float64]
LISTS = 4_000
"""Lists that the head is fitted to, drawn from all with a fixed seed."""


class Read(NamedTuple):
    """A list as numbers: its features, (candidates, features), and its labels."""

    features: Numbers
    labels: NDArray[np.bool_]


def read_lists(folder: Path, part: str, base: str, count: int | None = None) -> list[Read]:
    """Return the features of lists of a part, from the cache where they are there."""
    examples = list(read_examples(folder / f"{part}.jsonl.gz"))
    random.Random(0).shuffle(examples)
    examples = examples[:count]
    cache = folder / f"{part}.{base}.npz"
    if not cache.exists():
        scorer = open_without_head(base)
        features = [scorer.read(item.question, item.candidates) for item in examples]
        np.savez(cache, features=np.concatenate(features))
    rows = np.load(cache)["features"]
    lengths = [len(example.candidates) for example in examples]
    if len(rows) != sum(lengths):
        raise SystemExit(f"{cache} is of other lists: remove it")
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    return [Read(own, np.array(item.labels)) for own, item in zip(parts, examples, strict=True)]


def open_without_head(base: str) -> SupportScorer:
    """Return a scorer whose features can be read before there is a head."""
    return SupportScorer(Bundle(Path("support"), Manifest(KIND, describe(base, [0.0] * 99, 0.0))))


def describe(base: str, weights: Sequence[float], intercept: float) -> dict[str, Any]:
    """Return the settings of a bundle."""
    head = {name: round(float(value), 5) for name, value in zip(FEATURES, weights, strict=False)}
    return {BASE: base, WEIGHTS_OF_HEAD: head, INTERCEPT: round(float(intercept), 5)}


def fit_head(lists: Sequence[Read]) -> tuple[Numbers, float]:
    """Return the weights of the head and its intercept, scaled to a probability."""
    features = np.concatenate([item.features for item in lists])
    labels = np.concatenate([item.labels for item in lists])
    intercept, *weights = fit_logistic(features, labels)
    scores = [item.features @ weights + intercept for item in lists]
    best, supported = list_best(scores, [item.labels for item in lists])
    shift, slope = fit_logistic(best[:, None], supported)
    return np.array(weights) * slope, intercept * slope + shift


def list_best(
    scores: Sequence[Numbers], labels: Sequence[NDArray[np.bool_]]
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Return the best score of each list with its support and without it, and which it is."""
    both = [
        (own[mask].max(), is_with)
        for own, right in zip(scores, labels, strict=True)
        if right.any() and not right.all()
        for is_with, mask in ((True, np.ones(len(own), bool)), (False, ~right))
    ]
    best, supported = zip(*both, strict=True)
    return np.array(best), np.array(supported)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--lists", type=Path, required=True)
    parser.add_argument("--base", default="selector", help="the shipped selector to build on")
    parser.add_argument("--to", type=Path, default=WEIGHTS / KIND)
    arguments = parser.parse_args()
    lists = read_lists(arguments.lists, "fit", arguments.base, LISTS)
    weights, intercept = fit_head(lists)
    config = describe(arguments.base, weights.tolist(), intercept)
    command = "python -m benchmarks.support --lists LISTS --to support"
    training = {"data": ["LISTS/fit.jsonl.gz"], "lists": len(lists), "command": command}
    card = arguments.to / "README.md"
    text = card.read_text(encoding="utf-8") if card.exists() else ""
    write_bundle(arguments.to, Manifest(KIND, config, training=training), {})
    if text:  # written by hand, and not part of what is verified
        card.write_text(text, encoding="utf-8")
    print(json.dumps(config), file=sys.stderr)


if __name__ == "__main__":
    main()
