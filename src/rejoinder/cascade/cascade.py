"""A cascade: each stage scores the candidates that the one before it kept.

Matsubara et al. 2020, "Reranking for Efficient Transformer-based Answer Selection" (there:
sequential reranker): a cheap scorer passes its best candidates to a better one.  A candidate
that a stage drops keeps its order from that stage, below all that were kept, so that every
measure over the whole list stays defined.

The document prior: a sentence often leaves out its topic ("it opened in 1889" fits any
tower), and a scorer that reads the sentence alone cannot know it.  The best score that a
cheap stage gives to any sentence of the document says whether the document is on topic.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import log

import numpy as np

from rejoinder.cascade.budget import Cost, RemainingStage, count_words, plan
from rejoinder.cascade.calibration import (
    Calibration,
    Features,
    SentenceCalibration,
    StageCalibration,
)
from rejoinder.cascade.stopping import StoppingRule
from rejoinder.errors import InputError
from rejoinder.models.scorer import Candidates, Places, Scorer, Scores, is_pointwise, reads_passages
from rejoinder.models.staged import Deadline, Staged, merge_stages, score_until
from rejoinder.types import Candidate, StageTrace, to_candidates


@dataclass(frozen=True, slots=True)
class Stage:
    """A scorer, how many candidates it keeps, and its cost where known."""

    scorer: Scorer
    keep: int | None = None
    """None for the last stage."""
    cost: Cost | None = None
    document_prior: float = 0.0
    """Weight of the document prior (`rate_documents`) in the choice of the candidates to keep,
    and in the scores of all later stages."""
    fusion: float = 0.0
    """Weight of the scores of the stage before in this one's, both standardised over the list; 0
    leaves its own scores as they are."""
    interpolation: float = 0.0
    """Weight of the scores of the stage before in this one's, both as they are: for scorers whose
    scores mean the same in every list, so that a confidence can be fitted to their sum."""
    stop: StoppingRule | None = None
    """When it stops reading where only the first candidate is needed; None to read all it gets."""
    keep_for_one: int | None = None
    """How many it keeps where only the first candidate is needed; None for as many as usual."""

    def __post_init__(self) -> None:
        """Check how many it keeps for one, and that a stage that may stop can be read in parts."""
        if self.keep_for_one is not None and self.keep_for_one > (self.keep or 0):
            raise InputError(f"keep_for_one is {self.keep_for_one}; it must be at most keep")
        if self.stop and (self.fusion or self.document_prior):
            name = "fusion" if self.fusion else "document_prior"
            raise InputError(f"{name} needs the scores of the whole list; remove it, or the stop")
        if self.stop and not is_pointwise(self.scorer):
            raise InputError(f"{self.scorer.name} scores its list as a whole; remove the stop")

    def read_for_one(self) -> "Stage":
        """Return the stage as it runs where only the first candidate is needed."""
        return replace(self, keep=self.keep_for_one or self.keep, keep_for_one=None)

    def read_for_all(self) -> "Stage":
        """Return the stage as it runs where the order of all candidates is needed."""
        return replace(self, keep_for_one=None, stop=None)


@dataclass(frozen=True, slots=True)
class ReadStage:
    """What a stage gets, in the order in which it reads, and what it makes of it."""

    places: Places
    """Indices of the candidates."""
    merits: Scores
    """What the stage before ordered them by."""
    scores: Scores
    """Their scores, with what the stages before add."""


class Cascade:
    """A chain of stages; a scorer that can keep to a latency budget.

    Without a deadline every stage keeps as many candidates as configured.  With a deadline, a
    stage keeps fewer if the predicted cost of the rest exceeds the time left, a pointwise
    stage checks the clock between batches, and the result is the best known when time is up.
    """

    def __init__(
        self,
        name: str,
        stages: Sequence[Stage],
        *,
        calibration: Calibration | None = None,
        sentences: SentenceCalibration | None = None,
    ) -> None:
        check_keeps([stage.keep for stage in stages])
        check_stops([stage.stop for stage in stages])
        self.name = name
        self.stages = tuple(stages)
        self._for_one = [stage.read_for_one() for stage in stages]
        self._for_all = [stage.read_for_all() for stage in stages]
        check_keeps([stage.keep for stage in self._for_one])
        self.calibration = calibration
        self.sentences = sentences
        """How the sentences of a text are rated; None if that is not calibrated."""

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer whose stored tokens the stages read; None if they differ."""
        hashes = {getattr(stage.scorer, "tokenizer", None) for stage in self.stages} - {None}
        return hashes.pop() if len(hashes) == 1 else None

    @property
    def reads_passages(self) -> bool:
        """Whether a stage reads the candidates' passages."""
        return any(reads_passages(stage.scorer) for stage in self.stages)

    @property
    def sentence_stages(self) -> list[tuple[Scorer, StageCalibration]]:
        """The stages that rate the sentences of a text, each with its calibration.

        Raises:
            InputError: the cascade has no calibration for sentences, or lacks a stage of it.
        """
        calibrated = self.sentences.stages if self.sentences else {}
        scorers = {stage.scorer.name: stage.scorer for stage in self.stages}
        if missing := [name for name in calibrated if name not in scorers]:
            raise InputError(f"{self.name} has no stage {missing[0]!r}, which [sentences] names")
        if not calibrated:
            raise InputError(
                f"{self.name} is not calibrated for single sentences; fit it with"
                " `rejoinder calibrate --sentences`"
            )
        return [
            (scorer, calibrated[name]) for name, scorer in scorers.items() if name in calibrated
        ]

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the last stage's scores; dropped candidates follow below in steps of 1."""
        staged = self.score_in_stages(question, to_candidates(candidates))
        return merge_stages(staged.scores, staged.stages)

    def score_in_stages(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        deadline: Deadline | None = None,
        only_first: bool = False,
    ) -> Staged:
        """Return the best scores that can be computed by the deadline.

        Args:
            only_first: let stages keep fewer candidates, and stop once no unread one is likely
                to win.
        """
        staged, features = self.observe(
            question, candidates, deadline=deadline, only_first=only_first
        )
        if self.calibration is None or features is None:
            return staged
        confidence = self.calibration.rate(features)
        return replace(staged, confidence=confidence, abstains=self.calibration.abstains(features))

    def read_in_full(self, question: str, candidates: Sequence[Candidate]) -> list[ReadStage]:
        """Return what each stage does for one answer, if it reads all that it gets."""
        run = _Run(question, candidates, None)
        stages = [replace(stage, stop=None) for stage in self._for_one]
        reads = []
        for number, stage in enumerate(stages):
            places, merits = run.places, run.merits[run.places]
            run.run_stage(number, stage, stages[number + 1 :])
            reads.append(ReadStage(places, merits, run.scores[places]))
        return reads

    def observe(
        self,
        question: str,
        candidates: Sequence[Candidate],
        *,
        deadline: Deadline | None = None,
        only_first: bool = False,
    ) -> tuple[Staged, Features | None]:
        """Return the scores, and the features that a calibration reads.

        There are none if time ran out before the last stage.
        """
        run = _Run(question, candidates, deadline)
        stages = self._for_one if only_first else self._for_all
        for number, stage in enumerate(stages):
            if len(run.places):
                run.run_stage(number, stage, stages[number + 1 :])
        staged = Staged(run.scores, run.stages, tuple(run.trace))
        return staged, run.get_features(len(self.stages) - 1)


class _Run:
    """The state of one question between the stages."""

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
        """Indices of the candidates that the next stage gets, best first."""
        self._priors = np.zeros(len(candidates))
        self._first_scores = self.scores
        self.merits = np.zeros(len(candidates))
        """What the stage before ordered its candidates by."""
        self.trace: list[StageTrace] = []

    def run_stage(self, number: int, stage: Stage, remaining: Sequence[Stage]) -> None:
        """Score the candidates and choose those to keep.

        A candidate with the score NaN is left to the next stage: it is kept after the best
        ones, as far as time allows.
        """
        start = time.perf_counter()
        given = self.places
        seen_scores = self._read(stage)
        seen, is_scored = given[: len(seen_scores)], ~np.isnan(seen_scores)
        scored, unscored = seen[is_scored], seen[~is_scored]
        scores = self._complete(stage, scored, seen_scores[is_scored])
        unread = len(given) - len(seen) if self._has_enough(stage, seen_scores) else 0
        self.scores[scored], self.stages[scored] = scores, number
        if number == 0:
            self._first_scores = self.scores.copy()
        best = self._order(stage, scored, scores)[: stage.keep]
        eligible = np.concatenate([best, unscored]) if remaining else best
        self.places = eligible[: self._choose_keep(eligible, remaining)]
        self.trace.append(
            StageTrace(
                stage.scorer.name,
                given=len(given),
                scored=len(scored),
                kept=len(self.places),
                milliseconds=1000 * (time.perf_counter() - start),
                timed_out=len(seen) + unread < len(given) or len(self.places) < len(eligible),
                unread=unread,
            )
        )

    def _read(self, stage: Stage) -> Scores:
        """Return the scorer's scores of the first candidates that the stage gets."""
        rule = stage.stop

        def request(scores: Scores) -> int:
            assert rule
            return rule.request(self._complete_seen(stage, scores), self.merits[self.places])

        return score_until(
            stage.scorer,
            self._question,
            self._candidates,
            self.places,
            self._deadline,
            rate_ms=self._predict_rate(stage),
            request=request if rule else None,
        )

    def _has_enough(self, stage: Stage, scores: Scores) -> bool:
        """Return whether the stage stopped because no unread candidate was likely to win."""
        if stage.stop is None:
            return False
        return stage.stop.stops(self._complete_seen(stage, scores), self.merits[self.places])

    def _complete_seen(self, stage: Stage, scores: Scores) -> Scores:
        return self._complete(stage, self.places[: len(scores)], scores)

    def _complete(self, stage: Stage, scored: Places, scores: Scores) -> Scores:
        """Return a scorer's scores with what the stages before add to them."""
        if stage.fusion:
            scores = fuse(scores, self.scores[scored], stage.fusion)
        if stage.interpolation:
            scores = interpolate(scores, self.scores[scored], stage.interpolation)
        return scores + self._priors[scored]

    def get_features(self, last: int) -> Features | None:
        """Return the features of the best candidate of the last stage; None if it scored none."""
        (scored,) = np.nonzero(self.stages == last)
        if not len(scored):
            return None
        first, *others = scored[np.argsort(-self.scores[scored], kind="stable")[:2]].tolist()
        best = float(self.scores[first])
        better = int((self._first_scores > self._first_scores[first]).sum())
        return Features(
            best,
            margin=best - float(self.scores[others[0]]) if others else 0.0,
            count=log(len(self._candidates)),
            prior=float(self._priors[first]),
            rank=log(1 + better),
            headings=sum(bool(item.headings) for item in self._candidates) / len(self._candidates),
        )

    def _order(self, stage: Stage, scored: Places, scores: Scores) -> Places:
        """Return the scored candidates, best first, and keep their document prior for later."""
        if stage.document_prior:
            given = [self._candidates[place] for place in scored]
            priors = stage.document_prior * rate_documents(scores, given)
            self._priors[scored] += priors
            scores = standardise(scores) + priors
        self.merits = np.full(len(self._candidates), -np.inf)
        self.merits[scored] = scores
        return scored[np.lexsort((scored, -scores))]

    def _predict_rate(self, stage: Stage) -> float | None:
        """Return the predicted milliseconds per candidate, or None if the cost is unknown."""
        if stage.cost is None or self._words is None:
            return None
        words = int(self._words[self.places].sum())
        return stage.cost.predict(len(self.places), words) / len(self.places)

    def _choose_keep(self, best: Places, remaining: Sequence[Stage]) -> int:
        """Return how many of the best to keep; all of them without a deadline."""
        if self._deadline is None or self._words is None or not remaining or not len(best):
            return len(best)
        left_ms = self._deadline.left_ms
        if left_ms <= 0:
            return 0
        words = self._words[best]
        first = remaining[0]
        if len(remaining) == 1 and is_pointwise(first.scorer):
            # It checks the clock itself, which is better than any prediction.
            can_begin = first.cost is None or first.cost.predict(1, int(words[0])) <= left_ms
            return len(best) if can_begin else 0
        known = _take_known_costs(remaining, len(best))
        return plan(known, words, left_ms) if known else len(best)


def _take_known_costs(stages: Sequence[Stage], most: int) -> list[RemainingStage]:
    """Return the leading stages whose cost is known."""
    known = []
    for stage in stages:
        if stage.cost is None:
            break
        known.append(RemainingStage(stage.cost, most))
        most = min(most, stage.keep or most)
    return known


def check_keeps(keeps: Sequence[int | None]) -> None:
    """Check how many candidates each stage keeps."""
    if not keeps:
        raise InputError("a cascade needs at least one stage")
    before: int | None = None
    for number, keep in enumerate(keeps, start=1):
        if number == len(keeps):
            if keep is not None:
                raise InputError(f"stage {number} is the last and keeps all; remove its keep")
            return
        if keep is None or keep < 1:
            raise InputError(f"stage {number} needs a keep of 1 or more")
        if before is not None and keep > before:
            raise InputError(
                f"stage {number} keeps {keep}, but gets only {before}; keep must not grow"
            )
        before = keep


def check_stops(stops: Sequence[StoppingRule | None]) -> None:
    """Check which stages may stop: those for whose candidates there is an order."""
    if stops[0] is not None:
        raise InputError("stage 1 cannot stop: no stage before it says what to read first")


def rate_documents(scores: Scores, candidates: Sequence[Candidate]) -> Scores:
    """Return for each candidate the best score in its document, standardised.

    Candidates without a document count as one document, so a list with one document, or
    without any, has a prior of zero everywhere.

    >>> from rejoinder.types import Document
    >>> one, two = Document("1"), Document("2")
    >>> given = [Candidate("a", "", one), Candidate("b", "", one), Candidate("c", "", two)]
    >>> rate_documents(np.array([0.0, 3.0, 1.0]), given).round(2).tolist()
    [0.71, 0.71, -1.41]
    """
    numbers: dict[str | None, int] = {}
    places = [
        numbers.setdefault(item.document.id if item.document else None, len(numbers))
        for item in candidates
    ]
    if len(numbers) < 2:
        return np.zeros(len(candidates))
    best = np.full(len(numbers), -np.inf)
    np.maximum.at(best, places, scores)
    return standardise(best[places])


def fuse(scores: Scores, before: Scores, weight: float) -> Scores:
    """Return scores plus the weighted scores of the stage before, both standardised.

    A candidate that the stage before did not score counts as an average one there.

    >>> fuse(np.array([1.0, 3.0]), np.array([5.0, 4.0]), 0.5).tolist()
    [-0.5, 0.5]
    """
    is_known = np.isfinite(before)
    added = np.zeros(len(scores))
    added[is_known] = standardise(before[is_known])
    return standardise(scores) + weight * added


def interpolate(scores: Scores, before: Scores, weight: float) -> Scores:
    """Return scores plus the weighted scores of the stage before, both as they are.

    A candidate that the stage before did not score counts as an average one there.

    >>> interpolate(np.array([1.0, 3.0]), np.array([5.0, 4.0]), 0.5).tolist()
    [3.5, 5.0]
    """
    is_known = np.isfinite(before)
    average = before[is_known].mean() if is_known.any() else 0.0
    return np.asarray(scores + weight * np.where(is_known, before, average), dtype=np.float64)


def standardise(scores: Scores) -> Scores:
    """Return the scores in standard deviations above their mean; zeros if all are equal."""
    if not len(scores) or np.ptp(scores) == 0:
        return np.zeros(len(scores))
    return np.asarray((scores - scores.mean()) / scores.std(), dtype=np.float64)
