"""How likely the first candidate is an answer, and when to say that there is none.

A logistic function of what the last stage knows: the best score, its margin over the next
one, and the logarithm of how many candidates there were.  Optionally bent by a rising line
through knots (isotonic regression).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from rejoinder.models.scorer import Scores

Facts = Mapping[str, str | int | float]
"""What stands beside a number: data set, questions, what was reached."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the logistic function, and the confidence below which nothing is answered."""

    intercept: float
    best: float
    margin: float = 0.0
    count: float = 0.0
    threshold: float = 0.5
    knots: tuple[tuple[float, float], ...] = ()
    """Points (value of the function, confidence), both rising; none for the function itself."""
    facts: Facts = field(default_factory=dict)

    def rate(self, scores: Scores, candidates: int) -> float:
        """Return the confidence in the best of the last stage's scores.

        Args:
            scores: those of the last stage, one at least.
            candidates: how many candidates the first stage was given.
        """
        return self.rate_described(describe(scores, candidates))

    def rate_described(self, described: Scores) -> float:
        """Return the confidence for what `describe` returned."""
        value = self.intercept + self.weights @ described
        if not self.knots:
            return to_probability(float(value))
        values, confidences = zip(*self.knots, strict=True)
        return float(np.interp(value, values, confidences))

    @property
    def weights(self) -> Scores:
        """The weights of what `describe` returns."""
        return np.array([self.best, self.margin, self.count])


def describe(scores: Scores, candidates: int) -> Scores:
    """Return the best score, its margin over the next, and the logarithm of the list's length.

    >>> describe(np.array([1.0, 4.0, 3.5]), 1).tolist()  # 4, 4 - 3.5, log 1
    [4.0, 0.5, 0.0]
    """
    best = float(scores.max())
    margin = best - float(np.partition(scores, -2)[-2]) if len(scores) > 1 else 0.0
    return np.array([best, margin, log(max(candidates, 1))])


def to_probability(value: float) -> float:
    """Return the logistic function of a value, without overflow."""
    return 1 / (1 + exp(-value)) if value >= 0 else 1 - 1 / (1 + exp(value))
