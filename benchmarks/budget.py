"""Measures whether a budget holds, and what it costs in accuracy.

Usage: python -m benchmarks.budget [--scorer CASCADE] [--dataset squad-v2] [--split dev]
           [--questions 200] [--size 1300] [--budgets 150,50] [--data DATA] > budget.json

Lists are built as ASNQ++ is: the whole document, then sentences of other questions; candidates
carry their stored tokens, as those of an index do.  Every question is ranked without a budget
and with each, in turn.  Prints one JSON object: milliseconds of a whole `rank` call, what
share of the questions kept within 30 ms of the budget, P@1, and how often the clock cut.
"""

import argparse
import json
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from rejoinder import load, rank
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.papers.examples import build_lists
from rejoinder.types import Example

GRACE_MS = 30.0


@dataclass(frozen=True)
class Asked:
    """What came of one question."""

    milliseconds: float
    is_right: bool
    timed_out: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--scorer", default="default")
    parser.add_argument("--dataset", default="squad-v2")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--size", type=int, default=1300)
    parser.add_argument("--budgets", default="150,50")
    parser.add_argument("--data", type=Path)
    given = parser.parse_args()
    examples = list(open_dataset(given.dataset, split=given.split, folder=given.data))
    lists = store_tokens(build_lists(examples, size=given.size, questions=given.questions))
    scorer = load(given.scorer)
    budgets = [None, *(float(budget) for budget in given.budgets.split(","))]
    asked: dict[float | None, list[Asked]] = {budget: [] for budget in budgets}
    for warm in lists[:3]:
        ask(scorer, warm, None)
    for example in lists:
        for budget in budgets:
            asked[budget].append(ask(scorer, example, budget))
    result = {
        "scorer": scorer.name,
        "dataset": f"{given.dataset}:{given.split}",
        "questions": len(lists),
        "candidates": round(float(np.mean([len(item.candidates) for item in lists]))),
        "machine": {"cores": os.cpu_count(), "kind": platform.machine()},
        "budgets": [summarise(budget, found) for budget, found in asked.items()],
    }
    print(json.dumps(result, indent=1))


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


def ask(scorer: Scorer, example: Example, budget_ms: float | None) -> Asked:
    start = perf_counter()
    ranking = rank(example.question, example.candidates, scorer=scorer, budget_ms=budget_ms)
    milliseconds = 1000 * (perf_counter() - start)
    labels = dict(zip((item.id for item in example.candidates), example.labels, strict=True))
    return Asked(
        milliseconds,
        labels[ranking.items[0].candidate.id],
        any(stage.timed_out for stage in ranking.trace),
    )


def summarise(budget_ms: float | None, asked: Sequence[Asked]) -> dict[str, Any]:
    times = np.array([item.milliseconds for item in asked])
    within = None if budget_ms is None else float((times <= budget_ms + GRACE_MS).mean())
    return {
        "budget_ms": budget_ms,
        "p50_ms": round(float(np.quantile(times, 0.5)), 1),
        "p95_ms": round(float(np.quantile(times, 0.95)), 1),
        "most_ms": round(float(times.max()), 1),
        f"share_within_{GRACE_MS:.0f}_ms_more": within,
        "P@1": round(100 * float(np.mean([item.is_right for item in asked])), 2),
        "share_cut": float(np.mean([item.timed_out for item in asked])),
    }


if __name__ == "__main__":
    main()
