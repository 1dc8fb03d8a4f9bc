from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.cascade.conftest import Slow, count_a

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.errors import InputError
from rejoinder.evaluation.replay import (
    Contender,
    Outcome,
    choose,
    find_frontier,
    measure_recall,
    replay,
)
from rejoinder.models.lexical.scorers import Bm25, Jaccard, WordOverlap
from rejoinder.models.ranking import rank
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate, Document, Example

WORDS = ["red", "cat", "dog", "the", "a", "is", "here", "sees", "old", "blue"]


def make_examples(count: int = 8, size: int = 12) -> list[Example]:
    rng = np.random.default_rng(0)
    return [
        Example(
            str(number),
            " ".join(rng.choice(WORDS, 4)),
            tuple(
                Candidate(str(place), " ".join(rng.choice(WORDS, rng.integers(1, 9))))
                for place in range(size)
            ),
            tuple(place == number % size for place in range(size)),
        )
        for number in range(count)
    ]


def make_contenders(scorers: Sequence[Scorer]) -> list[Contender]:
    return [
        Contender(scorer.name, scorer, Cost(place + 1, 0.5, 0.25))
        for place, scorer in enumerate(scorers)
    ]


def test_every_replay_equals_the_real_cascade() -> None:
    examples = make_examples()
    scorers: list[Scorer] = [Jaccard(), Bm25(), WordOverlap()]  # BM25 reads the list
    by_name = {scorer.name: scorer for scorer in scorers}

    outcomes = replay(make_contenders(scorers), examples, keeps=(1, 3, 8, 20))

    # three alone, three pairs with 4 keeps, one triple with 4 + 3 + 2 + 1
    assert len(outcomes) == 3 + 3 * 4 + 10
    for outcome in outcomes:
        stages = [
            Stage(by_name[name], keep)
            for name, keep in zip(outcome.names, [*outcome.keeps, None], strict=True)
        ]
        cascade = Cascade("real", stages)
        rankings = [rank(item.question, item.candidates, scorer=cascade) for item in examples]
        firsts = [int(ranking.items[0].candidate.id) for ranking in rankings]
        real = [item.labels[first] for item, first in zip(examples, firsts, strict=True)]
        assert outcome.correct.tolist() == real, outcome.label


def test_a_replayed_document_prior_equals_the_real_cascade() -> None:
    documents = [Document(str(number)) for number in range(3)]
    examples = [
        replace(
            example,
            candidates=tuple(
                replace(item, document=documents[place % 3])
                for place, item in enumerate(example.candidates)
            ),
        )
        for example in make_examples()
    ]
    first, middle, last = Jaccard(), Bm25(), WordOverlap()
    contenders = [
        Contender("jaccard", first, Cost(), document_prior=2.0),
        *make_contenders([middle, last]),
    ]

    outcomes = [item for item in replay(contenders, examples, keeps=(3, 8)) if item.document_prior]

    assert {item.label for item in outcomes} == {
        *(f"jaccard {k} +2 > {name}" for k in (3, 8) for name in ("bm25", "word-overlap")),
        *(f"jaccard {k} +2 > bm25 {j} > word-overlap" for k, j in ((3, 3), (8, 3), (8, 8))),
    }
    by_name: dict[str, Scorer] = {item.name: item for item in (first, middle, last)}
    for outcome in outcomes:
        keeps = [*outcome.keeps, None]
        stages = [Stage(by_name[n], k) for n, k in zip(outcome.names, keeps, strict=True)]
        cascade = Cascade("real", [replace(stages[0], document_prior=2.0), *stages[1:]])
        rankings = [rank(item.question, item.candidates, scorer=cascade) for item in examples]
        firsts = [int(ranking.items[0].candidate.id) for ranking in rankings]
        real = [item.labels[first] for item, first in zip(examples, firsts, strict=True)]
        assert outcome.correct.tolist() == real, outcome.label


def test_a_replayed_fusion_equals_the_real_cascade() -> None:
    examples = make_examples()
    by_name: dict[str, Scorer] = {item.name: item for item in (Jaccard(), Bm25(), WordOverlap())}
    plain = make_contenders(list(by_name.values()))
    contenders = [plain[0], *(replace(item, fusion=0.5) for item in plain[1:])]

    outcomes = replay(contenders, examples, keeps=(3, 8))

    assert {item.label for item in outcomes if len(item.names) == 1} == {"jaccard"}
    assert "jaccard 8 > bm25*0.5 3 > word-overlap*0.5" in {item.label for item in outcomes}
    for outcome in outcomes:
        keeps = [*outcome.keeps, None]
        rows = zip(outcome.names, keeps, outcome.fusions, strict=True)
        stages = [Stage(by_name[name], keep, fusion=fusion) for name, keep, fusion in rows]
        cascade = Cascade("real", stages)
        rankings = [rank(item.question, item.candidates, scorer=cascade) for item in examples]
        firsts = [int(ranking.items[0].candidate.id) for ranking in rankings]
        real = [item.labels[first] for item, first in zip(examples, firsts, strict=True)]
        assert outcome.correct.tolist() == real, outcome.label


def test_each_pair_is_scored_once() -> None:
    cheap, dear = Slow("cheap", len), Slow("dear", count_a)

    replay(make_contenders([cheap, dear]), make_examples(count=3, size=12), keeps=(1, 2, 5))

    assert (cheap.scored, dear.scored) == (3 * 12, 3 * 12)


def test_latency_is_the_sum_of_the_costs() -> None:
    candidates = (Candidate("0", "a b c"), Candidate("1", "a"))
    example = Example("1", "a b c", candidates, (True, False))

    outcomes = replay(make_contenders([Jaccard(), WordOverlap()]), [example], keeps=(1,))

    assert {outcome.label: outcome.latency_ms for outcome in outcomes} == {
        "jaccard": 1 + 2 * 0.5 + 4 * 0.25,
        "word-overlap": 2 + 2 * 0.5 + 4 * 0.25,
        "jaccard 1 > word-overlap": (1 + 2 * 0.5 + 4 * 0.25) + (2 + 0.5 + 3 * 0.25),
    }


def make_outcome(latency_ms: float, right: int) -> Outcome:
    correct = np.arange(100) < right
    return Outcome((f"{right} in {latency_ms}",), (), correct, np.full(100, latency_ms))


FRONTIER = [make_outcome(1, 50), make_outcome(5, 60), make_outcome(50, 61)]


def test_the_frontier_is_pareto_optimal() -> None:
    beaten = [make_outcome(2, 50), make_outcome(6, 40), make_outcome(60, 61), make_outcome(1, 49)]

    assert find_frontier([*beaten, *reversed(FRONTIER)]) == FRONTIER


def test_the_choice_is_by_budget_or_by_loss() -> None:
    assert choose(FRONTIER) is FRONTIER[2]
    assert choose(FRONTIER, max_loss=0.01) is FRONTIER[1]
    assert choose(FRONTIER, budget_ms=49) is FRONTIER[1]
    with pytest.raises(InputError, match=r"no cascade takes 0.5 ms or less; the fastest takes 1.0"):
        choose(FRONTIER, budget_ms=0.5)


def test_differences_are_paired() -> None:
    interval = FRONTIER[1].compare_with(FRONTIER[0])

    assert 0 < interval.low < 0.1 < interval.high


def test_recall_counts_questions_with_an_answer_among_the_first() -> None:
    examples = make_examples(count=4, size=4)  # the answer of question n is at place n
    order = Slow("order", lambda text: 0.0)

    assert measure_recall(order, examples, (1, 2, 4)) == {1: 0.25, 2: 0.5, 4: 1.0}
