"""Calibrated confidence in the best candidate, and the threshold for abstaining.

The confidence is a logistic function of three features: the best score of the last stage,
its margin over the second best, and the logarithm of the number of candidates.  Optionally
isotonic regression replaces the logistic function.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from rejoinder.models.scorer import Scores

Facts = Mapping[str, str | int | float]
"""The protocol beside a number: data set, questions, measured quality."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of the logistic function, and the confidence below which a cascade abstains."""

    intercept: float
    best: float
    margin: float = 0.0
    count: float = 0.0
    threshold: float = 0.5
    knots: tuple[tuple[float, float], ...] = ()
    """Points (logit, confidence) of the isotonic regression, both rising; empty if not used."""
    facts: Facts = field(default_factory=dict)

    def rate(self, scores: Scores, candidates: int) -> float:
        """Return the confidence in the best of the last stage's scores.

        Args:
            scores: the scores of the last stage, at least one.
            candidates: how many candidates the first stage got.
        """
        return self.rate_features(get_features(scores, candidates))

    def rate_features(self, features: Scores) -> float:
        """Return the confidence for the features that `get_features` returns."""
        value = self.intercept + self.weights @ features
        if not self.knots:
            return to_probability(float(value))
        values, confidences = zip(*self.knots, strict=True)
        return float(np.interp(value, values, confidences))

    @property
    def weights(self) -> Scores:
        """The weights of the features, in their order."""
        return np.array([self.best, self.margin, self.count])


def get_features(scores: Scores, candidates: int) -> Scores:
    """Return the best score, its margin over the next, and the logarithm of the list's length.

    >>> get_features(np.array([1.0, 4.0, 3.5]), 1).tolist()  # 4, 4 - 3.5, log 1
    [4.0, 0.5, 0.0]
    """
    best = float(scores.max())
    margin = best - float(np.partition(scores, -2)[-2]) if len(scores) > 1 else 0.0
    return np.array([best, margin, log(max(candidates, 1))])


def to_probability(value: float) -> float:
    """Return the logistic function of a value, without overflow."""
    return 1 / (1 + exp(-value)) if value >= 0 else 1 - 1 / (1 + exp(value))
