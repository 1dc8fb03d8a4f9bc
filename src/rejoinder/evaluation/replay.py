"""Replays cascades from the scores of their stages, without running each of them.

Every scorer scores the whole list of every question once; all chains of up to three scorers
with all their keeps are then replayed from these scores.  A listwise scorer sees another list
behind a first stage, so it scores that list again: replayed scores always equal those of the
real cascade.  Latencies are predicted from costs that were fitted to timed calls.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from rejoinder.cascade.budget import Cost, count_words
from rejoinder.cascade.cascade import fuse, rate_documents, standardise
from rejoinder.errors import InputError
from rejoinder.evaluation.significance import Interval, bootstrap_difference
from rejoinder.models.scorer import Places, Scorer, Scores, is_pointwise
from rejoinder.types import Example

KEEPS = (1, 2, 3, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 500)
MAX_STAGES = 3


@dataclass(frozen=True, slots=True)
class Contender:
    """A scorer that may become a stage, with its cost on this machine."""

    name: str
    """As in the cascade file."""
    scorer: Scorer
    cost: Cost
    document_prior: float = 0.0
    """Weight of its document prior in later stages; if not 0, it can only be a first stage."""
    fusion: float = 0.0
    """Weight of the scores of the stage before; if not 0, it cannot be a first stage."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one cascade: for each question its correctness and predicted latency."""

    names: tuple[str, ...]
    keeps: tuple[int, ...]
    """Of each stage but the last."""
    correct: NDArray[np.bool_]
    latencies_ms: NDArray[np.float64]
    document_prior: float = 0.0
    """Of the first stage."""
    fusions: tuple[float, ...] = ()
    """Of each stage."""

    @property
    def accuracy(self) -> float:
        """P@1 over the questions."""
        return float(self.correct.mean())

    @property
    def latency_ms(self) -> float:
        """The mean latency of a question."""
        return float(self.latencies_ms.mean())

    @property
    def label(self) -> str:
        """The stages in one line, with a document prior or a fusion if any.

        For example: jaccard 100 +0.5 > cosinet*1 16 > selector
        """
        keeps = [f" {keep}" for keep in self.keeps] + [""]
        if self.document_prior:
            keeps[0] += f" +{self.document_prior:g}"
        fused = [f"*{fusion:g}" if fusion else "" for fusion in self.fusions or [0.0] * len(keeps)]
        return " > ".join(map("".join, zip(self.names, fused, keeps, strict=True)))

    def compare_with(self, other: "Outcome") -> Interval:
        """Return the interval of this accuracy minus the other, paired by question."""
        return bootstrap_difference(other.correct.tolist(), self.correct.tolist())


def replay(
    contenders: Sequence[Contender],
    examples: Sequence[Example],
    *,
    keeps: Sequence[int] = KEEPS,
    is_included: Callable[[tuple[str, ...]], bool] = lambda _: True,
    on_question: Callable[[int], None] = lambda _: None,
) -> list[Outcome]:
    """Return the outcome of every chain of contenders with every keep.

    Args:
        contenders: cheapest first; a stage is only followed by later contenders.
        is_included: selects chains by the names of their stages; a chain is only extended
            if it is included itself.
    """
    correct: dict[_Chain, list[bool]] = {}
    latencies: dict[_Chain, list[float]] = {}
    for number, example in enumerate(examples, start=1):
        for chain, is_correct, latency_ms in _Replay(contenders, example, keeps, is_included):
            correct.setdefault(chain, []).append(is_correct)
            latencies.setdefault(chain, []).append(latency_ms)
        on_question(number)
    return [
        Outcome(
            tuple(contenders[place].name for place in chain[0]),
            chain[1],
            np.array(correct[chain], dtype=bool),
            np.array(latencies[chain]),
            contenders[chain[0][0]].document_prior,
            tuple(contenders[place].fusion for place in chain[0]),
        )
        for chain in correct
    ]


def find_frontier(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the Pareto frontier of accuracy and latency, fastest first."""
    frontier: list[Outcome] = []
    for item in sorted(outcomes, key=lambda item: (item.latency_ms, -item.accuracy)):
        if not frontier or item.accuracy > frontier[-1].accuracy:
            frontier.append(item)
    return frontier


def choose(
    frontier: Sequence[Outcome], *, budget_ms: float | None = None, max_loss: float = 0.005
) -> Outcome:
    """Return the most accurate outcome within the budget.

    Without a budget, return the fastest that is at most `max_loss` less accurate than the best.
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
    return next(item for item in frontier if item.accuracy >= best - max_loss - 1e-9)


def measure_recall(
    scorer: Scorer, examples: Sequence[Example], ks: Sequence[int]
) -> dict[int, float]:
    """Return the share of questions with an answer among the first k, for each k."""
    firsts = []
    for example in examples:
        scores = scorer.score(example.question, example.candidates)
        labels = np.array(example.labels)[np.argsort(-scores, kind="stable")]
        firsts.append(int(labels.argmax()))
    return {k: fmean(first < k for first in firsts) for k in ks}


_Chain = tuple[tuple[int, ...], tuple[int, ...]]
"""Indices of the contenders, and their keeps."""


@dataclass
class _Replay:
    """One question through every chain."""

    contenders: Sequence[Contender]
    example: Example
    keeps: Sequence[int]
    is_included: Callable[[tuple[str, ...]], bool]

    def __post_init__(self) -> None:
        self.words = count_words(self.example.candidates)
        self.full_scores: dict[str, Scores] = {}

    def __iter__(self) -> Iterator[tuple[_Chain, bool, float]]:
        everything = np.arange(len(self.example.candidates))
        nothing = np.zeros(len(everything))
        for place, item in enumerate(self.contenders):
            if not item.fusion:
                yield from self._follow(((place,), ()), everything, 0.0, nothing, nothing)

    def _follow(
        self, chain: _Chain, places: Places, latency_ms: float, priors: Scores, before: Scores
    ) -> Iterator[tuple[_Chain, bool, float]]:
        """Yield a chain whose last stage scores these candidates, then all longer chains."""
        stages, keeps = chain
        if not self.is_included(tuple(self.contenders[place].name for place in stages)):
            return
        last = self.contenders[stages[-1]]
        scores = self._score(last, places)
        if last.fusion:
            scores = fuse(scores, before[places], last.fusion)
        scores = scores + priors[places]
        before = before.copy()
        before[places] = scores
        order = places[np.argsort(-scores, kind="stable")]
        latency_ms += last.cost.predict(len(places), int(self.words[places].sum()))
        if last.document_prior:
            candidates = [self.example.candidates[place] for place in places]
            priors = last.document_prior * rate_documents(scores, candidates)
            order = places[np.argsort(-(standardise(scores) + priors), kind="stable")]
        else:
            yield chain, self.example.labels[int(order[0])], latency_ms
        if len(stages) == MAX_STAGES:
            return
        for keep in self.keeps:
            if keeps and keep > keeps[-1]:
                break
            for follower in self._list_followers(stages):
                longer = ((*stages, follower), (*keeps, keep))
                kept = np.sort(order[:keep])
                yield from self._follow(longer, kept, latency_ms, priors, before)

    def _list_followers(self, stages: tuple[int, ...]) -> list[int]:
        """Return the more expensive scorers; after a document prior, all other scorers."""
        names = {self.contenders[place].name for place in stages}
        lowest = 0 if self.contenders[stages[-1]].document_prior else stages[-1] + 1
        return [
            follower
            for follower, item in enumerate(self.contenders)
            if follower >= lowest and not item.document_prior and item.name not in names
        ]

    def _score(self, contender: Contender, places: Places) -> Scores:
        scorer, example = contender.scorer, self.example
        if len(places) < len(example.candidates) and not is_pointwise(scorer):
            return scorer.score(example.question, [example.candidates[at] for at in places])
        if contender.name not in self.full_scores:
            self.full_scores[contender.name] = scorer.score(example.question, example.candidates)
        return self.full_scores[contender.name][places]
