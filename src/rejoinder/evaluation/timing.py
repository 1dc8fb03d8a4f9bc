"""Times scorers on this machine, and their accuracy in a given time."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from rejoinder.cascade.budget import Cost, TimedCall, count_words, fit_cost
from rejoinder.errors import InputError
from rejoinder.models.ranking import rank
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate, Example

QUESTION = "How are glacier caves formed in the mountains?"
TEXT = (
    "the of and in a is to by ice water cave glacier rock summer winter melt river stone deep"
    " warm cold wind air form carve flow year season valley mountain lake snow light sound"
)
LENGTH = 25
"""Words of a candidate."""
TIMED_QUESTIONS = 10
TIMED_SHARES = (0.02, 0.1, 0.3, 1.0)
"""Parts of a list that are timed, so that a fitted cost covers short lists and long ones."""
BUDGETS_MS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
REPEATS = 3
"""The fastest of so many calls counts: the others had to wait for other work on the machine."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds per question with this many candidates."""

    scorer: str
    candidates: int
    median_ms: float
    p95_ms: float


@dataclass(frozen=True, slots=True)
class MeasuredPoint:
    """A scorer with a budget, on the questions of a data set that have an answer."""

    scorer: str
    budget_ms: float | None
    questions: int
    accuracy: float
    """P@1, from 0 to 1."""
    median_ms: float
    p95_ms: float


def make_candidates(count: int) -> list[Candidate]:
    """Return random sentences of 25 words, as one page in its order."""
    drawn = np.random.default_rng(0).choice(TEXT.split(), (count, LENGTH))
    return [Candidate(str(at), " ".join(words), position=at) for at, words in enumerate(drawn)]


def time_ms(work: Callable[[], object]) -> float:
    """Return the milliseconds that a call takes."""
    start = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - start) / 1e6


def time_scorer(scorer: Scorer, counts: Sequence[int], *, repeats: int = 20) -> list[Timing]:
    """Return the timings for lists of these lengths, after three calls to warm up."""
    timings = []
    for count in counts:
        candidates = make_candidates(count)
        score = partial(scorer.score, QUESTION, candidates)
        times = [time_ms(score) for _ in range(repeats + 3)][3:]
        p95 = statistics.quantiles(times, n=20)[-1]
        timings.append(Timing(scorer.name, count, statistics.median(times), p95))
    return timings


def measure_cost(scorer: Scorer, examples: Sequence[Example]) -> Cost:
    """Return the cost of a scorer, fitted to calls on parts of real lists."""
    questions = [example for example in examples if example.candidates][:TIMED_QUESTIONS]
    calls = []
    for number, example in enumerate(questions):
        for share in TIMED_SHARES:
            count = max(1, round(share * len(example.candidates)))
            mark = f"{scorer.name} {number} {share}"
            parts = [
                _bypass_caches(example.candidates[:count], f"{mark} {at}") for at in range(REPEATS)
            ]
            elapsed = min(time_ms(partial(scorer.score, example.question, own)) for own in parts)
            # The first question warms up caches and is not counted.
            if number or len(questions) == 1:
                calls.append(TimedCall(count, int(count_words(parts[0]).sum()), elapsed))
    if not calls:
        raise InputError("no question has candidates; nothing can be timed")
    return fit_cost(calls).round()


def measure_latency(
    scorer: Scorer, examples: Sequence[Example], *, most: int = TIMED_QUESTIONS
) -> float:
    """Return the mean milliseconds of a question, after one to warm up."""
    calls = [
        (example.question, _bypass_caches(example.candidates, f"latency {number}"))
        for number, example in enumerate(examples[:most])
    ]
    scorer.score(*calls[0])
    return time_ms(lambda: [scorer.score(*call) for call in calls]) / len(calls)


def measure_points(
    scorer: Scorer,
    examples: Sequence[Example],
    budgets_ms: Sequence[float | None] = (*BUDGETS_MS, None),
) -> list[MeasuredPoint]:
    """Rank every question with each budget in turn.

    Raises:
        InputError: no question has an answer.
    """
    asked = [example for example in examples if any(example.labels)]
    if not asked:
        raise InputError("no question has an answer; nothing can be measured")
    rank(asked[0].question, asked[0].candidates, scorer=scorer)  # caches are cold at first
    seen: dict[float | None, list[tuple[bool, float]]] = {budget: [] for budget in budgets_ms}
    for example in asked:
        labels = dict(zip((item.id for item in example.candidates), example.labels, strict=True))
        for budget, own in seen.items():
            start = time.perf_counter()
            ranking = rank(example.question, example.candidates, scorer=scorer, budget_ms=budget)
            elapsed = 1000 * (time.perf_counter() - start)
            own.append((labels[ranking.items[0].candidate.id], elapsed))
    points = []
    for budget, own in seen.items():
        rights, times = np.array(own, dtype=np.float64).T
        median, p95 = np.percentile(times, [50, 95]).tolist()
        points.append(
            MeasuredPoint(scorer.name, budget, len(asked), float(rights.mean()), median, p95)
        )
    return points


def _bypass_caches(candidates: Sequence[Candidate], mark: str) -> list[Candidate]:
    """Return the candidates with a mark in their texts, so that no cache has them."""
    return [replace(candidate, text=f"{candidate.text} {mark}") for candidate in candidates]
