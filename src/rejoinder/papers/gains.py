"""What one row of a table gains over another."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any

from rejoinder.evaluation.significance import Interval, bootstrap_difference, randomisation_test


@dataclass(frozen=True, slots=True)
class Gain:
    """A mean difference as a share of 1, paired over questions on seed-averaged values."""

    row: str
    over: str
    measure: str
    mean: float
    interval: Interval
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Return the gain as plain JSON types."""
        return asdict(self)


def measure_gain(
    row: str,
    over: str,
    measure: str,
    values: Sequence[Sequence[float]],
    base: Sequence[Sequence[float]],
) -> Gain:
    """Return what a row gains over another.

    Args:
        values: of each seed of the row, one value per question.
        base: the same of the other.
    """
    one, other = average(base), average(values)
    return Gain(
        row,
        over,
        measure,
        fmean(other) - fmean(one),
        bootstrap_difference(one, other),
        randomisation_test(one, other),
    )


def average(seeds: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over seeds of each question."""
    return [fmean(values) for values in zip(*seeds, strict=True)]
