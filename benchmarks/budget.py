"""Measure how well rankings keep a latency budget, and what it costs in accuracy.

Usage: python -m benchmarks.budget [--scorer CASCADE] [--dataset squad-v2] [--split dev]
           [--questions 200] [--size 1300] [--budgets 150,50] [--data DATA] > budget.json
       python -m benchmarks.budget --cache CACHE [--scorer CASCADE] [--questions 40]
           [--budgets 20,10,5,2,1] [--data DATA] > budget_index.json

Lists are built like those of ASNQ++: the whole document, then sentences of other questions.
Candidates carry their tokens, as those of an index do.  Every question is ranked without a
budget and with each budget, in turn.  Prints one JSON object: milliseconds of a `rank` call, the
share of questions that took at most 30 ms more than the budget, P@1, and the share of questions
where a stage ran out of time.

With --cache, the folder that benchmarks.open_corpus fills, questions are answered from the index of
its corpus `pooled`, so many of each set: milliseconds of `Engine.answer`, the share that took at
most 5 ms more than the budget, and the share of first answers that are right.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.questions import Question
from benchmarks.open_corpus import open_corpus
from rejoinder import load, rank
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.engine.engine import Engine
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.papers.examples import build_lists
from rejoinder.types import Example

GRACE_MS = 30.0
GRACE_INDEX_MS = 5.0


@dataclass(frozen=True)
class Trial:
    """One ranked question."""

    milliseconds: float
    is_right: bool
    timed_out: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scorer", default="default")
    parser.add_argument("--dataset", default="squad-v2")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--questions", type=int)
    parser.add_argument("--size", type=int, default=1300)
    parser.add_argument("--budgets")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.set_defaults(typos=None, index=None)
    options = parser.parse_args()
    options.questions = options.questions or (40 if options.cache else 200)
    options.budgets = options.budgets or ("20,10,5,2,1" if options.cache else "150,50")
    measured = answer_from_index(options) if options.cache else rank_lists(options)
    print(json.dumps(measured | {"machine": describe_machine()}, indent=1))


def rank_lists(options: argparse.Namespace) -> dict[str, Any]:
    """Rank long lists with each budget."""
    examples = list(open_dataset(options.dataset, split=options.split, folder=options.data))
    lists = store_tokens(build_lists(examples, size=options.size, questions=options.questions))
    scorer = load(options.scorer)
    trials = make_trials(options)
    for warm in lists[:3]:
        rank_once(scorer, warm, None)
    for example in lists:
        for budget, own in trials.items():
            own.append(rank_once(scorer, example, budget))
    return {
        "scorer": scorer.name,
        "dataset": f"{options.dataset}:{options.split}",
        "questions": len(lists),
        "candidates": round(float(np.mean([len(item.candidates) for item in lists]))),
        "budgets": [summarise(budget, items) for budget, items in trials.items()],
    }


def make_trials(options: argparse.Namespace) -> dict[float | None, list[Trial]]:
    """Return an empty list for each budget, and for none."""
    return {None: [], **{float(budget): [] for budget in options.budgets.split(",")}}


def answer_from_index(options: argparse.Namespace) -> dict[str, Any]:
    """Answer questions from an index with each budget."""
    scorer = load(options.scorer)
    trials = make_trials(options)
    with open_corpus("pooled", options) as (index, _, questions):
        engine = Engine(index, scorer)
        engine.prepare()
        for question in questions:
            for budget, own in trials.items():
                own.append(answer_once(engine, question, budget))
        sentences = index.store.count_candidates()
    return {
        "scorer": scorer.name,
        "corpus": "pooled",
        "questions": len(questions),
        "sentences": sentences,
        "budgets": [summarise(budget, own, GRACE_INDEX_MS) for budget, own in trials.items()],
    }


def answer_once(engine: Engine, question: Question, budget_ms: float | None) -> Trial:
    start = perf_counter()
    found = engine.answer(question.text, budget_ms=budget_ms)
    milliseconds = 1000 * (perf_counter() - start)
    return Trial(
        milliseconds,
        bool(found.answers) and question.accepts(found.answers[0].sentence),
        len(found.trace) < 2 or any(stage.timed_out for stage in found.trace),
    )


def store_tokens(examples: Sequence[Example]) -> list[Example]:
    vectors = load_vectors()
    return [
        replace(
            example,
            candidates=tuple(
                replace(item, tokens=vectors.encode(item.text)) for item in example.candidates
            ),
        )
        for example in examples
    ]


def rank_once(scorer: Scorer, example: Example, budget_ms: float | None) -> Trial:
    start = perf_counter()
    ranking = rank(example.question, example.candidates, scorer=scorer, budget_ms=budget_ms)
    milliseconds = 1000 * (perf_counter() - start)
    labels = dict(zip((item.id for item in example.candidates), example.labels, strict=True))
    return Trial(
        milliseconds,
        labels[ranking.items[0].candidate.id],
        any(stage.timed_out for stage in ranking.trace),
    )


def summarise(
    budget_ms: float | None, trials: Sequence[Trial], grace_ms: float = GRACE_MS
) -> dict[str, Any]:
    times = np.array([item.milliseconds for item in trials])
    within = None if budget_ms is None else float((times <= budget_ms + grace_ms).mean())
    return {
        "budget_ms": budget_ms,
        **get_percentiles(times.tolist(), 50, 95, 99),
        "most_ms": round(float(times.max()), 1),
        f"share_within_{grace_ms:.0f}_ms_more": within,
        "P@1": round(100 * float(np.mean([item.is_right for item in trials])), 2),
        "share_cut": float(np.mean([item.timed_out for item in trials])),
    }


if __name__ == "__main__":
    main()
