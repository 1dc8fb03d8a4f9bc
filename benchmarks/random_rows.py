"""Search the protocol behind the random rows of the Cosinet paper's Table 2.

Usage: python -m benchmarks.random_rows --data DATA > random_rows.json

Bonadiman & Moschitti 2020 print P@1 14.43 and MAP 25.15 of a random ranker on WikiQA test, and
18.34 and 43.81 on SQuAD-sent, without its protocol.  A random order of the same lists gives other
values.  Each trial combines the questions that count, a way to draw scores, and a length of the
lists; its values are means over seeds.  Nothing is trained or chosen here: the trials only
explain a published number.  Prints one JSON object; the table goes to stderr.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation.measures import QUESTIONS, Protocol, measure
from rejoinder.papers.baselines import BASELINES
from rejoinder.types import Example

SETS = {"wikiqa:test": 20, "squad-v2:dev": 2}
"""How often each is drawn."""
MEASURES = ("P@1", "MAP", "MRR")
CLOSE = 1.0
"""Percentage points around a published value that count as reproduced.  SQuAD's lists are cut by
another splitter than the paper's, which moves its other rows by half a point."""
VALUES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 32, 100)
CUTS = (3, 5, 10)
PADDED = (12, 15, 20)

Draw = Callable[[Example, Generator], NDArray[np.float64]]


@dataclass(frozen=True)
class Order:
    """A way to rank a list without reading the question."""

    name: str
    draw: Draw
    cut: int | None = None
    """Only so many first candidates of the ranking are evaluated."""
    padded: int = 0
    """Lists are filled with wrong candidates to this length."""


def _draw_freely(example: Example, rng: Generator) -> NDArray[np.float64]:
    return rng.random(len(example.candidates))


def _draw_integers(values: int) -> Draw:
    return lambda example, rng: rng.integers(0, values, len(example.candidates)).astype(float)


ORDERS = (
    Order("random order", _draw_freely),
    Order("reversed order", lambda example, _: np.arange(len(example.candidates), dtype=float)),
    Order(
        "shortest first",
        lambda example, _: np.array([-len(item.text) for item in example.candidates], float),
    ),
    *(Order(f"random integers, {n} values", _draw_integers(n)) for n in VALUES),
    *(Order(f"first {n} of a random order", _draw_freely, cut=n) for n in CUTS),
    *(Order(f"random order, padded to {n}", _draw_freely, padded=n) for n in PADDED),
)


@dataclass(frozen=True)
class Trial:
    """The values of one protocol on one data set, in percent."""

    dataset: str
    questions: str
    order: str
    values: dict[str, float]
    reproduced: list[str]
    """The published values that are close to these."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets")
    arguments = parser.parse_args()
    trials = [
        run_trial(name, examples, questions, order, seeds)
        for name, seeds in SETS.items()
        for examples in [list(open_dataset(name, folder=arguments.data))]
        for questions, order in product(QUESTIONS, ORDERS)
    ]
    for trial in trials:
        values = "  ".join(f"{trial.values[name]:6.2f}" for name in MEASURES)
        line = f"{trial.dataset:14} {trial.questions:9} {trial.order:28} {values}"
        print(f"{line}  {' '.join(trial.reproduced)}", file=sys.stderr)
    print(json.dumps(describe(trials), indent=1))


def describe(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return the trials, and how many reproduce all or some of the published values."""
    published = {name: get_published(name) for name in SETS}
    found = {
        name: {
            "tried": len(own),
            "reproduce_all": [t.order for t in own if {*t.reproduced} == {*published[name]}],
            "reproduce_some": sum(bool(t.reproduced) for t in own),
        }
        for name in SETS
        for own in [[trial for trial in trials if trial.dataset == name]]
    }
    return {"published": published, "found": found, "trials": [asdict(t) for t in trials]}


def get_published(name: str) -> dict[str, float]:
    """Return the values of the random row of a data set."""
    (table,) = (item for item in BASELINES if item.test == name)
    return dict(table.rows[0].published)


def run_trial(
    name: str, examples: Sequence[Example], questions: str, order: Order, seeds: int
) -> Trial:
    """Return the means of the questions that count over the seeds; ties are lost."""
    protocol = Protocol(questions, "pessimistic")
    counted = [example for example in examples if protocol.counts(example)]
    draws = [rank(counted, order, protocol, np.random.default_rng(seed)) for seed in range(seeds)]
    rankings = [ranking for draw in draws for ranking in draw]
    missing = [sum(item.labels) for _ in draws for item in counted]
    unranked = [count - sum(own) for count, own in zip(missing, rankings, strict=True)]
    means = {
        measured: round(100 * fmean(values), 2)
        for measured, values in measure(rankings, MEASURES, unranked).items()
    }
    close = [
        measured
        for measured, value in get_published(name).items()
        if abs(means[measured] - value) <= CLOSE
    ]
    return Trial(name, questions, order.name, means, close)


def rank(
    examples: Sequence[Example], order: Order, protocol: Protocol, rng: Generator
) -> list[list[bool]]:
    """Return whether each candidate is an answer, best first, for each question."""
    rankings = []
    for example in examples:
        scores, labels = order.draw(example, rng), list(example.labels)
        if (added := order.padded - len(labels)) > 0:
            scores = np.append(scores, rng.random(added))
            labels += [False] * added
        best_first = [labels[place] for place in protocol.order(scores, labels)]
        rankings.append(best_first[: order.cut])
    return rankings


if __name__ == "__main__":
    main()
