"""The latency budget: what a stage costs, and how many candidates the time left allows.

All remaining stages give up the same share of their candidates.  If the last one has no time
for a single candidate, it is dropped, and its time goes to the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from msgspec import Struct
from msgspec.structs import astuple
from numpy.typing import NDArray

from rejoinder.cascade.calibration import NotNegative
from rejoinder.types import Candidate

WordCounts = NDArray[np.int64]


class Cost(Struct, frozen=True, forbid_unknown_fields=True):
    """Milliseconds per call, candidate and word, on the machine that measured them."""

    fixed_ms: NotNegative = 0.0
    candidate_ms: NotNegative = 0.0
    word_ms: NotNegative = 0.0

    def predict(self, candidates: int, words: int) -> float:
        """Return the milliseconds for these candidates, which have `words` words in all."""
        if candidates == 0:
            return 0.0
        return self.fixed_ms + self.candidate_ms * candidates + self.word_ms * words

    def round(self) -> "Cost":
        """Return the costs in whole nanoseconds."""
        return Cost(*(round(value, 6) for value in astuple(self)))


@dataclass(frozen=True, slots=True)
class TimedCall:
    """A measured call of a scorer."""

    candidates: int
    words: int
    milliseconds: float


def count_words(candidates: Sequence[Candidate]) -> WordCounts:
    """Return roughly how many words each candidate has: it counts spaces, for speed."""
    counts = (candidate.text.count(" ") + 1 for candidate in candidates)
    return np.fromiter(counts, np.int64, len(candidates))


def fit_cost(calls: Sequence[TimedCall]) -> Cost:
    """Fit a non-negative cost to measured calls by least squares of the relative errors."""
    if not calls:
        raise ValueError("fitting a cost needs timed calls")
    rows = np.array([[1.0, call.candidates, call.words] for call in calls])
    times = np.array([max(call.milliseconds, 1e-6) for call in calls])
    rows /= times[:, None]
    best, least = np.zeros(3), np.inf
    # For three coefficients, trying each subset is simpler than a constrained solver.
    for size in (1, 2, 3):
        for subset in combinations(range(3), size):
            fitted = np.linalg.lstsq(rows[:, subset], np.ones(len(calls)), rcond=None)[0]
            error = float(np.square(rows[:, subset] @ fitted - 1).sum())
            if (fitted >= 0).all() and error < least - 1e-9:
                best, least = np.zeros(3), error
                best[list(subset)] = fitted
    return Cost(*best.tolist())


@dataclass(frozen=True, slots=True)
class RemainingStage:
    """The cost of a stage that has not run yet, and how many candidates it takes at most."""

    cost: Cost
    most: int


def plan(stages: Sequence[RemainingStage], words: WordCounts, left_ms: float) -> int:
    """Return how many candidates the first of the remaining stages gets; 0 if time is up.

    Args:
        words: the word count of each candidate, best candidate first.
    """
    sums = [0, *words.cumsum().tolist()]
    for depth in range(len(stages), 0, -1):
        if _predict(stages[:depth], sums, 1) <= left_ms:
            return _find_most(stages[:depth], sums, left_ms)
    return 0


def _find_most(stages: Sequence[RemainingStage], sums: Sequence[int], left_ms: float) -> int:
    low, high = 1, stages[0].most
    while low < high:
        middle = (low + high + 1) // 2
        if _predict(stages, sums, middle) <= left_ms:
            low = middle
        else:
            high = middle - 1
    return low


def _predict(stages: Sequence[RemainingStage], sums: Sequence[int], first: int) -> float:
    counts = [max(1, stage.most * first // stages[0].most) for stage in stages]
    return sum(
        stage.cost.predict(count, sums[count]) for stage, count in zip(stages, counts, strict=True)
    )
