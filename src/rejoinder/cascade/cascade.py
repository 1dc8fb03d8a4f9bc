"""Scorers in sequence: each sees what the one before it kept.

Matsubara et al. 2020, "Reranking for Efficient Transformer-based Answer Selection" (there:
sequential reranker): a cheap scorer hands its best candidates to a better one.  A
candidate that a stage drops keeps the order of that stage, below all that went on, so that
every measure over the whole list stays defined.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rejoinder.cascade.calibration import Calibration
from rejoinder.cascade.cost import Cost, count_words
from rejoinder.cascade.document_prior import rate_documents, standardise
from rejoinder.cascade.plan import Coming, plan
from rejoinder.errors import InputError
from rejoinder.models.deadline import Deadline
from rejoinder.models.scorer import Candidates, Scorer, Scores, is_pointwise
from rejoinder.models.staged import Places, Staged, score_until
from rejoinder.types import Candidate, StageTrace, to_candidates


@dataclass(frozen=True, slots=True)
class Stage:
    """A scorer, how many candidates go on from it, and what it costs where that is known."""

    scorer: Scorer
    keep: int | None = None
    """None for the last stage, from which none goes on."""
    cost: Cost | None = None
    document_prior: float = 0.0
    """How much the standing of a document here counts, in standard deviations: in what goes on
    from this stage, and in the scores of all later ones (`rate_documents`)."""


class Cascade:
    """A chain of stages; a scorer like any other, and one that keeps to a budget.

    Without a deadline every stage keeps what it says.  With one, fewer go on where the cost
    of the stages says that time would not be enough, a pointwise stage looks at the clock
    between batches, and what is known when time is up is the answer.
    """

    def __init__(
        self, name: str, stages: Sequence[Stage], *, calibration: Calibration | None = None
    ) -> None:
        check_keeps([stage.keep for stage in stages])
        self.name = name
        self.stages = tuple(stages)
        self.calibration = calibration

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer whose stored tokens the stages read; None where they differ."""
        found = [getattr(stage.scorer, "tokenizer", None) for stage in self.stages]
        distinct = {hash_ for hash_ in found if hash_ is not None}
        return distinct.pop() if len(distinct) == 1 else None

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the last stage's scores; what it did not see follows in steps of 1 below."""
        return self.score_in_stages(question, to_candidates(candidates)).merge()

    def score_in_stages(
        self, question: str, candidates: Sequence[Candidate], *, deadline: Deadline | None = None
    ) -> Staged:
        """Return the best that can be had by the deadline."""
        run = _Run(question, candidates, deadline)
        for number, stage in enumerate(self.stages):
            if len(run.places):
                run.do(number, stage, self.stages[number + 1 :])
        staged = Staged(run.scores, run.stages, tuple(run.trace))
        last = len(self.stages) - 1
        final = run.scores[run.stages == last]
        if self.calibration is None or not len(final):
            return staged
        confidence = self.calibration.rate(final, len(candidates))
        abstains = confidence < self.calibration.threshold
        return replace(staged, confidence=confidence, abstains=abstains)


class _Run:
    """One question on its way through the stages."""

    def __init__(
        self, question: str, candidates: Sequence[Candidate], deadline: Deadline | None
    ) -> None:
        self._question = question
        self._candidates = candidates
        self._deadline = deadline
        self._words = count_words(candidates) if deadline else None
        self.scores = np.full(len(candidates), -np.inf)
        self.stages = np.full(len(candidates), -1, dtype=np.int64)
        self.places: Places = np.arange(len(candidates))
        """Those that the next stage gets, best first."""
        self._priors = np.zeros(len(candidates))
        self.trace: list[StageTrace] = []

    def do(self, number: int, stage: Stage, coming: Sequence[Stage]) -> None:
        """Score what the stage is given, and choose what goes on.

        What it leaves to the next stage, a score that is not a number, goes on besides, after
        the best, as far as there is time.
        """
        start = time.perf_counter()
        given = self.places
        found = score_until(
            stage.scorer,
            self._question,
            self._candidates,
            given,
            self._deadline,
            rate_ms=self._predict_rate(stage),
        )
        seen, is_scored = given[: len(found)], ~np.isnan(found)
        scored, left, found = seen[is_scored], seen[~is_scored], found[is_scored]
        found = found + self._priors[scored]
        self.scores[scored], self.stages[scored] = found, number
        order = self._order(stage, scored, found)
        best = order[: stage.keep]
        wanted = np.concatenate([best, left]) if coming else best
        self.places = wanted[: self._choose_keep(wanted, coming)]
        self.trace.append(
            StageTrace(
                stage.scorer.name,
                given=len(given),
                scored=len(scored),
                kept=len(self.places),
                milliseconds=1000 * (time.perf_counter() - start),
                timed_out=len(seen) < len(given) or len(self.places) < len(wanted),
            )
        )

    def _order(self, stage: Stage, scored: Places, found: Scores) -> Places:
        """Return what a stage scored, best first, and remember what it carries on."""
        if stage.document_prior:
            given = [self._candidates[place] for place in scored]
            priors = stage.document_prior * rate_documents(found, given)
            self._priors[scored] += priors
            found = standardise(found) + priors
        return scored[np.lexsort((scored, -found))]

    def _predict_rate(self, stage: Stage) -> float | None:
        """Return the milliseconds that one candidate should take, where that is known."""
        if stage.cost is None or self._words is None:
            return None
        words = int(self._words[self.places].sum())
        return stage.cost.predict(len(self.places), words) / len(self.places)

    def _choose_keep(self, best: Places, coming: Sequence[Stage]) -> int:
        """Return how many of the best go on; all of them where no clock runs."""
        if self._deadline is None or self._words is None or not coming or not len(best):
            return len(best)
        left_ms = self._deadline.left_ms
        if left_ms <= 0:
            return 0
        words = self._words[best]
        first = coming[0]
        if len(coming) == 1 and is_pointwise(first.scorer):
            # It looks at the clock itself, which knows better than any prediction.
            can_begin = first.cost is None or first.cost.predict(1, int(words[0])) <= left_ms
            return len(best) if can_begin else 0
        known = _limit(coming, len(best))
        return plan(known, words, left_ms) if known else len(best)


def _limit(stages: Sequence[Stage], most: int) -> list[Coming]:
    """Return the stages whose cost is known, up to the first of which it is not."""
    coming = []
    for stage in stages:
        if stage.cost is None:
            break
        coming.append(Coming(stage.cost, most))
        most = min(most, stage.keep or most)
    return coming


def check_keeps(keeps: Sequence[int | None]) -> None:
    """Refuse stages that cannot follow each other.

    Raises:
        InputError: there is no stage, or one keeps none, or more than the one before it.
    """
    if not keeps:
        raise InputError("a cascade needs a stage at least")
    before: int | None = None
    for number, keep in enumerate(keeps, start=1):
        if number == len(keeps):
            if keep is not None:
                raise InputError(f"stage {number} is the last and keeps all; leave out its keep")
            return
        if keep is None or keep < 1:
            raise InputError(f"stage {number} must say how many it keeps, 1 or more")
        if before is not None and keep > before:
            raise InputError(
                f"stage {number} keeps {keep}, but is given only {before}; keep must not grow"
            )
        before = keep
