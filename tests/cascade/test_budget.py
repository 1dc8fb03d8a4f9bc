import numpy as np
import pytest
from msgspec.structs import astuple

from rejoinder.cascade.budget import Cost, RemainingStage, TimedCall, count_words, fit_cost, plan
from rejoinder.types import to_candidates


def test_words_are_counted_by_spaces() -> None:
    assert count_words(to_candidates(["", "a", "a b c"])).tolist() == [1, 1, 3]


def test_nothing_costs_nothing() -> None:
    assert Cost(5, 1, 1).predict(0, 0) == 0
    assert Cost(5, 1, 0.5).predict(2, 10) == 5 + 2 + 5


@pytest.mark.parametrize("true", [Cost(3, 0.5, 0.01), Cost(0, 0.2, 0), Cost(2, 0, 0.1)])
def test_the_cost_is_recovered_from_timed_calls(true: Cost) -> None:
    rng = np.random.default_rng(0)
    counts = [(n, int(n * rng.integers(5, 40))) for n in (1, 10, 50, 100, 500, 1000)]

    found = fit_cost([TimedCall(n, words, true.predict(n, words)) for n, words in counts])

    assert astuple(found) == pytest.approx(astuple(true), abs=1e-5)


def test_no_part_is_negative() -> None:
    # Falls with the number of words, which no cost can say.
    found = fit_cost([TimedCall(10, 100, 5), TimedCall(10, 200, 4), TimedCall(20, 100, 9)])

    assert min(found.fixed_ms, found.candidate_ms, found.word_ms) >= 0


def test_a_cost_needs_calls() -> None:
    with pytest.raises(ValueError, match="needs timed calls"):
        fit_cost([])


def test_a_plan_fits_and_one_more_would_not() -> None:
    words = np.full(100, 10)
    coming = [RemainingStage(Cost(1, 0.1, 0.01), 100), RemainingStage(Cost(2, 1, 0.1), 20)]

    for left_ms in range(6, 70):
        count = plan(coming, words, left_ms)

        def cost(first: int) -> float:
            last = max(1, first // 5)
            return 1 + 0.2 * first + 2 + 2 * last

        assert cost(count) <= left_ms + 1e-9
        assert count == 100 or cost(count + 1) > left_ms


def test_the_last_stage_is_given_up_first() -> None:
    coming = [RemainingStage(Cost(candidate_ms=1), 100), RemainingStage(Cost(candidate_ms=50), 10)]

    assert plan(coming, np.ones(100, dtype=np.int64), 40) == 40
    assert plan(coming, np.ones(100, dtype=np.int64), 0.5) == 0
