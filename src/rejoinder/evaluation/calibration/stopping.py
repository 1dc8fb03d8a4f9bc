"""Fits when the stages of a cascade stop reading, and measures what that saves and costs.

The last stage may stop, and each one that reads passages, which takes the most time.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.cascade.cascade import Cascade, check_stops
from rejoinder.cascade.stopping import StoppingRule, measure_progress
from rejoinder.errors import InputError
from rejoinder.evaluation.calibration.confidence import FOLDS, Rows, fit_logistic
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.evaluation.significance import Interval, bootstrap_difference
from rejoinder.models.scorer import Scorer, Scores, reads_passages
from rejoinder.types import Example

NEVER = StoppingRule(0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class ReadList:
    """The candidates of a stage that has read them all, in the order in which it reads."""

    scores: Scores
    merits: Scores
    """What the stage before ordered them by."""
    winner: int
    """The one that the last stage puts first."""

    def count_read(self, rule: StoppingRule) -> int:
        """Return how many candidates the stage reads with a rule."""
        read = 0
        while read < len(self.scores):
            size = rule.request(self.scores[:read], self.merits)
            if not size:
                break
            read = min(read + size, len(self.scores))
        return read


@dataclass(frozen=True, slots=True)
class StageStop:
    """A stage with its rule, and how many candidates of a question it gets and reads."""

    number: int
    """From 1."""
    scorer: str
    rule: StoppingRule
    given: float
    read: float


@dataclass(frozen=True, slots=True)
class StopReport:
    """Rules, and what they do to questions of held-out folds."""

    stages: tuple[StageStop, ...]
    questions: int
    accuracy: float
    """Share of the questions whose first candidate is right."""
    accuracy_of_all: float
    """The same where every candidate is read."""
    difference: Interval

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types."""
        return {
            "risk": self.stages[-1].rule.risk,
            "questions": self.questions,
            "stages": [
                {
                    "stage": stop.number,
                    "scorer": stop.scorer,
                    "given": stop.given,
                    "read": stop.read,
                }
                for stop in self.stages
            ],
            "accuracy": self.accuracy,
            "accuracy_of_all": self.accuracy_of_all,
            "difference": [self.difference.low, self.difference.high],
        }


def find_stopping_stages(scorer: Scorer) -> tuple[Cascade, list[int]]:
    """Return the cascade, and the indices of its stages that may stop.

    Raises:
        InputError: the scorer has no last stage that could stop.
    """
    if not isinstance(scorer, Cascade):
        raise InputError(f"{scorer.name} is no cascade, so no stage of it can stop")
    last = len(scorer.stages) - 1
    numbers = [
        number
        for number, stage in enumerate(scorer.stages)
        if number == last
        or (number and reads_passages(stage.scorer) and not (stage.fusion or stage.document_prior))
    ]
    check_stops([NEVER if number in numbers else None for number in range(last + 1)])
    replace(scorer.stages[-1], stop=NEVER)  # raises where it cannot stop
    return scorer, numbers


def cache_scores(scorer: Scorer) -> Cascade:
    """Return the cascade; its stages that may stop, the slowest ones, score no pair twice."""
    cascade, numbers = find_stopping_stages(scorer)
    stages = list(cascade.stages)
    for number in numbers:
        stages[number] = replace(stages[number], scorer=CachedScorer(stages[number].scorer))
    return Cascade(cascade.name, stages, calibration=cascade.calibration)


def with_stops(cascade: Cascade, rules: Mapping[int, StoppingRule]) -> Cascade:
    """Return a cascade that stops by these rules, given by the index of a stage, and no others."""
    stages = [replace(stage, stop=rules.get(number)) for number, stage in enumerate(cascade.stages)]
    return Cascade(cascade.name, stages, calibration=cascade.calibration)


def fit_stops(scorer: Scorer, examples: Iterable[Example], risk: float) -> StopReport:
    """Fit the rules of a cascade to all examples; the figures are of held-out folds.

    Raises:
        InputError: the scorer has no last stage that could stop, or there are too few lists in
            which a later candidate wins, or does not.
    """
    cascade, numbers = find_stopping_stages(scorer)
    asked = [example for example in examples if len(example.candidates)]
    lists = read_lists(cascade, asked)
    steps = {number: [_list_steps(item) for item in lists[number]] for number in numbers}
    folds = np.random.default_rng(0).permutation(len(asked)) % FOLDS
    reads, own = np.zeros((len(asked), len(numbers))), [False] * len(asked)
    for fold in range(FOLDS):
        rules = {number: _fit(_leave_out(steps[number], folds == fold), risk) for number in numbers}
        stopping = with_stops(cascade, rules)
        for place in np.flatnonzero(folds == fold).tolist():
            example = asked[place]
            staged = stopping.score_in_stages(example.question, example.candidates, only_first=True)
            own[place] = example.labels[int(staged.order[0])]
            reads[place] = [staged.trace[number].scored for number in numbers]
    full = [_is_right(cascade, example) for example in asked]
    return StopReport(
        tuple(
            StageStop(
                number + 1,
                cascade.stages[number].scorer.name,
                _fit(steps[number], risk),
                given=float(np.mean([len(item.scores) for item in lists[number]])),
                read=read,
            )
            for number, read in zip(numbers, reads.mean(axis=0).tolist(), strict=True)
        ),
        len(asked),
        accuracy=float(np.mean(own)),
        accuracy_of_all=float(np.mean(full)),
        difference=bootstrap_difference(full, own),
    )


def read_lists(scorer: Scorer, examples: Iterable[Example]) -> dict[int, list[ReadList]]:
    """Return what each stage that may stop does with each question's candidates, by its index.

    Raises:
        InputError: the scorer has no last stage that could stop.
    """
    cascade, numbers = find_stopping_stages(scorer)
    lists: dict[int, list[ReadList]] = {number: [] for number in numbers}
    for example in examples:
        stages = cascade.read_in_full(example.question, example.candidates)
        winner = stages[-1].places[int(stages[-1].scores.argmax())]
        for number, own in lists.items():
            read = stages[number]
            own.append(
                ReadList(read.scores, read.merits, int(np.flatnonzero(read.places == winner)[0]))
            )
    return lists


def fit_stop(lists: Sequence[ReadList], risk: float) -> StoppingRule:
    """Fit the rule of one stage.

    Raises:
        InputError: there are too few lists in which a later candidate wins, or does not.
    """
    return _fit([_list_steps(item) for item in lists], risk)


Steps = tuple[Rows, NDArray[np.bool_]]
"""The progress after each candidate but the last, and whether a later one wins."""


def _list_steps(item: ReadList) -> Steps:
    reads = range(1, len(item.scores))
    rows = [astuple(measure_progress(item.scores[:read], item.merits)) for read in reads]
    wins = [item.winner >= read for read in reads]
    return np.array(rows).reshape(-1, 3), np.array(wins, dtype=bool)


def _leave_out(steps: Sequence[Steps], is_held_out: NDArray[np.bool_]) -> list[Steps]:
    return [step for step, held in zip(steps, is_held_out.tolist(), strict=True) if not held]


def _fit(steps: Sequence[Steps], risk: float) -> StoppingRule:
    rows = np.concatenate([np.empty((0, 3)), *(row for row, _ in steps)])
    wins = np.concatenate([np.empty(0, dtype=bool), *(win for _, win in steps)])
    if min(wins.sum(), (~wins).sum()) < FOLDS:
        raise InputError(
            f"a later candidate wins at {wins.sum()} of {len(wins)} steps; fitting when to stop"
            f" needs {FOLDS} where it does, and {FOLDS} where it does not"
        )
    return StoppingRule(risk, *fit_logistic(rows, wins).tolist())


def _is_right(cascade: Cascade, example: Example) -> bool:
    stages = cascade.read_in_full(example.question, example.candidates)
    return example.labels[int(stages[-1].places[int(stages[-1].scores.argmax())])]
