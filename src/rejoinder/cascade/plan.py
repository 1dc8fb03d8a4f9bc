"""How many candidates the next stage gets, so that all that is to come fits into the time left.

Every stage to come gives up the same share of its candidates.  Where the last one would
not have the time for a single candidate, it is given up, and its time goes to the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rejoinder.cascade.cost import Cost, Counts


@dataclass(frozen=True, slots=True)
class Coming:
    """A stage to come: what it costs, and how many candidates it takes at most."""

    cost: Cost
    most: int


def plan(coming: Sequence[Coming], words: Counts, left_ms: float) -> int:
    """Return how many candidates the first of the stages gets; 0 where there is no time.

    Args:
        words: of each candidate, those that come first standing first.
    """
    sums = [0, *words.cumsum().tolist()]
    for depth in range(len(coming), 0, -1):
        part = coming[:depth]
        if _predict(part, sums, 1) <= left_ms:
            return _find_most(part, sums, left_ms)
    return 0


def _find_most(coming: Sequence[Coming], sums: Sequence[int], left_ms: float) -> int:
    low, high = 1, coming[0].most
    while low < high:
        middle = (low + high + 1) // 2
        if _predict(coming, sums, middle) <= left_ms:
            low = middle
        else:
            high = middle - 1
    return low


def _predict(coming: Sequence[Coming], sums: Sequence[int], first: int) -> float:
    counts = [max(1, stage.most * first // coming[0].most) for stage in coming]
    return sum(
        stage.cost.predict(count, sums[count]) for stage, count in zip(coming, counts, strict=True)
    )
