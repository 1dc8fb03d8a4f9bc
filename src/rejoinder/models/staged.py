"""Scores that came in stages, and scoring against the clock.

A later stage overrules an earlier one: candidates are ordered by the last stage that scored
them, then by its score, then by their place in the list.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.deadline import Deadline
from rejoinder.models.scorer import Candidates, Scorer, Scores, is_pointwise
from rejoinder.types import Candidate, StageTrace

Places = NDArray[np.int64]
"""Candidates by their place in the list."""

FIRST_BATCH = 8
"""Candidates of the first batch where nobody knows how long one takes."""
BATCH_MS = 20.0
"""What a batch may take: the clock is not looked at more often than that."""


@dataclass(frozen=True, slots=True)
class Staged:
    """Of each candidate the last stage that scored it, and that stage's score.

    A candidate that no stage scored, for want of time or of what it reads, has stage -1 and
    minus infinity.
    """

    scores: Scores
    stages: Places
    trace: tuple[StageTrace, ...]
    confidence: float | None = None
    abstains: bool = False

    @property
    def order(self) -> Places:
        """The places of the candidates, best first."""
        return np.lexsort((-self.scores, -self.stages))

    def merge(self) -> Scores:
        """Return one scale for all: the last stage's scores, and the others in steps below.

        Equal scores of one stage stay equal, so that ties can be broken as ever.
        """
        return merge_stages(self.scores, self.stages)


def merge_stages(scores: Scores, stages: Places) -> Scores:
    """Return the scores of several stages on one scale (`Staged.merge`).

    >>> merge_stages(np.array([2.0, 0.5, 9.0]), np.array([1, 1, 0])).tolist()
    [2.0, 0.5, -0.5]
    """
    merged = np.empty_like(scores)
    floor = None
    for stage in sorted(set(stages.tolist()), reverse=True):
        own = stages == stage
        if floor is None:
            merged[own] = scores[own]
        else:
            _, steps = np.unique(-scores[own], return_inverse=True)
            merged[own] = floor - 1 - steps
        floor = merged[own].min()
    return merged


@runtime_checkable
class StagedScorer(Scorer, Protocol):
    """A scorer that can say which stage scored what, and stop in time."""

    def score_in_stages(
        self, question: str, candidates: Sequence[Candidate], *, deadline: Deadline | None = None
    ) -> Staged:
        """Return the best that can be had by the deadline."""
        ...


def score_alone(
    scorer: Scorer, question: str, candidates: Sequence[Candidate], deadline: Deadline | None
) -> Staged:
    """Return what one scorer gives, as the only stage."""
    start = time.perf_counter()
    found = score_until(scorer, question, candidates, np.arange(len(candidates)), deadline)
    scored = np.flatnonzero(~np.isnan(found))
    scores = np.full(len(candidates), -np.inf)
    stages = np.full(len(candidates), -1, dtype=np.int64)
    scores[scored], stages[scored] = found[scored], 0
    elapsed = 1000 * (time.perf_counter() - start)
    timed_out = len(found) < len(candidates)
    trace = StageTrace(scorer.name, len(candidates), len(scored), len(scored), elapsed, timed_out)
    return Staged(scores, stages, (trace,))


def score_until(
    scorer: Scorer,
    question: str,
    candidates: Candidates,
    places: Places,
    deadline: Deadline | None,
    *,
    rate_ms: float | None = None,
) -> Scores:
    """Return the scores of the first places, as many as the clock allows, at least one.

    A pointwise scorer works in batches.  One that reads the list gets all of it at once, in
    list order: its scores for a part would be other scores.

    Args:
        places: in the order in which they deserve time.
        rate_ms: what one candidate is expected to take; measured as soon as one batch is done.
    """
    if deadline is None or not is_pointwise(scorer):
        scores = np.empty(len(places))
        in_order = np.argsort(places)
        scores[in_order] = scorer.score(question, [candidates[at] for at in places[in_order]])
        return scores
    found: list[Scores] = []
    done, start = 0, deadline.left_ms
    size = FIRST_BATCH if rate_ms is None else _size_batch(deadline.left_ms, rate_ms)
    while done < len(places) and (size > 0 or done == 0):
        batch = places[done : done + max(size, 1)]
        found.append(scorer.score(question, [candidates[at] for at in batch]))
        done += len(batch)
        left = deadline.left_ms
        size = _size_batch(left, (start - left) / done)
    return np.concatenate([np.empty(0), *found])


def _size_batch(left_ms: float, rate_ms: float) -> int:
    """Return how many candidates the time that is left is enough for, one batch at most."""
    if left_ms <= 0:
        return 0
    # A clock may be too coarse to see one candidate.
    return int(min(BATCH_MS, left_ms) / max(rate_ms, 1e-3))
