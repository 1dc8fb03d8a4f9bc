from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.calibration import Calibration, Logistic
from rejoinder.cascade.cascade import Cascade, Stage, fuse, interpolate
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.passages import PassageScorer
from rejoinder.models.ranking import rank
from rejoinder.models.staged import Deadline
from rejoinder.types import Candidate, Document, Ranking
from tests.cascade.conftest import Clock, Slow, count_a


def length() -> Slow:
    return Slow("length", len)


def letters() -> Slow:
    return Slow("letters", count_a)


def texts(ranking: Ranking) -> list[str]:
    return [item.candidate.text for item in ranking.items]


def test_the_dropped_keep_the_order_of_the_stage_that_dropped_them() -> None:
    cascade = Cascade("two", [Stage(length(), 2), Stage(WordOverlap())])

    scores = cascade.score("cat", ["cat", "a long dog", "a longer cat", "dog"])

    #                      dropped by length: 0 and 3; ranked again by overlap: 1 and 2
    assert scores.tolist() == [-1.0, 0.0, 1.0, -1.0]


def test_later_stages_rank_above_earlier_ones() -> None:
    cascade = Cascade("three", [Stage(length(), 3), Stage(letters(), 1), Stage(length())])

    ranking = rank("q", ["b", "bb", "abab", "ababa", "bbbbb", ""], scorer=cascade)

    assert texts(ranking) == ["ababa", "abab", "bbbbb", "bb", "b", ""]
    assert [item.stage for item in ranking.items] == [2, 1, 1, 0, 0, 0]
    assert [item.score for item in ranking.items] == [5.0, 2.0, 0.0, 2.0, 1.0, 0.0]
    assert [(s.scorer, s.given, s.scored, s.kept, s.timed_out) for s in ranking.trace] == [
        ("length", 6, 6, 3, False),
        ("letters", 3, 3, 1, False),
        ("length", 1, 1, 1, False),
    ]
    assert all(stage.milliseconds >= 0 for stage in ranking.trace)


@given(st.lists(st.text("ab", max_size=5), min_size=1, max_size=12))
def test_a_single_stage_is_its_scorer(words: list[str]) -> None:
    alone = rank("q", words, scorer=length())
    staged = rank("q", words, scorer=Cascade("one", [Stage(length())]))

    assert staged.items == alone.items


@given(
    st.lists(st.text("ab", max_size=5), max_size=12),
    st.lists(st.integers(1, 14), min_size=1, max_size=3),
)
def test_scores_and_ranking_tell_the_same_order(words: list[str], keeps: list[int]) -> None:
    scorers = [length(), letters(), length(), letters()]
    ks = [*sorted(keeps, reverse=True), None]
    cascade = Cascade("law", [Stage(s, k) for s, k in zip(scorers, ks, strict=False)])

    order = np.argsort(-cascade.score("q", words), kind="stable")

    assert [words[place] for place in order] == texts(rank("q", words, scorer=cascade))


def test_candidates_reach_a_list_reading_stage_in_list_order() -> None:
    reader = Slow("reader", len, is_pointwise=False)
    cascade = Cascade("two", [Stage(letters(), 3), Stage(reader)])

    cascade.score("q", ["a", "b", "aa", "aaa"])

    assert reader.calls == [["a", "aa", "aaa"]]


def test_the_document_prior_counts_in_later_stages() -> None:
    tower, bridge = Document("tower"), Document("bridge")
    candidates = [
        Candidate("0", "the tower of Paris", tower),
        Candidate("1", "opened aaa", tower),
        Candidate("2", "opened aaaa", bridge),
        Candidate("3", "a bridge", bridge),
    ]
    stages = [Stage(WordOverlap(), 4, document_prior=2.0), Stage(letters())]

    ranking = rank("tower of Paris", candidates, scorer=Cascade("carrying", stages))

    assert [item.candidate.id for item in ranking.items] == ["1", "0", "2", "3"]
    assert [item.score for item in ranking.items] == [3 + 2, 1 + 2, 4 - 2, 1 - 2]


def test_the_document_prior_counts_in_the_choice_of_candidates() -> None:
    tower, bridge = Document("tower"), Document("bridge")
    candidates = [
        Candidate("0", "the tower of Paris", tower),
        Candidate("1", "aa tower bridge", bridge),
        Candidate("2", "opened aaa", tower),
    ]
    for document_prior, best in ((0.0, ["1", "0"]), (1.0, ["2", "0"])):
        stages = [Stage(WordOverlap(), 2, document_prior=document_prior), Stage(letters())]
        items = rank("tower of Paris", candidates, scorer=Cascade("c", stages)).items
        assert [item.candidate.id for item in items[:2]] == best


def test_a_fused_stage_adds_the_scores_of_the_stage_before() -> None:
    words = ["aaa", "a cat", "aa cat", "cat"]
    stages = [Stage(WordOverlap(), 4), Stage(letters(), fusion=3.0)]

    ranking = rank("cat", words, scorer=Cascade("fused", stages))

    assert [item.candidate.text for item in ranking.items] == ["aa cat", "a cat", "cat", "aaa"]
    alone = rank("cat", words, scorer=Cascade("alone", [stages[0], Stage(letters())]))
    assert alone.items[0].candidate.text in {"aaa", "aa cat"}
    assert alone.items[0].score == 3


def test_a_candidate_that_the_stage_before_did_not_score_counts_as_average() -> None:
    fused = fuse(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, -np.inf]), 1.0)

    assert fused.tolist() == [1.0, -1.0, 0.0]


def test_an_interpolated_stage_adds_the_scores_as_they_are() -> None:
    words = ["aaa", "a cat", "aa cat", "cat"]
    stages = [Stage(WordOverlap(), 4), Stage(letters(), interpolation=3.0)]

    scores = Cascade("interpolated", stages).score("cat", words)

    overlap = WordOverlap().score("cat", words)
    assert scores.tolist() == (letters().score("cat", words) + 3 * overlap).tolist()


def test_interpolation_counts_an_unscored_candidate_as_average() -> None:
    added = interpolate(np.array([1.0, 1.0, 1.0]), np.array([2.0, 0.0, -np.inf]), 0.5)

    assert added.tolist() == [2.0, 1.0, 1.5]
    assert interpolate(np.array([1.0]), np.array([-np.inf]), 0.5).tolist() == [1.0]


def test_a_stage_of_passages_chooses_the_candidates_of_the_best_passage() -> None:
    candidates = [
        Candidate("0", "aaaa", passage="b"),
        Candidate("1", "a", passage="aaa aaa"),
        Candidate("2", "aa", passage="aaa aaa"),
    ]
    stages = [Stage(PassageScorer(letters()), 2), Stage(letters())]

    ranking = rank("q", candidates, scorer=Cascade("passages", stages))

    assert [item.candidate.id for item in ranking.items] == ["2", "1", "0"]
    assert [stage.scorer for stage in ranking.trace] == ["letters (passages)", "letters"]
    assert Cascade("passages", stages).reads_passages
    assert not Cascade("sentences", stages[1:]).reads_passages


def test_in_one_document_nothing_is_carried() -> None:
    words = ["aaa", "a cat", "aa cat"]
    for candidates in (words, [Candidate(word, word, Document("d")) for word in words]):
        plain, carrying = (
            Cascade("c", [Stage(WordOverlap(), 2, document_prior=document_prior), Stage(letters())])
            for document_prior in (0.0, 5.0)
        )
        assert (
            rank("cat", candidates, scorer=plain).items
            == rank("cat", candidates, scorer=carrying).items
        )


def test_a_cascade_can_be_a_stage() -> None:
    inner = Cascade("inner", [Stage(length(), 2), Stage(letters())])

    ranking = rank("q", ["a", "bbb", "bab"], scorer=Cascade("outer", [Stage(inner)]))

    assert texts(ranking) == ["bab", "bbb", "a"]


def test_nothing_and_one() -> None:
    cascade = Cascade("two", [Stage(length(), 9), Stage(letters())])

    assert cascade.score("q", []).tolist() == []
    assert rank("q", [], scorer=cascade).items == ()
    assert texts(rank("q", ["a"], scorer=cascade, budget_ms=0)) == ["a"]


@pytest.mark.parametrize(
    ("keeps", "message"),
    [
        ([], "a cascade needs at least one stage"),
        ([10, 20, None], "stage 2 keeps 20, but gets only 10; keep must not grow"),
        ([0, None], "stage 1 needs a keep of 1 or more"),
        ([None, None], "stage 1 needs a keep of 1 or more"),
        ([10, 5], "stage 2 is the last and keeps all; remove its keep"),
    ],
)
def test_stages_that_cannot_follow_each_other(keeps: list[int | None], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Cascade("bad", [Stage(length(), keep) for keep in keeps])


class TestBudget:
    """Stages that take 1 ms and 10 ms a candidate; 20 candidates, of which 10 would go on."""

    WORDS = tuple("b" * place + "a" * (20 - place) for place in range(20))

    def run(
        self, budget_ms: float, *, costs: bool = True, pointwise: bool = True
    ) -> tuple[Ranking, Slow, Slow, Clock]:
        clock = Clock()
        cheap = Slow("cheap", count_a, clock, candidate_ms=1)
        dear = Slow("dear", len, clock, candidate_ms=10, is_pointwise=pointwise)
        cascade = Cascade(
            "timed",
            [
                Stage(cheap, 10, Cost(candidate_ms=1) if costs else None),
                Stage(dear, None, Cost(candidate_ms=10) if costs else None),
            ],
        )
        deadline = Deadline.after(budget_ms, clock=clock)
        return rank("q", self.WORDS, scorer=cascade, deadline=deadline), cheap, dear, clock

    @pytest.mark.parametrize("costs", [True, False])
    def test_time_enough_changes_nothing(self, costs: bool) -> None:
        ranking, _, dear, _ = self.run(1000, costs=costs)

        assert dear.scored == 10
        assert not any(stage.timed_out for stage in ranking.trace)

    def test_the_last_stage_scores_as_many_as_time_allows(self) -> None:
        ranking, _, dear, clock = self.run(75)

        # 20 ms for the first stage; 55 ms are enough for five of 10 ms.
        assert dear.scored == 5
        assert clock.now <= 0.075
        assert [(s.given, s.scored, s.kept, s.timed_out) for s in ranking.trace] == [
            (20, 20, 10, False),
            (10, 5, 5, True),
        ]
        assert [item.stage for item in ranking.items] == [1] * 5 + [0] * 15

    def test_the_best_of_the_first_stage_are_scored_first(self) -> None:
        _, _, dear, _ = self.run(75)

        assert [text for call in dear.calls for text in call] == list(self.WORDS[:5])

    def test_without_costs_the_clock_alone_decides(self) -> None:
        ranking, _, dear, clock = self.run(120.5, costs=False)

        # A first batch of eight to learn the speed, then what fits.
        assert dear.scored == 10
        assert clock.now <= 0.121
        assert not ranking.trace[1].timed_out

    def test_slow_candidates_are_read_while_there_is_time(self) -> None:
        clock = Clock()
        slow = Slow("slow", len, clock, candidate_ms=50)  # longer than a batch lasts
        cascade = Cascade("slow", [Stage(slow)])

        ranking = rank("q", self.WORDS, scorer=cascade, deadline=Deadline.after(625, clock=clock))

        assert slow.scored == 12
        assert ranking.trace[0].timed_out
        assert clock.now <= 0.625

    def test_a_list_reading_stage_gets_fewer(self) -> None:
        ranking, _, dear, clock = self.run(75, pointwise=False)

        assert [len(call) for call in dear.calls] == [5]
        assert clock.now == pytest.approx(0.070)
        assert ranking.trace[0].kept == 5
        assert ranking.trace[0].timed_out

    @pytest.mark.parametrize("pointwise", [True, False])
    def test_a_stage_without_time_for_one_candidate_is_skipped(self, pointwise: bool) -> None:
        ranking, _, dear, _ = self.run(25, pointwise=pointwise)

        assert dear.scored == 0
        assert [(s.kept, s.timed_out) for s in ranking.trace] == [(0, True)]
        assert texts(ranking) == list(self.WORDS)

    @pytest.mark.parametrize("costs", [True, False])
    @pytest.mark.parametrize("budget_ms", [0, 1])
    def test_a_tiny_budget_still_gives_a_ranking(self, budget_ms: float, costs: bool) -> None:
        ranking, cheap, dear, _ = self.run(budget_ms, costs=costs)

        assert texts(ranking) == list(self.WORDS)
        assert 1 <= cheap.scored <= 8
        assert dear.scored == 0
        assert ranking.items[0].stage == 0
        assert ranking.items[-1].stage == -1
        assert ranking.items[-1].score == -np.inf
        assert ranking.trace[0].timed_out

    def test_a_real_clock_works_too(self) -> None:
        cascade = Cascade("two", [Stage(length(), 2), Stage(letters())])

        assert len(rank("q", ["a", "b", "c"], scorer=cascade, budget_ms=1000).trace) == 2


def test_a_middle_stage_shrinks_with_the_last(clock: Clock) -> None:
    first = Slow("first", len, clock)
    middle = Slow("middle", len, clock, candidate_ms=1, is_pointwise=False)
    last = Slow("last", len, clock, candidate_ms=10)
    costs = [Cost(), Cost(candidate_ms=1), Cost(candidate_ms=10)]
    cascade = Cascade(
        "three",
        [Stage(first, 100, costs[0]), Stage(middle, 20, costs[1]), Stage(last, None, costs[2])],
    )
    words = ["x" * n for n in range(200)]

    rank("q", words, scorer=cascade, deadline=Deadline.after(150.5, clock=clock))

    # 50 and a fifth of it: 50 * 1 ms + 10 * 10 ms = 150 ms
    assert (middle.scored, last.scored) == (50, 10)


def test_stages_of_unknown_cost_are_not_planned_for(clock: Clock) -> None:
    readers = [Slow(name, len, clock, 1, is_pointwise=False) for name in ("one", "two", "three")]
    cascade = Cascade("three", [Stage(s, k) for s, k in zip(readers, [3, 2, None], strict=True)])

    ranking = rank("q", ["x"] * 5, scorer=cascade, deadline=Deadline.after(7, clock=clock))

    assert [(stage.scored, stage.kept) for stage in ranking.trace] == [(5, 3), (3, 0)]


def test_a_plain_scorer_keeps_to_a_budget_too(clock: Clock) -> None:
    slow = Slow("slow", len, clock, candidate_ms=10)

    ranking = rank("q", ["x"] * 50, scorer=slow, deadline=Deadline.after(200, clock=clock))

    assert slow.scored == 20
    assert (ranking.trace[0].scored, ranking.trace[0].timed_out) == (20, True)


def test_a_listwise_scorer_ignores_the_deadline(clock: Clock) -> None:
    slow = Slow("slow", len, clock, candidate_ms=10, is_pointwise=False)

    ranking = rank("q", ["x"] * 50, scorer=slow, deadline=Deadline.after(1, clock=clock))

    assert (ranking.trace[0].scored, ranking.trace[0].timed_out) == (50, False)


@pytest.mark.parametrize("budget", [-1.0, float("nan")])
def test_a_negative_budget_is_refused(budget: float) -> None:
    with pytest.raises(InputError, match="a budget must be 0 or more milliseconds"):
        rank("q", ["a"], scorer=length(), budget_ms=budget)


def test_a_budget_and_a_deadline_are_one_too_many() -> None:
    with pytest.raises(ValueError, match="not both"):
        rank("q", ["a"], scorer=length(), budget_ms=1, deadline=Deadline.after(1))


class TestConfidence:
    # log-odds = best - 3
    CALIBRATION = Calibration(Logistic(intercept=-3, best=1))

    def test_is_of_the_last_stage(self) -> None:
        cascade = Cascade(
            "two", [Stage(length(), 2), Stage(letters())], calibration=self.CALIBRATION
        )

        ranking = rank("q", ["aaaa", "bbbbb", "c"], scorer=cascade)

        assert ranking.confidence == pytest.approx(1 / (1 + np.exp(-(4 - 3))))
        assert not ranking.abstains
        assert rank("q", ["a", "bbbbb", "c"], scorer=cascade).abstains

    def test_reads_what_the_stages_found(self) -> None:
        cascade = Cascade("two", [Stage(length(), 2, document_prior=0.5), Stage(letters())])
        one, two = Document("1"), Document("2")
        candidates = [
            Candidate("1", "aaaa", one, headings=("Hives",)),
            Candidate("2", "bbbbbb", two),
            Candidate("3", "a", one),
            Candidate("4", "a", one),
        ]

        _, features = cascade.observe("q", candidates)

        # Best in length: 4 in document 1 and 6 in document 2, so their priors are
        # 0.5 times -0.58 (thrice) and 1.73.
        prior = 0.5 * -1 / np.sqrt(3)
        assert features is not None
        assert astuple(features) == pytest.approx(
            (4 + prior, 4 + prior - 1.5 / np.sqrt(3), np.log(4), prior, np.log(2), 1 / 4)
        )

    def test_a_cascade_abstains_by_its_answerability(self) -> None:
        calibration = Calibration(
            Logistic(intercept=-9, best=1), Logistic(intercept=-2, best=1), threshold=0.5
        )
        cascade = Cascade("one", [Stage(letters())], calibration=calibration)

        unsure, nothing = (rank("q", [text], scorer=cascade) for text in ("aaa", "a"))

        assert not unsure.abstains
        assert unsure.confidence == pytest.approx(1 / (1 + np.exp(6)))
        assert nothing.abstains
        assert rank("q", ["aaa"], scorer=cascade, min_confidence=0.5).abstains
        assert calibration.min_confidence is None
        assert self.CALIBRATION.min_confidence == 0.5

    def test_is_unknown_where_the_last_stage_did_not_begin(self, clock: Clock) -> None:
        cheap = Slow("cheap", len, clock, candidate_ms=1)
        cascade = Cascade("two", [Stage(cheap, 2), Stage(letters())], calibration=self.CALIBRATION)

        deadline = Deadline.after(2, clock=clock)
        ranking = rank("q", ["a", "b", "c"], scorer=cascade, deadline=deadline)

        assert ranking.confidence is None
        assert not ranking.abstains


def test_candidates_with_nan_scores_pass_to_the_next_stage() -> None:
    def leave_dogs(text: str) -> float:
        return float("nan") if "dog" in text else len(text)

    cascade = Cascade("two", [Stage(Slow("first", leave_dogs), 1), Stage(letters())])

    staged = rank("?", ["cat", "a dog", "a cat", "dog"], scorer=cascade)

    # "a cat" is kept; both dogs go on besides, and are scored by the last stage only
    assert [item.candidate.text for item in staged.items] == ["a cat", "a dog", "dog", "cat"]
    assert [item.stage for item in staged.items] == [1, 1, 1, 0]
    assert [(stage.scored, stage.kept, stage.timed_out) for stage in staged.trace] == [
        (2, 3, False),
        (3, 3, False),
    ]


def test_nan_candidates_pass_only_as_time_allows(clock: Clock) -> None:
    def leave(text: str) -> float:
        return float("nan") if "dog" in text else len(text)

    first = Slow("first", leave, clock)
    last = Slow("last", count_a, clock, candidate_ms=10, is_pointwise=False)
    cascade = Cascade("two", [Stage(first, 2), Stage(last, None, Cost(candidate_ms=10))])
    given = ["cat", "mouse", *["dog"] * 20]

    in_time = rank("q", given, scorer=cascade, deadline=Deadline.after(55, clock=clock))
    too_late = rank("q", given, scorer=cascade, deadline=Deadline.after(5, clock=clock))

    assert [len(call) for call in last.calls] == [5]
    assert [(stage.kept, stage.timed_out) for stage in in_time.trace] == [(5, True), (5, False)]
    assert [(stage.kept, stage.timed_out) for stage in too_late.trace] == [(0, True)]
    assert texts(too_late)[:3] == ["mouse", "cat", "dog"]


def test_candidates_with_nan_scores_of_the_last_stage_rank_below() -> None:
    def leave_dogs(text: str) -> float:
        return float("nan") if "dog" in text else len(text)

    cascade = Cascade("two", [Stage(length(), 2), Stage(Slow("last", leave_dogs))])

    ranking = rank("?", ["a cat", "a long dog", "x"], scorer=cascade)

    assert texts(ranking) == ["a cat", "a long dog", "x"]
    assert [item.stage for item in ranking.items] == [1, 0, 0]
