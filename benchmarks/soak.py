"""Scores from many threads at once for a while, and holds every score against that of one thread.

Usage: python -m benchmarks.soak [--seconds 60] [--threads 8] > soak.json

The scorer is a full-sized Cosinet + BiRNN with drawn weights.  Prints one JSON object: lists
scored, how many differed in any bit (0, or the exit status is 1), and how much resident memory
grew after the first tenth of the time, in which tables fill and threads start.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.made_up import draw_texts, write_cosinet
from rejoinder.models.parallel import QuestionCandidates
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scorer = open_scorer(write_cosinet(Path(folder, "m")))
    result = soak(scorer, make_asked(40), seconds=arguments.seconds, threads=arguments.threads)
    print(json.dumps({**result, "cores": os.cpu_count()}, indent=2))
    sys.exit(result["wrong"] > 0)


def make_asked(count: int) -> list[QuestionCandidates]:
    """Return questions with lists of 1 to 100 candidates; every other list stands in order."""
    texts = draw_texts(400)
    asked: list[QuestionCandidates] = []
    for at in range(count):
        chosen = texts[at * 7 : at * 7 + 1 + (at * 37) % 100]
        ordered = [Candidate(str(place), text, position=place) for place, text in enumerate(chosen)]
        asked.append((" ".join(texts[-1 - at].split()[:8]), ordered if at % 2 else chosen))
    return asked


def soak(
    scorer: Scorer, asked: Sequence[QuestionCandidates], *, seconds: float, threads: int
) -> dict[str, Any]:
    """Score for so long on so many threads; return what was found."""
    expected = [scorer.score(question, given) for question, given in asked]
    end = time.monotonic() + seconds
    scored, wrong = [0] * threads, [0] * threads

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < end:
            at = int(rng.integers(len(asked)))
            found = scorer.score(*asked[at])
            scored[number] += 1
            wrong[number] += not np.array_equal(found, expected[at])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    time.sleep(seconds / 10)
    before = measure_memory()
    for worker in workers:
        worker.join()
    return {
        "seconds": seconds,
        "threads": threads,
        "lists_scored": sum(scored),
        "wrong": sum(wrong),
        "memory_mb": round(before, 1),
        "memory_growth_mb": round(measure_memory() - before, 1),
    }


def measure_memory() -> float:
    """Return the resident memory of this process now, in MB (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
