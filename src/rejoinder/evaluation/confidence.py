"""How well a confidence tells right answers from wrong ones.

A system that may abstain answers the questions of which it is most sure.  The *answer
rate* is the share of questions it answers, the *precision* the share of those that are
right.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Confidences = NDArray[np.float64]
Rights = NDArray[np.bool_]
BINS = 10


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision against answer rate, from the surest question to all of them."""

    rates: Confidences
    precisions: Confidences
    thresholds: Confidences
    """The confidence of the last question that is answered at that rate."""

    @property
    def area(self) -> float:
        """The mean precision over all answer rates."""
        return float(self.precisions.mean())


def trace_curve(confidences: Confidences, rights: Rights) -> Curve:
    """Return the curve; of equal confidences the wrong ones are answered first.

    >>> curve = trace_curve(np.array([0.9, 0.2, 0.6]), np.array([True, True, False]))
    >>> curve.precisions.tolist()  # 1/1, 1/2, 2/3
    [1.0, 0.5, 0.6666666666666666]
    """
    order = np.lexsort((rights, -confidences))
    answered = np.arange(1, len(order) + 1)
    precisions = np.cumsum(rights[order]) / answered
    return Curve(answered / len(order), precisions, confidences[order])


def compare_with_oracle(confidences: Confidences, rights: Rights) -> float:
    """Return the area under the curve as a share of what knowing all right answers would give."""
    oracle = trace_curve(rights.astype(np.float64), rights).area
    return trace_curve(confidences, rights).area / oracle if oracle else 0.0


def measure_calibration_error(
    confidences: Confidences, rights: Rights, *, bins: int = BINS
) -> float:
    """Return the expected calibration error over bins of equal width.

    The mean distance between confidence and share of right answers in a bin, weighted by
    how many questions it holds (Guo et al. 2017, "On Calibration of Modern Neural Networks").
    """
    places = np.minimum((confidences * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(places, confidences - rights, minlength=bins)
    return float(np.abs(gaps).sum() / len(confidences))


def find_threshold(curve: Curve, *, precision: float) -> float | None:
    """Return the lowest confidence at which all above are right often enough; None if never."""
    # At equal confidences one answers all of them or none.
    ends = np.append(curve.thresholds[1:] != curve.thresholds[:-1], True)
    enough = np.flatnonzero(ends & (curve.precisions >= precision))
    return float(curve.thresholds[enough[-1]]) if len(enough) else None


def find_threshold_for_rate(curve: Curve, rate: float) -> float:
    """Return the confidence down to which at least this share of questions is answered."""
    place = int(np.searchsorted(curve.rates, rate - 1e-9))
    return float(curve.thresholds[min(place, len(curve.thresholds) - 1)])
