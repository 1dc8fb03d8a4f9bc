"""Trials: the judged reply to each question, their rates, and paired comparisons."""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import get_percentiles
from benchmarks.corpora.questions import Question
from benchmarks.corpora.reply import Reply
from benchmarks.corpora.shapes import name_shape
from rejoinder.evaluation.significance import bootstrap_difference

DEPTHS = (10, 20, 50, 100)


@dataclass(frozen=True, slots=True)
class Trial:
    """How well a contender answered one question."""

    id: str
    group: str
    is_answerable: bool
    found: int | None
    """The rank of the first right sentence that was found."""
    answers: list[bool]
    """Whether each answer is right."""
    shown: list[bool]
    """Whether the passage around each answer contains a right sentence."""
    abstains: bool | None
    milliseconds: float
    shape: str | None = None
    """`heading`, `question` or `fragment` if the first answer is one, else empty; None if unknown:
    trials of earlier versions do not have it."""


Rate = Callable[[Trial], bool]


def found_within(depth: int) -> Rate:
    """Return the rate of questions with a right sentence among the first found."""
    return lambda trial: trial.found is not None and trial.found <= depth


RATES: dict[str, Rate] = {
    **{f"found_{depth}": found_within(depth) for depth in DEPTHS},
    "first": lambda trial: any(trial.answers[:1]),
    "five": lambda trial: any(trial.answers),
    "passage_first": lambda trial: any(trial.shown[:1]),
    "passage_five": lambda trial: any(trial.shown),
}
"""Shares of the answerable questions."""
SHAPES = ("heading", "question", "fragment")
COMPARED = ("found_20", "found_100", "first", "five", "passage_first", "passage_five")


def judge(question: Question, reply: Reply, headings: frozenset[str] | None = None) -> Trial:
    """Judge a reply.

    Args:
        headings: of the corpus, normalized, to name the shape of the first answer.
    """
    ranks = (rank for rank, text in enumerate(reply.found, start=1) if question.accepts(text))
    return Trial(
        question.id,
        question.group,
        question.is_answerable,
        next(ranks, None),
        [question.accepts(text) for text in reply.answers],
        [question.accepts_passage(text) for text in reply.shown],
        reply.abstains,
        round(reply.milliseconds, 2),
        None if headings is None else "".join(name_shape(a, headings) for a in reply.answers[:1]),
    )


def summarize(trials: Sequence[Trial]) -> dict[str, Any]:
    """Return rates in per cent, averaged over groups, and percentiles of milliseconds."""
    answerable = [trial for trial in trials if trial.is_answerable]
    others = [trial for trial in trials if not trial.is_answerable]
    result: dict[str, Any] = {name: _average(rate, answerable) for name, rate in RATES.items()}
    if all(trial.abstains is not None for trial in trials):
        result["answered_right"] = _average(
            lambda trial: not trial.abstains and any(trial.answers[:1]), answerable
        )
        result["stated_wrong"] = _average(
            lambda trial: not trial.abstains and not any(trial.answers[:1]), trials
        )
        if others:
            result["refused_rightly"] = _average(lambda trial: bool(trial.abstains), others)
    if answerable and all(trial.shape is not None for trial in answerable):
        shapes = Counter(trial.shape for trial in answerable)
        result["shapes"] = {shape: shapes[shape] for shape in SHAPES}
        result["no_sentence"] = sum(shapes[shape] for shape in SHAPES)
    result |= get_percentiles([trial.milliseconds for trial in trials], 50, 95)
    groups = dict.fromkeys(trial.group for trial in answerable)
    if len(groups) > 1:
        result["groups"] = {
            group: {
                name: _average(RATES[name], [t for t in answerable if t.group == group])
                for name in ("found_20", "found_100", "first", "five")
            }
            for group in groups
        }
    return result


def compare(baseline: Iterable[Trial], trials: Iterable[Trial]) -> dict[str, list[float]]:
    """Return differences from a baseline in points, each with its paired 95 % interval."""
    others = {trial.id: trial for trial in baseline if trial.is_answerable}
    pairs = [(others[trial.id], trial) for trial in trials if trial.id in others]
    result = {}
    for name in COMPARED if pairs else ():
        one, other = zip(*((RATES[name](a), RATES[name](b)) for a, b in pairs), strict=True)
        interval = bootstrap_difference(one, other)
        mean = (sum(other) - sum(one)) / len(pairs)
        result[name] = [round(100 * value, 1) for value in (mean, interval.low, interval.high)]
    return result


def write_trials(trials: Iterable[Trial], path: Path) -> None:
    """Write one JSON line per question."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(asdict(trial)) + "\n" for trial in trials)
    path.write_text(lines, encoding="utf-8")


def read_trials(path: Path) -> list[Trial]:
    """Return the trials of a file; none if it does not exist."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Trial(**json.loads(line)) for line in lines]


def _average(rate: Rate, trials: Iterable[Trial]) -> float:
    groups: dict[str, list[bool]] = defaultdict(list)
    for trial in trials:
        groups[trial.group].append(rate(trial))
    return round(100 * statistics.mean(map(statistics.mean, groups.values())), 1) if groups else 0.0
