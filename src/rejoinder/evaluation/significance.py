"""Tests whether two scorers differ significantly, paired by question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A 95 % confidence interval of a mean over questions."""

    low: float
    high: float


def randomisation_test(one: Sequence[float], other: Sequence[float], *, seed: int = 0) -> float:
    """Return the two-sided p-value of the paired randomisation test on the mean.

    If the scorers were equal, the difference of each question could as well have the
    opposite sign.  The p-value is the share of random sign flips whose mean is at least as
    far from 0 as the observed one, which is counted too (Smucker et al. 2007, "A Comparison
    of Statistical Significance Tests for Information Retrieval Evaluation").
    """
    differences = _pair(one, other)
    observed = abs(differences.sum())
    signs = np.random.default_rng(seed).integers(0, 2, (RESAMPLES, len(differences))) * 2 - 1
    # Sums of the same numbers in another order differ in the last bits.
    as_far = np.abs(signs @ differences) >= observed - 1e-9
    return float((as_far.sum() + 1) / (RESAMPLES + 1))


def bootstrap_mean(values: Sequence[float], *, seed: int = 0) -> Interval:
    """Return the percentile bootstrap interval of the mean over questions."""
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(sample), (RESAMPLES, len(sample)))
    low, high = np.percentile(sample[drawn].mean(axis=1), [2.5, 97.5])
    return Interval(float(low), float(high))


def bootstrap_difference(
    one: Sequence[float], other: Sequence[float], *, seed: int = 0
) -> Interval:
    """Return the interval of the mean difference `other - one`, paired by question."""
    return bootstrap_mean(_pair(one, other).tolist(), seed=seed)


def _pair(one: Sequence[float], other: Sequence[float]) -> NDArray[np.float64]:
    if len(one) != len(other) or not one:
        raise ValueError(f"cannot pair {len(one)} values with {len(other)}")
    return np.asarray(other, dtype=np.float64) - np.asarray(one, dtype=np.float64)
