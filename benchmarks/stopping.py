"""Compare when the stages of a cascade stop reading, over the dev corpora.

Usage: python -m benchmarks.stopping CASCADE --data DATA --manuals FOLDER --cache FOLDER
           [--risk R]... [--keep N]... [--corpus NAME]... [--scores FOLDER] [--time]
           [--results benchmarks/results/stopping.json]

CASCADE is a name or a file (TOML) whose last stage has a `stop` (`rejoinder calibrate --stop`).
The first answer to every question of `benchmarks.open_corpus` is looked for: with each risk in
place of the file's, with each fixed number of candidates for the last stage, and reading all.
`read` is the number of candidates by stage, of those that may stop.  Only the first answer
is judged; rates are averaged over sets.  Pairs are scored once, and kept in the folder of scores
if one is given.  The calibration error is that of all questions, also asked without their right
sentences.  With --time, nothing is kept: the milliseconds are those of the whole answer,
measured in turns (use an idle machine).  Differences are against reading all, paired by question.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.confidence import find
from benchmarks.corpora.questions import Question
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import CORPORA, open_corpus
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.cascade.stopping import StoppingRule
from rejoinder.engine.engine import Engine
from rejoinder.evaluation.calibration.confidence import measure_calibration_error
from rejoinder.evaluation.calibration.stopping import find_stopping_stages, with_stops
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.evaluation.significance import bootstrap_difference
from rejoinder.index.index import Index
from rejoinder.models.ranking import order
from rejoinder.types import Candidate

RESULTS = ROOT / "benchmarks" / "results" / "stopping.json"
RISKS = (0.02, 0.05, 0.1, 0.15, 0.2)
KEEPS = (4, 6, 8, 10)
ALL = "reading all"


@dataclass(frozen=True)
class Asked:
    """A question and what the search finds for it."""

    question: Question
    found: Sequence[Candidate]
    is_own: bool
    """Whether its right sentences are among what was found."""


def main() -> None:
    options = parse_options()
    cascade = load(options.cascade)
    assert isinstance(cascade, Cascade)
    assert list_rules(cascade), f"no stage of {options.cascade} has a stop"
    result: dict[str, Any] = {"machine": describe_machine(), "indexes": {}, "corpora": {}}
    for corpus in options.corpus or CORPORA:
        with open_corpus(corpus, options) as (index, _, questions):
            result["indexes"][corpus] = {
                "documents": index.count().documents,
                "sentences": index.store.count_candidates(),
            }
            variants = make_variants(cascade, options, corpus)
            rows = compare(variants, find_all(index, questions, cascade))
            if options.time:
                timed = make_variants(cascade, options, None)
                for name, times in time_all(timed, index, questions).items():
                    rows[name] |= times
        result["corpora"][corpus] = rows
        show(corpus, rows)
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cascade", metavar="CASCADE")
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--risk", type=float, action="append")
    parser.add_argument("--keep", type=int, action="append")
    parser.add_argument("--corpus", choices=CORPORA, action="append")
    parser.add_argument("--questions", type=int, metavar="N", help="ask only so many of each set")
    parser.add_argument("--scores", type=Path, metavar="FOLDER")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.set_defaults(index=None, typos=None)
    return parser.parse_args()


def make_variants(
    cascade: Cascade, options: argparse.Namespace, corpus: str | None
) -> dict[str, Cascade]:
    """Return the cascade as it reads all, with each risk, and with each number of candidates.

    Args:
        corpus: keep the scores, in a file of this corpus if there is a folder; None for none.
    """
    rules = list_rules(cascade)
    stages = list(cascade.stages)
    for number in rules if corpus is not None else ():
        path = options.scores and options.scores / f"{corpus}-{number + 1}.jsonl"
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)
        scorer = CachedScorer(stages[number].scorer, path=path)
        stages[number] = replace(stages[number], scorer=scorer)
    cascade = Cascade(cascade.name, stages, calibration=cascade.calibration)
    variants = {ALL: with_stops(cascade, {})}
    for risk in options.risk or RISKS:
        others = {at: structs.replace(rule, risk=risk) for at, rule in rules.items()}
        variants[f"risk {risk:g}"] = with_stops(cascade, others)
    for keep in options.keep or KEEPS:
        *earlier, before, last = stages
        fewer = [*earlier, replace(before, keep=keep, keep_for_one=None), last]
        variant = Cascade(cascade.name, fewer, calibration=cascade.calibration)
        variants[f"keep {keep}"] = with_stops(variant, {})
        variants[f"keep {keep}, stops"] = variant
    return variants


def list_rules(cascade: Cascade) -> dict[int, StoppingRule]:
    """Return the rules of a cascade by the index of their stage."""
    return {number: stage.stop for number, stage in enumerate(cascade.stages) if stage.stop}


def find_all(index: Index, questions: Sequence[Question], cascade: Cascade) -> list[Asked]:
    """Return what is found for each question, and for answerable ones also without the answer."""
    asked = []
    for question in questions:
        asked.append(Asked(question, find(index, question, cascade), is_own=True))
        if question.is_answerable:
            others = find(index, question, cascade, without=question.accepts)
            asked.append(Asked(question, others, is_own=False))
    return asked


def compare(variants: dict[str, Cascade], asked: Sequence[Asked]) -> dict[str, dict[str, Any]]:
    """Return the figures of each variant."""
    rows: dict[str, dict[str, Any]] = {}
    judged = {name: [_ask(cascade, item) for item in asked] for name, cascade in variants.items()}
    counted = [item.is_own and item.question.is_answerable for item in asked]
    for name, own in judged.items():
        groups = defaultdict(list)
        for item, (is_right, _, _), counts in zip(asked, own, counted, strict=True):
            if counts:
                groups[item.question.group].append(is_right)
        right = [
            [row[0] for row, use in zip(o, counted, strict=True) if use] for o in (judged[ALL], own)
        ]
        change = bootstrap_difference(*right)
        confidences, correct = np.array([row[1] for row in own]), np.array([row[0] for row in own])
        reads = np.array([row[2] for row, use in zip(own, counted, strict=True) if use])
        rows[name] = {
            "read": reads.mean(axis=0).round(2).tolist(),
            "first": round(100 * statistics.mean(map(statistics.mean, groups.values())), 1),
            "difference": [round(100 * value, 1) for value in (change.low, change.high)],
            "calibration_error": round(measure_calibration_error(confidences, correct), 4),
        }
    return rows


def _ask(cascade: Cascade, asked: Asked) -> tuple[bool, float, list[int]]:
    """Return whether the first answer is right, its confidence, and what each stage has read."""
    ranking = order(asked.question.text, asked.found, scorer=cascade, only_first=True)
    is_right = asked.question.accepts(ranking.items[0].candidate.text)
    _, stopping = find_stopping_stages(cascade)
    return is_right, ranking.confidence or 0.0, [ranking.trace[at].scored for at in stopping]


def time_all(
    variants: dict[str, Cascade], index: Index, questions: Sequence[Question]
) -> dict[str, dict[str, float]]:
    """Return percentiles of the milliseconds of an answer; the variants take turns."""
    engines = {name: Engine(index, cascade) for name, cascade in variants.items()}
    times: dict[str, list[float]] = defaultdict(list)
    for place, question in enumerate([questions[0], *questions]):
        names = list(engines)
        for name in names[place % len(names) :] + names[: place % len(names)]:
            start = time.perf_counter()
            engines[name].answer(question.text)
            if place:  # caches are cold at first
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: get_percentiles(own, 50, 95) for name, own in times.items()}


def show(corpus: str, rows: dict[str, dict[str, Any]]) -> None:
    """Print a table."""
    for name, row in rows.items():
        low, high = row["difference"]
        reads = " ".join(f"{read:6.2f}" for read in row["read"])
        line = f"{corpus:8} {name:14} {reads} read  {row['first']:.1f} %"
        line += f" ({low:+.1f} to {high:+.1f})  ECE {row['calibration_error']:.4f}"
        print(line + "".join(f"  {key} {row[key]}" for key in ("p50_ms", "p95_ms") if key in row))


if __name__ == "__main__":
    main()
