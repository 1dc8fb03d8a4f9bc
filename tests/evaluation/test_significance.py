from itertools import product

import numpy as np
import pytest

from rejoinder.evaluation.significance import (
    bootstrap_difference,
    bootstrap_mean,
    randomisation_test,
)


def test_p_value_agrees_with_all_sign_flips() -> None:
    differences = [0.3, -0.1, 0.2, 0.4, 0.1, -0.05, 0.25, 0.0]
    flips = [np.dot(signs, differences) for signs in product([1, -1], repeat=8)]
    exact = np.mean(np.abs(flips) >= sum(differences) - 1e-9)

    p_value = randomisation_test([0.0] * 8, differences)

    assert p_value == pytest.approx(exact, abs=0.01)


def test_equal_scorers_have_a_p_value_of_one() -> None:
    assert randomisation_test([0.5, 0.1], [0.5, 0.1]) == 1.0


def test_a_large_steady_difference_is_significant() -> None:
    assert randomisation_test([0.0] * 40, [1.0] * 40) < 0.001


def test_p_value_has_no_direction() -> None:
    one, other = [0.1, 0.5, 0.9, 0.2], [0.3, 0.4, 1.0, 0.6]

    assert randomisation_test(one, other) == randomisation_test(other, one)


def test_an_interval_contains_the_mean_and_narrows_with_more_questions() -> None:
    few = bootstrap_mean([0.0, 1.0] * 10)
    many = bootstrap_mean([0.0, 1.0] * 1000)

    assert few.low < 0.5 < few.high
    # 1.96 standard errors of a fair coin: 1.96 * 0.5 / sqrt(2000) = 0.0219
    assert many.high - 0.5 == pytest.approx(0.0219, abs=0.002)
    assert few.high - few.low > many.high - many.low


def test_pairing_removes_shared_variance() -> None:
    hard_and_easy = [0.0, 1.0] * 50

    interval = bootstrap_difference(hard_and_easy, [value + 0.1 for value in hard_and_easy])

    assert (interval.low, interval.high) == pytest.approx((0.1, 0.1))


def test_intervals_are_deterministic() -> None:
    assert bootstrap_mean([0.1, 0.9, 0.4]) == bootstrap_mean([0.1, 0.9, 0.4])


def test_unequal_or_empty_lists_cannot_be_paired() -> None:
    with pytest.raises(ValueError, match="cannot pair 2 values with 1"):
        randomisation_test([0.1, 0.2], [0.3])
    with pytest.raises(ValueError, match="cannot pair 0 values with 0"):
        bootstrap_difference([], [])
