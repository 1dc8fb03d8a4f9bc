import numpy as np
import pytest

from rejoinder.evaluation.calibration.confidence import (
    find_threshold,
    find_threshold_for_rate,
    measure_area_share,
    measure_calibration_error,
    trace_curve,
)

CONFIDENCES = np.array([0.9, 0.8, 0.8, 0.3])
CORRECT = np.array([True, True, False, False])


def test_among_equal_confidences_wrong_answers_come_first() -> None:
    curve = trace_curve(CONFIDENCES, CORRECT)

    assert curve.precisions.tolist() == [1 / 1, 1 / 2, 2 / 3, 2 / 4]
    assert curve.rates.tolist() == [0.25, 0.5, 0.75, 1]
    assert curve.area == pytest.approx((1 + 1 / 2 + 2 / 3 + 1 / 2) / 4)


def test_the_oracle_answers_correct_ones_first() -> None:
    oracle = (1 + 1 + 2 / 3 + 2 / 4) / 4

    assert measure_area_share(CONFIDENCES, CORRECT) == pytest.approx(
        (1 + 1 / 2 + 2 / 3 + 1 / 2) / 4 / oracle
    )
    assert measure_area_share(np.array([0.9, 0.1]), np.array([True, False])) == 1
    assert measure_area_share(np.array([0.9]), np.array([False])) == 0


def test_calibration_error_by_hand() -> None:
    # Bins 0.9: |0.95 - 1| * 1; 0.8: |0.8 + 0.85 - 1| over two; 1.0 falls into the last bin.
    confidences = np.array([0.95, 0.8, 0.85, 1.0])
    correct = np.array([True, True, False, True])

    assert measure_calibration_error(confidences, correct) == pytest.approx(
        (abs(0.95 + 1 - 2) + abs(0.8 + 0.85 - 1)) / 4
    )


def test_thresholds_by_precision_and_by_rate() -> None:
    curve = trace_curve(CONFIDENCES, CORRECT)

    # Down to 0.8 all three are answered, of which two are right.
    assert find_threshold(curve, precision=0.6) == 0.8
    assert find_threshold(curve, precision=0.9) == 0.9
    assert find_threshold(curve, precision=0.5) == 0.3
    assert find_threshold(trace_curve(CONFIDENCES, ~CORRECT), precision=0.9) is None
    assert find_threshold_for_rate(curve, 0.25) == 0.9
    assert find_threshold_for_rate(curve, 0.7) == 0.8
    assert find_threshold_for_rate(curve, 1) == 0.3
