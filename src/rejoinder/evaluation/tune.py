"""Finds the cascades that nothing beats: none is as accurate and faster.

Every scorer scores the whole list of every question once; all chains of up to three
scorers and all keeps are then replayed from these scores.  A scorer that reads the list
sees another list behind a first stage, so there it is asked again: its scores are
always those that the cascade would give.

Latencies are predicted from the costs, which are fitted to timed calls.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from rejoinder.cascade.budget import Cost, TimedCall, WordCounts, count_words, fit_cost
from rejoinder.cascade.cascade import rate_documents, standardise
from rejoinder.errors import InputError
from rejoinder.evaluation.significance import Interval, bootstrap_difference
from rejoinder.models.scorer import Scorer, Scores, is_pointwise
from rejoinder.models.staged import Places
from rejoinder.types import Candidate, Example

KEEPS = (1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500)
MOST_STAGES = 3
TIMED_QUESTIONS = 10
TIMED_SHARES = (0.02, 0.1, 0.3, 1.0)
"""Parts of a list that are timed, so that a cost knows short lists and long ones."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A scorer that may become a stage, with what it costs here."""

    name: str
    """As the cascade's file will name it."""
    scorer: Scorer
    cost: Cost
    document_prior: float = 0.0
    """How much the standing of a document counts behind it; it is then a first stage only."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one cascade reached: per question, whether it was right and how long it would take."""

    names: tuple[str, ...]
    keeps: tuple[int, ...]
    """Of each stage but the last."""
    rights: NDArray[np.bool_]
    latencies_ms: NDArray[np.float64]
    document_prior: float = 0.0
    """Of the first stage."""

    @property
    def accuracy(self) -> float:
        """P@1 over the questions."""
        return float(self.rights.mean())

    @property
    def latency_ms(self) -> float:
        """The mean latency of a question."""
        return float(self.latencies_ms.mean())

    @property
    def label(self) -> str:
        """The stages in one line: jaccard 100 > selector; +0.5 where the first carries so much."""
        keeps = [f" {keep}" for keep in self.keeps] + [""]
        if self.document_prior:
            keeps[0] += f" +{self.document_prior:g}"
        return " > ".join(name + keep for name, keep in zip(self.names, keeps, strict=True))

    def hold_against(self, other: "Outcome") -> Interval:
        """Return the interval of how much accuracy this one has more, paired by question."""
        return bootstrap_difference(other.rights.tolist(), self.rights.tolist())


def time_contender(name: str, scorer: Scorer, examples: Sequence[Example]) -> Contender:
    """Return a scorer with its cost, fitted to calls on parts of real lists."""
    asked = [example for example in examples if example.candidates][:TIMED_QUESTIONS]
    calls = []
    for number, example in enumerate(asked):
        for share in TIMED_SHARES:
            count = max(1, round(share * len(example.candidates)))
            part = _make_new(example.candidates[:count], f"{name} {number} {share}")
            start = time.perf_counter()
            scorer.score(example.question, part)
            elapsed = 1000 * (time.perf_counter() - start)
            # The first question warms up caches and is not counted.
            if number or len(asked) == 1:
                calls.append(TimedCall(len(part), int(count_words(part).sum()), elapsed))
    if not calls:
        raise InputError("no question has candidates; nothing can be timed")
    return Contender(name, scorer, fit_cost(calls))


def replay(
    contenders: Sequence[Contender],
    examples: Sequence[Example],
    *,
    keeps: Sequence[int] = KEEPS,
    chains: Callable[[tuple[str, ...]], bool] = lambda _: True,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Outcome]:
    """Return the outcome of every chain and every keep.

    Args:
        contenders: a stage is followed only by those that stand after its own.
        chains: which chains are of interest, by their names; asked for the beginnings of
            chains too.
    """
    rights: dict[_Chain, list[bool]] = {}
    latencies: dict[_Chain, list[float]] = {}
    for number, example in enumerate(examples, start=1):
        for chain, right, latency_ms in _Replay(contenders, example, keeps, chains):
            rights.setdefault(chain, []).append(right)
            latencies.setdefault(chain, []).append(latency_ms)
        on_question(number)
    return [
        Outcome(
            tuple(contenders[place].name for place in chain[0]),
            chain[1],
            np.array(rights[chain], dtype=bool),
            np.array(latencies[chain]),
            contenders[chain[0][0]].document_prior,
        )
        for chain in rights
    ]


def find_frontier(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes that no other beats in both, fastest first."""
    frontier: list[Outcome] = []
    for item in sorted(outcomes, key=lambda item: (item.latency_ms, -item.accuracy)):
        if not frontier or item.accuracy > frontier[-1].accuracy:
            frontier.append(item)
    return frontier


def choose(
    frontier: Sequence[Outcome], *, budget_ms: float | None = None, loss: float = 0.005
) -> Outcome:
    """Return the most accurate within the budget; without one, the fastest that loses little.

    Args:
        loss: how far below the best accuracy it may be.

    Raises:
        InputError: nothing is as fast as the budget.
    """
    if budget_ms is not None:
        within = [item for item in frontier if item.latency_ms <= budget_ms]
        if not within:
            raise InputError(
                f"no cascade takes {budget_ms:g} ms or less;"
                f" the fastest takes {frontier[0].latency_ms:.1f} ms"
            )
        return within[-1]
    best = frontier[-1].accuracy
    return next(item for item in frontier if item.accuracy >= best - loss - 1e-9)


def measure_recall(
    contender: Contender, examples: Sequence[Example], ks: Sequence[int]
) -> dict[int, float]:
    """Return the share of questions with an answer among the first k, for each k."""
    firsts = []
    for example in examples:
        scores = contender.scorer.score(example.question, example.candidates)
        labels = np.array(example.labels)[np.argsort(-scores, kind="stable")]
        firsts.append(int(labels.argmax()))
    return {k: fmean(first < k for first in firsts) for k in ks}


def measure_latency(
    scorer: Scorer, examples: Sequence[Example], *, most: int = TIMED_QUESTIONS
) -> float:
    """Return the mean milliseconds of a question, measured, after one to warm up."""
    asked = [
        (example.question, _make_new(example.candidates, f"latency {number}"))
        for number, example in enumerate(examples[:most])
    ]
    scorer.score(*asked[0])
    start = time.perf_counter()
    for question, candidates in asked:
        scorer.score(question, candidates)
    return 1000 * (time.perf_counter() - start) / len(asked)


def _make_new(candidates: Sequence[Candidate], mark: str) -> list[Candidate]:
    """Return the candidates with a mark in their texts, so that no cache has seen them."""
    return [replace(candidate, text=f"{candidate.text} {mark}") for candidate in candidates]


_Chain = tuple[tuple[int, ...], tuple[int, ...]]
"""Which contenders, and their keeps."""


class _Replay:
    """One question through every chain."""

    def __init__(
        self,
        contenders: Sequence[Contender],
        example: Example,
        keeps: Sequence[int],
        chains: Callable[[tuple[str, ...]], bool],
    ) -> None:
        self._contenders = contenders
        self._example = example
        self._keeps = keeps
        self._wants = chains
        self._words: WordCounts = count_words(example.candidates)
        self._whole: dict[str, Scores] = {}

    def __iter__(self) -> Iterator[tuple[_Chain, bool, float]]:
        everything = np.arange(len(self._example.candidates))
        for place in range(len(self._contenders)):
            yield from self._follow(((place,), ()), everything, 0.0, np.zeros(len(everything)))

    def _follow(
        self, chain: _Chain, places: Places, latency_ms: float, priors: Scores
    ) -> Iterator[tuple[_Chain, bool, float]]:
        """Yield what a chain gives whose last stage gets these places, then all longer chains."""
        own, keeps = chain
        if not self._wants(tuple(self._contenders[place].name for place in own)):
            return
        scores = self._score(own[-1], places) + priors[places]
        order = places[np.argsort(-scores, kind="stable")]
        asked = self._contenders[own[-1]]
        latency_ms += asked.cost.predict(len(places), int(self._words[places].sum()))
        if asked.document_prior:
            given = [self._example.candidates[place] for place in places]
            priors = asked.document_prior * rate_documents(scores, given)
            order = places[np.argsort(-(standardise(scores) + priors), kind="stable")]
        else:
            yield chain, self._example.labels[int(order[0])], latency_ms
        if len(own) == MOST_STAGES:
            return
        for keep in self._keeps:
            if keeps and keep > keeps[-1]:
                break
            for follower in self._list_followers(own):
                going_on = np.sort(order[:keep])
                longer = ((*own, follower), (*keeps, keep))
                yield from self._follow(longer, going_on, latency_ms, priors)

    def _list_followers(self, own: tuple[int, ...]) -> list[int]:
        """Return the dearer scorers; behind one that carries something, all others."""
        names = {self._contenders[place].name for place in own}
        lowest = 0 if self._contenders[own[-1]].document_prior else own[-1] + 1
        return [
            follower
            for follower, item in enumerate(self._contenders)
            if follower >= lowest and not item.document_prior and item.name not in names
        ]

    def _score(self, contender: int, places: Places) -> Scores:
        asked, example = self._contenders[contender], self._example
        scorer = asked.scorer
        is_whole = len(places) == len(example.candidates)
        if not is_whole and not is_pointwise(scorer):
            return scorer.score(example.question, [example.candidates[at] for at in places])
        if asked.name not in self._whole:
            self._whole[asked.name] = scorer.score(example.question, example.candidates)
        return self._whole[asked.name][places]
