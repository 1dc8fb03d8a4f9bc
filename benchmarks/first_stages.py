"""Compare rankers as the stage before the selector, over the dev corpora.

Usage: python -m benchmarks.first_stages RANKER... --data DATA --manuals FOLDER --cache FOLDER
           [--corpus NAME]... [--fusion 1.0] [--results benchmarks/results/first_stages.json]

RANKER is a name or a bundle; the first is the one that the others are compared with.  Each takes
the place of Cosinet in the default cascade, without the last stage, and ranks what the search finds
for the questions of `benchmarks.open_corpus`.  Prints the share of answerable questions with a
right sentence among the first k, averaged over sets, with paired 95 % intervals of the difference,
and the median CPU time of a question in milliseconds, of one thread.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.corpora.questions import Question
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.evaluation.significance import bootstrap_difference
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate

RESULTS = ROOT / "benchmarks" / "results" / "first_stages.json"
DEPTHS = (1, 5, 8, 10, 12, 14, 16)


@dataclass(frozen=True, slots=True)
class Ranked:
    """Where a ranker put the first right sentence of each question, and how long it took."""

    ranks: list[int | None]
    milliseconds: list[float]


def main() -> None:
    options = parse_options()
    result: dict[str, Any] = {"machine": describe_machine(), "fusion": options.fusion}
    rankers = {Path(name).name: open_scorer(name) for name in options.rankers}
    for corpus in options.corpus or CORPORA:
        with open_corpus(corpus, options) as (index, _, asked):
            questions = [question for question in asked if question.is_answerable]
            found = [
                [hit.candidate for hit in index.search(question.text, load_stages()[0].keep or 200)]
                for question in questions
            ]
        first: Ranked | None = None
        for name, ranker in rankers.items():
            ranked = rank(ranker, questions, found, fusion=options.fusion)
            first = first or ranked
            own = describe(ranked, first, [question.group for question in questions])
            result.setdefault(corpus, {})[name] = own
            print(corpus, name, own, flush=True)
    if options.results:
        options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rankers", nargs="+", metavar="RANKER")
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--corpus", choices=CORPORA, action="append")
    parser.add_argument("--fusion", type=float, default=1.0)
    parser.add_argument("--results", type=Path)
    parser.set_defaults(index=None, questions=None, typos=None)
    return parser.parse_args()


def load_stages() -> Sequence[Any]:
    cascade = load()
    assert isinstance(cascade, Cascade)
    return cascade.stages


def rank(
    ranker: Scorer,
    questions: Sequence[Question],
    found: Sequence[Sequence[Candidate]],
    *,
    fusion: float,
) -> Ranked:
    """Rank the candidates of each question, after the search and before the selector."""
    search, stage, *_ = load_stages()
    stages = [search, replace(stage, scorer=ranker, keep=None, fusion=fusion)]
    cascade = Cascade("first stages", stages)
    ranks, taken = list[int | None](), []
    for question, candidates in zip(questions, found, strict=True):
        scores = np.asarray(cascade.score(question.text, candidates))
        order = np.argsort(-scores, kind="stable")
        right = [
            at for at, place in enumerate(order, 1) if question.accepts(candidates[place].text)
        ]
        ranks.append(right[0] if right else None)
        start = time.process_time()  # other work on the machine must not count
        ranker.score(question.text, candidates)
        taken.append(1000 * (time.process_time() - start))
    return Ranked(ranks, taken)


def describe(ranked: Ranked, first: Ranked, groups: Sequence[str]) -> dict[str, Any]:
    """Return the share of questions with a right sentence among the first k, in per cent."""
    rates = {}
    for depth in DEPTHS:
        own, other = (
            [rank is not None and rank <= depth for rank in item.ranks] for item in (ranked, first)
        )
        means = [
            statistics.mean(hit for hit, name in zip(own, groups, strict=True) if name == group)
            for group in dict.fromkeys(groups)
        ]
        rates[f"@{depth}"] = [round(100 * statistics.mean(means), 1)]
        if ranked is not first:
            interval = bootstrap_difference(other, own)
            rates[f"@{depth}"] += [round(100 * value, 1) for value in (interval.low, interval.high)]
    return {**rates, "cpu_ms": round(statistics.median(ranked.milliseconds), 2)}


if __name__ == "__main__":
    main()
