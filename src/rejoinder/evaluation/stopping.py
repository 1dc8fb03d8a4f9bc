"""Fits when the last stage of a cascade stops reading, and measures what that saves and costs."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.cascade.cascade import Cascade, Stage, check_stops
from rejoinder.cascade.stopping import StoppingRule, measure_progress
from rejoinder.errors import InputError
from rejoinder.evaluation.confidence import FOLDS, Rows, fit_logistic
from rejoinder.evaluation.significance import Interval, bootstrap_difference
from rejoinder.models.scorer import Scorer, Scores
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class ReadList:
    """The candidates of a last stage that has read them all, in the order in which it reads."""

    scores: Scores
    merits: Scores
    """What the stage before ordered them by."""
    labels: NDArray[np.bool_]

    def count_read(self, rule: StoppingRule) -> int:
        """Return how many candidates the stage reads with a rule."""
        read = 0
        while read < len(self.scores):
            size = rule.request(self.scores[:read], self.merits)
            if not size:
                break
            read = min(read + size, len(self.scores))
        return read

    def is_right(self, read: int) -> bool:
        """Return whether the best of the first is an answer."""
        return bool(self.labels[int(self.scores[:read].argmax())])


@dataclass(frozen=True, slots=True)
class StopReport:
    """A rule, and what it does to questions of held-out folds."""

    rule: StoppingRule
    questions: int
    read: float
    """Candidates that are read of each question."""
    given: float
    """Candidates that the stage gets."""
    accuracy: float
    """Share of the questions whose first candidate is right."""
    accuracy_of_all: float
    """The same where every candidate is read."""
    difference: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types."""
        return {
            "risk": self.rule.risk,
            "questions": self.questions,
            "read": self.read,
            "given": self.given,
            "accuracy": self.accuracy,
            "accuracy_of_all": self.accuracy_of_all,
            "difference": [self.difference.low, self.difference.high],
        }


def read_lists(scorer: Scorer, examples: Iterable[Example]) -> list[ReadList]:
    """Return what the last stage of a cascade does with each question's candidates.

    Raises:
        InputError: the scorer has no last stage that could stop.
    """
    if not isinstance(scorer, Cascade):
        raise InputError(f"{scorer.name} is no cascade, so no stage of it can stop")
    last = scorer.stages[-1]
    rule = StoppingRule(0.0, 0.0, 0.0, 0.0, 0.0)
    check_stops([None] * (len(scorer.stages) - 1) + [rule])
    Stage(last.scorer, fusion=last.fusion, stop=rule)
    lists = []
    for example in examples:
        if len(example.candidates):
            read = scorer.read_last(example.question, example.candidates)
            labels = np.array(example.labels, dtype=bool)[read.places]
            lists.append(ReadList(read.scores, read.merits, labels))
    return lists


def fit_stop(lists: Sequence[ReadList], risk: float) -> StopReport:
    """Fit a rule to all lists; the figures are of held-out folds.

    Raises:
        InputError: there are too few lists in which a later candidate wins, or does not.
    """
    steps = [_list_steps(item) for item in lists]
    folds = np.random.default_rng(0).permutation(len(lists)) % FOLDS
    reads = np.zeros(len(lists), dtype=np.int64)
    for fold in range(FOLDS):
        rule = _fit([step for step, own in zip(steps, folds, strict=True) if own != fold], risk)
        for place in np.flatnonzero(folds == fold).tolist():
            reads[place] = lists[place].count_read(rule)
    own = [item.is_right(read) for item, read in zip(lists, reads.tolist(), strict=True)]
    full = [item.is_right(len(item.scores)) for item in lists]
    return StopReport(
        _fit(steps, risk),
        len(lists),
        read=float(reads.mean()),
        given=float(np.mean([len(item.scores) for item in lists])),
        accuracy=float(np.mean(own)),
        accuracy_of_all=float(np.mean(full)),
        difference=bootstrap_difference(full, own),
    )


def _list_steps(item: ReadList) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the progress after each candidate but the last, and whether a later one wins."""
    scores, merits = item.scores, item.merits
    reads = range(1, len(scores))
    rows = [astuple(measure_progress(scores[:read], merits)) for read in reads]
    wins = [bool(scores[read:].max() > scores[:read].max()) for read in reads]
    return np.array(rows).reshape(-1, 3), np.array(wins, dtype=bool)


def _fit(steps: Sequence[tuple[Rows, NDArray[np.bool_]]], risk: float) -> StoppingRule:
    rows = np.concatenate([np.empty((0, 3)), *(row for row, _ in steps)])
    wins = np.concatenate([np.empty(0, dtype=bool), *(win for _, win in steps)])
    if min(wins.sum(), (~wins).sum()) < FOLDS:
        raise InputError(
            f"a later candidate wins at {wins.sum()} of {len(wins)} steps; fitting when to stop"
            f" needs {FOLDS} where it does, and {FOLDS} where it does not"
        )
    return StoppingRule(risk, *fit_logistic(rows, wins).tolist())
