from collections.abc import Callable
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.stopping import Progress, StoppingRule, measure_progress
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.passages import PassageScorer
from rejoinder.models.ranking import order, rank
from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.staged import Deadline
from rejoinder.types import Candidate, ScoredCandidate
from tests.cascade.conftest import Clock, Slow, count_a

GAP_OF_1 = StoppingRule(risk=0.5, intercept=1.0, best=0.0, gap=-1.0, unread=0.0, first=2, batch=1)
"""Stops once the next candidate is below the best so far by 1 or more, by the stage before."""


def make_cascade(
    rule: StoppingRule | None, measure: Callable[[str], float] = count_a, clock: Clock | None = None
) -> tuple[Cascade, Slow]:
    """Return a cascade of the length and another measure, and its last scorer."""
    last = Slow("last", measure, clock or Clock(), candidate_ms=10)
    return Cascade("two", [Stage(Slow("length", len), 10), Stage(last, stop=rule)]), last


def candidates(*texts: str) -> list[Candidate]:
    return [Candidate(str(place), text) for place, text in enumerate(texts)]


def test_progress() -> None:
    scores, merits = np.array([1.0, 3.0, np.nan]), np.array([9.0, 8.0, 7.5, 6.0, 2.0])

    assert measure_progress(scores, merits) == Progress(3.0, 2.0, log(2))


def test_the_risk_follows_from_the_progress() -> None:
    rule = StoppingRule(0.1, intercept=1.0, best=-2.0, gap=0.5, unread=3.0)

    assert rule.rate(Progress(1.0, 4.0, 0.5)) == pytest.approx(1 / (1 + np.exp(-2.5)))


def test_reading_stops_where_no_other_is_likely_to_win() -> None:
    cascade, last = make_cascade(GAP_OF_1)
    texts = candidates("aa" * 10, "bb" * 10, "ab" * 9, "a" * 5, "b")

    ranking = order("q", texts, scorer=cascade, only_first=True)

    # the best of the first two is 20 long, the third one 18
    assert last.calls == [["aa" * 10, "bb" * 10]]
    assert [(item.candidate.id, item.stage) for item in ranking.items] == [
        *[("0", 1), ("1", 1)],
        *[("2", 0), ("3", 0), ("4", 0)],
    ]
    trace = ranking.trace[1]
    assert (trace.given, trace.scored, trace.unread, trace.timed_out) == (5, 2, 3, False)


def test_a_stage_keeps_fewer_where_only_the_first_is_needed() -> None:
    first = Stage(Slow("length", len), 3, keep_for_one=1)
    cascade = Cascade("two", [first, Stage(Slow("last", count_a))])
    texts = candidates("bbb", "aa", "a")

    one = order("q", texts, scorer=cascade, only_first=True)
    whole = order("q", texts, scorer=cascade)

    assert [stage.given for stage in one.trace] == [3, 1]
    assert [stage.given for stage in whole.trace] == [3, 3]
    assert [ranking.items[0].candidate.text for ranking in (one, whole)] == ["bbb", "aa"]


def test_no_stage_keeps_more_for_one_than_it_keeps_otherwise() -> None:
    with pytest.raises(InputError, match="keep_for_one is 4; it must be at most keep"):
        Stage(WordOverlap(), 3, keep_for_one=4)
    few = Stage(WordOverlap(), 3, keep_for_one=1)
    with pytest.raises(InputError, match="stage 2 keeps 2, but gets only 1"):
        Cascade("wrong", [few, Stage(WordOverlap(), 2), Stage(WordOverlap())])


def test_reading_goes_on_while_another_may_win() -> None:
    cascade, last = make_cascade(GAP_OF_1)
    texts = candidates("bbbb", "bbba", "bbaa", "baaa", "b")

    ranking = order("q", texts, scorer=cascade, only_first=True)

    assert last.calls == [["bbbb", "bbba"], ["bbaa"], ["baaa"]]
    assert ranking.items[0].candidate.text == "baaa"
    assert ranking.trace[1].unread == 1


@given(st.lists(st.text("ab", max_size=5), min_size=1, max_size=12))
def test_a_risk_of_0_and_the_order_of_all_read_everything(words: list[str]) -> None:
    careful = StoppingRule(risk=0.0, intercept=0.0, best=-1.0, gap=-1.0, unread=0.0)
    without, _ = make_cascade(None)
    expected = rank("q", words, scorer=without)

    found = order("q", candidates(*words), scorer=make_cascade(careful)[0], only_first=True)
    whole = rank("q", words, scorer=make_cascade(GAP_OF_1)[0])

    assert [item.score for item in found.items] == [item.score for item in expected.items]
    assert [item.score for item in whole.items] == [item.score for item in expected.items]
    assert whole.trace[1].unread == 0


@given(st.lists(st.text("ab", max_size=5), min_size=1, max_size=12))
def test_what_is_read_has_the_same_scores(words: list[str]) -> None:
    expected = {item.candidate.id: item.score for item in _rank(words, None) if item.stage == 1}

    found = {item.candidate.id: item.score for item in _rank(words, GAP_OF_1) if item.stage == 1}

    assert found.items() <= expected.items()


def _rank(words: list[str], rule: StoppingRule | None) -> tuple[ScoredCandidate, ...]:
    return order("q", candidates(*words), scorer=make_cascade(rule)[0], only_first=True).items


def test_the_budget_ends_reading_before_the_rule_does() -> None:
    clock = Clock()
    cascade, last = make_cascade(GAP_OF_1, clock=clock)
    texts = candidates(*["a" * 9] * 8)

    ranking = order(
        "q", texts, scorer=cascade, deadline=Deadline.after(35, clock=clock), only_first=True
    )

    assert list(map(len, last.calls)) == [2, 1]
    assert (ranking.trace[1].unread, ranking.trace[1].timed_out) == (0, True)


def test_a_candidate_that_the_stage_before_did_not_score_is_read() -> None:
    class Partial(Slow):
        def score(self, question: str, candidates: Candidates) -> Scores:
            found = super().score(question, candidates)
            found[2] = np.nan
            return found

    last = Slow("last", count_a)
    cascade = Cascade("two", [Stage(Partial("length", len), 2), Stage(last, stop=GAP_OF_1)])

    order("q", candidates("aaaaa", "b", "aa"), scorer=cascade, only_first=True)

    assert last.scored == 3


def test_the_rule_waits_for_a_score() -> None:
    assert not GAP_OF_1.stops(np.array([np.nan]), np.array([9.0, 1.0]))
    assert GAP_OF_1.stops(np.array([1.0]), np.array([9.0, 1.0]))


def test_a_stage_in_the_middle_passes_on_what_it_has_read() -> None:
    middle, last = Slow("middle", count_a), Slow("last", lambda text: -len(text))
    stages = [Stage(Slow("length", len), 5), Stage(middle, 3, stop=GAP_OF_1), Stage(last)]
    texts = candidates("aa" * 10, "bb" * 10, "ab" * 9, "a" * 5, "b")
    cascade = Cascade("three", stages)

    one = order("q", texts, scorer=cascade, only_first=True)
    whole = order("q", texts, scorer=cascade)

    assert [(item.candidate.id, item.stage) for item in one.items] == [
        *[("0", 2), ("1", 2)],
        *[("2", 0), ("3", 0), ("4", 0)],
    ]
    trace = one.trace[1]
    assert (trace.given, trace.scored, trace.unread, trace.kept) == (5, 2, 3, 2)
    assert not trace.timed_out
    assert [stage.scored for stage in whole.trace] == [5, 5, 3]


def test_a_passage_is_read_once_though_its_candidates_are_in_two_batches() -> None:
    reader = Slow("last", count_a)
    never = StoppingRule(risk=0.0, intercept=0.0, best=0.0, gap=0.0, unread=0.0, first=2, batch=1)
    cascade = Cascade(
        "two", [Stage(Slow("length", len), 5), Stage(PassageScorer(reader), stop=never)]
    )
    texts = [
        Candidate(str(place), "x" * (9 - place), passage=passage)
        for place, passage in enumerate(["aa", "b", "aa", "b", "a"])
    ]

    for _ in range(2):  # the next question starts anew
        ranking = order("q", texts, scorer=cascade, only_first=True)

    assert reader.calls == [["aa", "b"], ["a"]] * 2
    assert [item.score for item in ranking.items] == [2, 2, 1, 0, 0]


def test_the_first_stage_cannot_stop() -> None:
    with pytest.raises(InputError, match="stage 1 cannot stop: no stage before it"):
        Cascade("wrong", [Stage(WordOverlap(), 3, stop=GAP_OF_1), Stage(WordOverlap())])


def test_a_stage_that_compares_its_list_cannot_stop() -> None:
    with pytest.raises(InputError, match="fusion needs the scores of the whole list"):
        Stage(WordOverlap(), fusion=1.0, stop=GAP_OF_1)
    with pytest.raises(InputError, match="document_prior needs the scores of the whole list"):
        Stage(WordOverlap(), document_prior=1.0, stop=GAP_OF_1)
