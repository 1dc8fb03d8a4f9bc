"""Fits probabilities to what was right and wrong: a logistic function, or a rising line."""

import numpy as np
from numpy.typing import NDArray

from rejoinder.evaluation.confidence import Confidences, Rights

Features = NDArray[np.float64]
"""One row per question."""

RIDGE = 1e-3
"""Holds weights finite where right and wrong can be told apart without a mistake."""


def fit_logistic(features: Features, rights: Rights, *, steps: int = 50) -> Features:
    """Return the intercept and one weight per column, by Newton's method."""
    means, scales = features.mean(axis=0), features.std(axis=0)
    scales[scales == 0] = 1
    rows = np.column_stack([np.ones(len(features)), (features - means) / scales])
    weights = np.zeros(rows.shape[1])
    ridge = RIDGE * np.diag([0.0] + [1.0] * features.shape[1]) * len(rows)
    for _ in range(steps):
        found = sigmoid(rows @ weights)
        slope = rows.T @ (found - rights) + ridge @ weights
        curvature = (rows.T * (found * (1 - found) + 1e-9)) @ rows + ridge
        step = np.linalg.solve(curvature, slope)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    own = weights[1:] / scales
    return np.array([weights[0] - own @ means, *own])


def fit_rising(values: Confidences, rights: Rights) -> list[tuple[float, float]]:
    """Return the knots of the rising line that is closest: pool adjacent violators.

    A knot stands in the middle of its pool.  No confidence is 0 or 1: one more question could
    always be otherwise.
    """
    order = np.argsort(values, kind="stable")
    pools: list[list[float]] = []
    for value, right in zip(values[order].tolist(), rights[order].tolist(), strict=True):
        pools.append([value, float(right), 1.0])  # sums of values and rights, and how many
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            last = pools.pop()
            pools[-1] = [one + other for one, other in zip(pools[-1], last, strict=True)]
    least = 1 / (len(values) + 2)
    return [
        (total / size, min(max(right / size, least), 1 - least)) for total, right, size in pools
    ]


def sigmoid(values: Confidences) -> Confidences:
    """Return the logistic function, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)), dtype=np.float64)


def measure_log_loss(confidences: Confidences, rights: Rights) -> float:
    """Return the mean of minus the logarithm of the probability given to what was so."""
    given = np.where(rights, confidences, 1 - confidences)
    return float(-np.log(np.maximum(given, 1e-12)).mean())
