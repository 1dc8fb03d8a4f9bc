"""When a stage stops reading: once no unread candidate is likely to win.

A stage gets its candidates in the order of the stage before.  The further an unread one is below
the best so far in that order, and the better the best one's score is, the less likely it is to
win.  Stopping changes neither the score of a candidate nor its order among those that were read.
"""

from dataclasses import astuple, dataclass, fields
from math import log

import numpy as np
from msgspec import Struct

from rejoinder.cascade.calibration import to_probability
from rejoinder.errors import InputError
from rejoinder.models.scorer import Scores

FIRST, BATCH = 4, 2


@dataclass(frozen=True, slots=True)
class Progress:
    """What a stage knows when it has read the first of its candidates."""

    best: float
    """The best score so far."""
    gap: float
    """How far the next candidate is below the best so far, by the stage before."""
    unread: float
    """The logarithm of the number of unread candidates."""


PROGRESS = tuple(item.name for item in fields(Progress))


def measure_progress(scores: Scores, before: Scores) -> Progress:
    """Return the progress of a stage.

    Args:
        scores: of the candidates that were read; NaN where the stage has none.
        before: what the stage before ordered all candidates by, best first.
    """
    read = len(scores)
    best = int(np.argmax(np.where(np.isnan(scores), -np.inf, scores)))
    return Progress(
        float(scores[best]), float(before[best] - before[read]), log(len(before) - read)
    )


class StoppingRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A logistic function of the progress: the probability that an unread candidate wins.

    The one that wins gets the best score of the cascade's last stage.
    """

    risk: float
    """The stage stops once the probability is at most this."""
    intercept: float
    best: float
    gap: float
    unread: float
    first: int = FIRST
    """How many candidates are read before the rule is asked."""
    batch: int = BATCH
    """How many are read at a time after them."""

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.risk < 1:
            raise InputError(f"the risk of a stop must be from 0 to below 1, found {self.risk:g}")
        if self.first < 1 or self.batch < 1:
            raise InputError("a stage that may stop reads at least 1 candidate at a time")

    def rate(self, progress: Progress) -> float:
        """Return the probability that an unread candidate wins."""
        weights = np.array([self.best, self.gap, self.unread])
        return to_probability(self.intercept + float(weights @ np.array(astuple(progress))))

    def request(self, scores: Scores, before: Scores) -> int:
        """Return how many candidates to read next; 0 if the stage has read enough."""
        if not len(scores):
            return self.first
        return 0 if self.stops(scores, before) else self.batch

    def stops(self, scores: Scores, before: Scores) -> bool:
        """Return whether the stage has read enough (arguments: `measure_progress`).

        It reads on while it has no score, and if the stage before did not score the next one.
        """
        read = len(scores)
        if read == len(before) or np.isnan(scores).all() or not np.isfinite(before[read]):
            return False
        progress = measure_progress(scores, before)
        return np.isfinite(progress.gap) and self.rate(progress) <= self.risk
