"""Score from many threads at once for a while, and compare every score with that of one thread.

Usage: python -m benchmarks.soak [--seconds 60] [--threads 8] > soak.json

The scorer is a full-sized Cosinet + BiRNN with random weights.  Prints one JSON object: the number
of scored lists, how many of them differed in any bit (0, or the exit status is 1), and the growth
of resident memory after the first tenth of the time, in which caches fill and threads start.
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

from benchmarks.common import draw_texts, measure_memory, write_cosinet
from rejoinder.models.registry import open_scorer
from rejoinder.models.scorer import Candidates, Scorer
from rejoinder.types import Candidate

QuestionCandidates = tuple[str, Candidates]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scorer = open_scorer(write_cosinet(Path(folder, "m")))
    result = soak(scorer, make_questions(40), seconds=arguments.seconds, threads=arguments.threads)
    print(json.dumps({**result, "cores": os.cpu_count()}, indent=2))
    sys.exit(result["wrong"] > 0)


def make_questions(count: int) -> list[QuestionCandidates]:
    """Return questions with 1 to 100 candidates; every other list has document order."""
    texts = draw_texts(400)
    questions: list[QuestionCandidates] = []
    for at in range(count):
        chosen = texts[at * 7 : at * 7 + 1 + (at * 37) % 100]
        ordered = [Candidate(str(place), text, position=place) for place, text in enumerate(chosen)]
        questions.append((" ".join(texts[-1 - at].split()[:8]), ordered if at % 2 else chosen))
    return questions


def soak(
    scorer: Scorer, questions: Sequence[QuestionCandidates], *, seconds: float, threads: int
) -> dict[str, Any]:
    """Score for so long on so many threads; return the counts and the memory."""
    expected = [scorer.score(*question) for question in questions]
    end = time.monotonic() + seconds
    scored, wrong = [0] * threads, [0] * threads

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < end:
            at = int(rng.integers(len(questions)))
            scores = scorer.score(*questions[at])
            scored[number] += 1
            wrong[number] += not np.array_equal(scores, expected[at])

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


if __name__ == "__main__":
    main()
