"""How long a scorer takes for one question, on this machine."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate

QUESTION = "How are glacier caves formed in the mountains?"
TEXT = (
    "the of and in a is to by ice water cave glacier rock summer winter melt river stone deep"
    " warm cold wind air form carve flow year season valley mountain lake snow light sound"
)
LENGTH = 25
"""Words of a candidate."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per question of so many candidates."""

    scorer: str
    candidates: int
    median_ms: float
    p95_ms: float


def make_candidates(count: int, *, seed: int = 0) -> list[Candidate]:
    """Return made-up sentences of 25 words, as one page in its order."""
    drawn = np.random.default_rng(seed).choice(TEXT.split(), (count, LENGTH))
    return [Candidate(str(at), " ".join(words), position=at) for at, words in enumerate(drawn)]


def time_scorer(scorer: Scorer, counts: Sequence[int], *, repeats: int = 20) -> list[Timing]:
    """Return the timings for lists of these lengths, after a few calls to warm up."""
    timings = []
    for count in counts:
        candidates = make_candidates(count)
        times = []
        for repeat in range(repeats + 3):
            start = time.perf_counter_ns()
            scorer.score(QUESTION, candidates)
            if repeat >= 3:
                times.append((time.perf_counter_ns() - start) / 1e6)
        p95 = statistics.quantiles(times, n=20)[-1]
        timings.append(Timing(scorer.name, count, statistics.median(times), p95))
    return timings
