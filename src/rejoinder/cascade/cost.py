"""What a scorer costs: a part per call, a part per candidate, a part per word."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Candidate

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Cost:
    """Milliseconds, on the machine where they were measured."""

    fixed_ms: float = 0.0
    candidate_ms: float = 0.0
    word_ms: float = 0.0

    def predict(self, candidates: int, words: int) -> float:
        """Return the milliseconds for so many candidates of so many words in all."""
        if candidates == 0:
            return 0.0
        return self.fixed_ms + self.candidate_ms * candidates + self.word_ms * words

    def to_dict(self) -> dict[str, float]:
        """Return the parts by name, rounded to what a clock can tell."""
        return {name: round(value, 6) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Timed:
    """One call of a scorer, as the clock saw it."""

    candidates: int
    words: int
    milliseconds: float


def count_words(candidates: Sequence[Candidate]) -> Counts:
    """Return about how many words each candidate has; spaces are counted, for speed."""
    counts = (candidate.text.count(" ") + 1 for candidate in candidates)
    return np.fromiter(counts, np.int64, len(candidates))


def fit_cost(calls: Sequence[Timed]) -> Cost:
    """Return the parts, none of them negative, that come closest to the calls.

    Relative errors are what is made small: a short call counts as much as a long one.
    """
    if not calls:
        raise ValueError("a cost needs calls that were timed")
    rows = np.array([[1.0, call.candidates, call.words] for call in calls])
    times = np.array([max(call.milliseconds, 1e-6) for call in calls])
    rows /= times[:, None]
    best, closest = np.zeros(3), np.inf
    # With three parts, trying each set of them is simpler than a solver with constraints.
    for size in (1, 2, 3):
        for chosen in combinations(range(3), size):
            found = np.linalg.lstsq(rows[:, chosen], np.ones(len(calls)), rcond=None)[0]
            error = float(np.square(rows[:, chosen] @ found - 1).sum())
            if (found >= 0).all() and error < closest - 1e-9:
                best, closest = np.zeros(3), error
                best[list(chosen)] = found
    return Cost(*best.tolist())
