"""Measure a search on one thread and on several.

Usage: python -m benchmarks.search_threads [--rows 500000 1000000 2000000 5000000] [--questions 40]
           [--index INDEX] > search_threads.json

The first pass of vector search compares random rows of 256 bits, whole and divided over as many
threads as there are cores.  With --index, an index is asked the questions about the manuals, with
the search by meaning after the one by words, and beside it; `words` and `meaning` are each alone.
Both ways take turns, and must find the same.  Prints medians of wall-clock and of CPU time in
milliseconds, and the tenth percentile of wall-clock time, which other work delays least.
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import describe_machine
from benchmarks.corpora.questions import MANUALS_DEV, read_manual_questions
from rejoinder.engine.engine import RETRIEVED
from rejoinder.index import index as index_module
from rejoinder.index.index import Index
from rejoinder.index.vectors.codes import QuestionCode, encode_question
from rejoinder.index.vectors.nearest import choose_rows
from rejoinder.models.parallel import count_cores

ROWS = (500_000, 1_000_000, 2_000_000, 5_000_000)
WIDTH, PER_DOCUMENT = 256, 20
LIMIT = 2 * RETRIEVED
WARM_UP = 3
NEVER = 10**12
"""More rows than there are."""

Figures = dict[str, dict[str, float]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--index", type=Path)
    options = parser.parse_args()
    result: dict[str, Any] = {
        "first_pass": {str(rows): divide_pass(rows, options.questions) for rows in options.rows}
    }
    if options.index:
        texts = [item.text for item in read_manual_questions(MANUALS_DEV)]
        result["index"] = search_beside(options.index, texts[: options.questions])
    print(json.dumps({**result, "machine": describe_machine()}, indent=1))


def divide_pass(rows: int, questions: int) -> Figures:
    """Return the times of the first pass over random rows, whole and divided."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**64, (rows, WIDTH // 64), dtype=np.uint64)
    numbers = np.arange(rows)
    places = np.column_stack([numbers // PER_DOCUMENT, numbers % PER_DOCUMENT]).astype("<u4")
    allowed = np.ones(rows // PER_DOCUMENT + 1, dtype=np.bool_)
    codes = [encode_question(row) for row in rng.standard_normal((questions, WIDTH), np.float32)]

    def choose(code: QuestionCode, *, threads: int) -> bytes:
        return choose_rows(bits, places, allowed, code, LIMIT, threads=threads).tobytes()

    ways = {"whole": 1, "divided": count_cores()}
    return compare({name: partial(choose, threads=count) for name, count in ways.items()}, codes)


def search_beside(folder: Path, questions: list[str]) -> dict[str, Any]:
    """Return the times of searches of an index on one thread and on two, and of their parts."""
    own = index_module.BESIDE
    with Index(folder) as index:
        counts = index.count()
        index.prepare()
        full_text, vectors = index._full_text.current, index.vectors

        def search(least: int) -> Callable[[str], Any]:
            def run(text: str) -> Any:
                index_module.BESIDE = least
                return index.search(text, RETRIEVED)

            return run

        try:
            whole = compare({"one after the other": search(NEVER), "beside": search(0)}, questions)
        finally:
            index_module.BESIDE = own
        parts = compare({"words": lambda text: full_text.search(text, LIMIT, None)}, questions)
        parts |= compare({"meaning": lambda text: vectors.search(text, LIMIT, None)}, questions)
    return {"sentences": counts.sentences, **whole, **parts}


def compare(ways: Mapping[str, Callable[[Any], Any]], inputs: Iterable[Any]) -> Figures:
    """Return the times of ways that must return the same; they take turns."""
    wall: dict[str, list[float]] = defaultdict(list)
    cpu: dict[str, list[float]] = defaultdict(list)
    names = list(ways)
    for number, given in enumerate(inputs):
        found = {}
        for name in names if number % 2 else names[::-1]:
            start, used = time.perf_counter(), time.process_time()
            found[name] = ways[name](given)
            if number >= WARM_UP:
                cpu[name].append(1000 * (time.process_time() - used))
                wall[name].append(1000 * (time.perf_counter() - start))
        assert all(other == found[names[0]] for other in found.values()), given
    return {
        name: {
            "p10_ms": round(float(np.percentile(wall[name], 10)), 2),
            "p50_ms": round(float(np.median(wall[name])), 2),
            "cpu_ms": round(float(np.median(cpu[name])), 2),
        }
        for name in names
    }


if __name__ == "__main__":
    main()
