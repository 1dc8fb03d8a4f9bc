"""Scores of several stages, and scoring before a deadline.

A later stage overrules an earlier one: candidates are ordered by the last stage that scored
them, then by its score, then by their place in the list.
"""

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Protocol, runtime_checkable

import numpy as np

from rejoinder.errors import InputError, StoreError
from rejoinder.models.scorer import Candidates, Places, Scorer, Scores, is_pointwise
from rejoinder.types import Candidate, StageTrace

FIRST_BATCH = 8
"""Candidates in the first batch, where the time that one takes is not known."""
BATCH_MS = 20.0
"""The duration of a batch: the clock is not read more often than that."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment, in seconds of its clock."""

    at: float
    clock: Callable[[], float] = time.perf_counter

    @classmethod
    def after(
        cls, milliseconds: float, *, clock: Callable[[], float] = time.perf_counter
    ) -> "Deadline":
        """Return the moment so many milliseconds from now.

        Raises:
            InputError: the number is negative or NaN.
        """
        if isnan(milliseconds) or milliseconds < 0:
            raise InputError(f"a budget must be 0 or more milliseconds, found {milliseconds:g}")
        return cls(clock() + milliseconds / 1000, clock)

    @property
    def left_ms(self) -> float:
        """The milliseconds that are left; 0 once it has passed."""
        return max(0.0, 1000 * (self.at - self.clock()))


@dataclass(frozen=True, slots=True)
class Staged:
    """The last stage that scored each candidate, and that stage's score.

    A candidate that no stage scored, for lack of time or of stored rows, has stage -1 and
    minus infinity.
    """

    scores: Scores
    stages: Places
    trace: tuple[StageTrace, ...]
    confidence: float | None = None
    abstains: bool = False

    @property
    def order(self) -> Places:
        """The indices of the candidates, best first."""
        return np.lexsort((-self.scores, -self.stages))


def merge_stages(scores: Scores, stages: Places) -> Scores:
    """Return all scores on one scale: the last stage's, and the others in steps below.

    Equal scores of one stage stay equal, so that ties are broken as usual.

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
    """A scorer with stages, which can stop before a deadline."""

    def score_in_stages(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        deadline: Deadline | None = None,
        only_first: bool = False,
    ) -> Staged:
        """Return the best result that can be had by the deadline.

        Args:
            only_first: the caller needs the first candidate; the order of the others may be rough.
        """
        ...


def score_alone(
    scorer: Scorer, question: str, candidates: Sequence[Candidate], deadline: Deadline | None
) -> Staged:
    """Return the scores of one scorer, as the only stage."""
    start = time.perf_counter()
    result = score_until(scorer, question, candidates, np.arange(len(candidates)), deadline)
    scored = np.flatnonzero(~np.isnan(result))
    scores = np.full(len(candidates), -np.inf)
    stages = np.full(len(candidates), -1, dtype=np.int64)
    scores[scored], stages[scored] = result[scored], 0
    elapsed = 1000 * (time.perf_counter() - start)
    timed_out = len(result) < len(candidates)
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
    request: Callable[[Scores], int] | None = None,
) -> Scores:
    """Return the scores of the first places, as many as the deadline allows, at least one.

    None if the deadline passed while the scorer waited for sentences that a search engine has.

    A pointwise scorer works in batches.  One that reads the list gets all of it at once, in
    list order, because its scores for a part of the list would differ.

    Args:
        places: in the order of priority.
        rate_ms: the expected time of one candidate; measured as soon as one batch is done.
        request: returns how many candidates to score next, at most, from the scores so far; 0
            for no more.  By default all are scored.
    """
    if (deadline is None and request is None) or not is_pointwise(scorer):
        in_order = np.argsort(places)
        own = _score_in_time(
            scorer, question, [candidates[at] for at in places[in_order]], deadline
        )
        if own is None:
            return np.empty(0)
        scores = np.empty(len(places))
        scores[in_order] = own
        return scores
    if remember := getattr(scorer, "remember", None):
        scorer = remember()  # candidates of two batches may share what is read of them
    clock = _BatchClock(deadline, rate_ms)
    scores = np.empty(0)
    while len(scores) < len(places):
        size = clock.size_batch(len(scores))
        if request is not None:
            size = min(size, request(scores))
        if size <= 0 and len(scores):
            break
        batch = places[len(scores) : len(scores) + max(size, 1)]
        own = _score_in_time(scorer, question, [candidates[at] for at in batch], deadline)
        if own is None:
            break
        scores = np.concatenate([scores, own])
    return scores


def _score_in_time(
    scorer: Scorer, question: str, candidates: Candidates, deadline: Deadline | None
) -> Scores | None:
    """Return the scores; None if documents could not be read before the deadline."""
    try:
        return scorer.score(question, candidates)
    except StoreError:
        if deadline is None or deadline.left_ms > 0:
            raise
        return None


class _BatchClock:
    """Sizes batches so that they end before the deadline, by the time that earlier ones took."""

    def __init__(self, deadline: Deadline | None, rate_ms: float | None) -> None:
        self._deadline = deadline
        self._rate_ms = rate_ms
        self._start = deadline.left_ms if deadline else 0.0

    def size_batch(self, done: int) -> int:
        """Return how many candidates fit into the time left, at most one batch."""
        if self._deadline is None:
            return sys.maxsize
        left = self._deadline.left_ms
        rate_ms = (self._start - left) / done if done else self._rate_ms
        if rate_ms is None:
            return FIRST_BATCH
        if left <= 0:
            return 0
        # A clock may be too coarse to measure one candidate, and one may take longer than a batch.
        size = int(min(BATCH_MS, left) / max(rate_ms, 1e-3))
        return max(size, int(rate_ms <= left))
