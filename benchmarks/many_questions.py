"""Measure how much faster `answer_many` answers a list of questions than `answer` one by one.

Usage: python -m benchmarks.many_questions INDEX QUESTIONS [--count 60] [--rounds 5]
           > many_questions.json

QUESTIONS is a file with one question per line.  Each round answers all of them in three ways:
one by one with a scorer on one thread, one by one with a scorer on all cores, and with
`answer_many`.  Prints one JSON object: milliseconds per question (the median round), and how many
times as fast `answer_many` was as each of the others (the median of the rounds' ratios).
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.common import describe_machine
from rejoinder.cascade.loading import load
from rejoinder.engine.engine import Engine
from rejoinder.index.index import Index

WARM_UP = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    questions = options.questions.read_text(encoding="utf-8").splitlines()[: options.count]
    result = compare(options.index, questions, options.rounds)
    print(json.dumps({**result, "machine": describe_machine()}, indent=1))


def compare(folder: Path, questions: Sequence[str], rounds: int) -> dict[str, Any]:
    """Return the times of all ways, and the ratios to `answer_many`."""
    with (
        Engine(Index(folder), load(threads=1)) as single,
        Engine(Index(folder), load()) as engine,
    ):
        ways: dict[str, Callable[[], object]] = {
            "one by one, one thread": lambda: [single.answer(one) for one in questions],
            "one by one, all cores": lambda: [engine.answer(one) for one in questions],
            "answer_many": lambda: engine.answer_many(questions),
        }
        for question in questions[:WARM_UP]:
            single.answer(question)
            engine.answer(question)
        times = [{name: measure(way) for name, way in ways.items()} for _ in range(rounds)]
    return {
        "questions": len(questions),
        "milliseconds": {
            name: round(1000 * median(one[name] for one in times) / len(questions), 2)
            for name in ways
        },
        "times as fast": {
            name: round(median(one[name] / one["answer_many"] for one in times), 2)
            for name in ways
            if name != "answer_many"
        },
    }


def measure(way: Callable[[], object]) -> float:
    """Return how many seconds a call takes."""
    start = perf_counter()
    way()
    return perf_counter() - start


if __name__ == "__main__":
    main()
