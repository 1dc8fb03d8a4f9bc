import pytest

from rejoinder.cascade.calibration import Calibration, Features, Logistic, to_probability


def test_log_odds_are_a_weighted_sum() -> None:
    function = Logistic(1, best=2, margin=3, count=5, prior=7, rank=11, headings=13)

    assert function.weigh(Features(0.1, 0.2, 0.3, 0.4, 0.5, 0.6)) == pytest.approx(
        1 + 0.2 + 0.6 + 1.5 + 2.8 + 5.5 + 7.8
    )


def test_a_confidence_is_interpolated_between_knots() -> None:
    bent = Calibration(Logistic(0, 1), knots=((0.0, 0.2), (1.0, 0.6)))

    assert bent.rate(Features(0.5, 0, 0)) == pytest.approx(0.4)
    assert bent.rate(Features(9.0, 8.5, 0)) == 0.6


def test_a_probability_does_not_overflow() -> None:
    assert [to_probability(value) for value in (-1e4, 0.0, 1e4)] == [0.0, 0.5, 1.0]
