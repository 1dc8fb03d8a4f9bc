from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.test_replay import make_examples

from rejoinder.cascade.calibration import Calibration
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.loading import load
from rejoinder.errors import InputError
from rejoinder.evaluation import CalibrateOptions, calibrate
from rejoinder.evaluation.calibration import observe
from rejoinder.evaluation.confidence import (
    METHODS,
    Observations,
    check_confidence,
    fit_confidence,
    fit_isotonic,
    fit_logistic,
    sigmoid,
)
from rejoinder.models.lexical.scorers import Jaccard, WordOverlap
from rejoinder.types import Candidate, Example


def draw(count: int, seed: int = 0) -> Observations:
    """Return questions whose log-odds of being right are best + 2 margin - 1."""
    rng = np.random.default_rng(seed)
    features = np.column_stack(
        [rng.normal(0, 2, count), rng.exponential(1, count), np.full(count, 2.0)]
    )
    odds = features[:, 0] + 2 * features[:, 1] - 1
    return Observations(features, rng.random(count) < sigmoid(odds), count)


def test_the_logistic_function_is_fitted() -> None:
    observations = draw(20_000)

    weights = fit_logistic(observations.features, observations.correct)

    assert weights.tolist() == pytest.approx([-1, 1, 2, 0], abs=0.1)


def test_weights_of_separable_data_stay_finite() -> None:
    weights = fit_logistic(np.array([[0.0], [1.0]] * 5), np.array([False, True] * 5))

    assert np.isfinite(weights).all()


def test_isotonic_regression_pools_violators() -> None:
    knots = fit_isotonic(np.array([3.0, 1.0, 2.0, 4.0]), np.array([False, False, True, True]))

    # Wrong at 1, right at 2, wrong at 3, right at 4: 2 and 3 are pooled.
    least = 1 / 6
    assert knots == [(1.0, least), (2.5, 0.5), (4.0, 1 - least)]


def test_confidence_fits_questions_that_it_has_not_seen() -> None:
    report = fit_confidence(draw(4000))

    assert report.method == "logistic of best score, margin and count"
    assert report.calibration_error < 0.03
    assert check_confidence(report.calibration, draw(4000, seed=1)).calibration_error < 0.03
    assert report.area_share > 0.9
    assert report.precision > 0.7
    assert len(report.to_dict()["curve"]) == 20


def test_the_threshold_is_the_requested_one() -> None:
    observations = draw(2000)

    assert fit_confidence(observations).calibration.threshold == 0.5
    assert fit_confidence(observations, precision=0.95).precision >= 0.95
    assert fit_confidence(observations, answer_rate=0.3).answer_rate == pytest.approx(
        0.3, abs=0.001
    )


def test_an_isotonic_confidence_is_interpolated_between_knots() -> None:
    calibration = METHODS["isotonic over the logistic"](draw(500).features, draw(500).correct)

    values = [calibration.rate_features(row) for row in draw(50, seed=2).features]

    assert 0 < min(values) < max(values) < 1
    bent = Calibration(0, 1, knots=((0.0, 0.2), (1.0, 0.6)))
    assert bent.rate(np.array([0.5]), 1) == pytest.approx(0.4)
    assert bent.rate(np.array([9.0, 0.5]), 1) == 0.6


def test_too_few_of_either_kind() -> None:
    observations = draw(50)

    with pytest.raises(InputError, match="50 first answers are right and 0 wrong"):
        fit_confidence(Observations(observations.features, np.ones(50, dtype=bool), 50))


def test_a_precision_out_of_reach() -> None:
    correct = np.arange(100) % 2 == 0
    features = np.zeros((100, 3))

    with pytest.raises(InputError, match=r"no threshold reaches a precision of 0\.9"):
        fit_confidence(Observations(features, correct, 100), precision=0.9)


def test_nothing_is_answered_above_a_high_threshold() -> None:
    report = check_confidence(Calibration(0, 0, threshold=0.9), draw(20))

    assert (report.answer_rate, report.precision) == (0, 1)


def test_observations_use_the_last_stage_only() -> None:
    texts = ("red", "a red cat here", "dog")
    candidates = tuple(Candidate(str(place), text) for place, text in enumerate(texts))
    example = Example("1", "red cat", candidates, (False, True, False))
    cascade = Cascade("two", [Stage(Jaccard(), 2), Stage(WordOverlap())])

    observations = observe(cascade, [example, Example("2", "q", (), ())])
    alone = observe(WordOverlap(), [example])

    # Overlaps 1 and 2 of the two that were kept; three candidates in all.
    assert observations.features.tolist() == [[2, 1, np.log(3)]]
    assert observations.correct.tolist() == [True]
    assert alone.features.tolist() == observations.features.tolist()
    with pytest.raises(InputError, match="no question has candidates"):
        observe(cascade, [Example("2", "q", (), ())])


def test_a_scorer_object_is_calibrated_without_a_file(tmp_path: Path) -> None:
    examples = make_examples(count=60, size=3)
    seen: list[int] = []

    result = calibrate(
        Jaccard(), [examples], on_progress=lambda done, total, _: seen.append(total - done)
    )

    assert result.path is None
    assert result.reports == {"examples (held-out folds)": result.fitted}
    assert result.fitted.questions == 60
    assert seen == list(reversed(range(60)))
    with pytest.raises(InputError, match=r"c\.toml: give the scorer by its name or path"):
        calibrate(Jaccard(), [examples], CalibrateOptions(to=tmp_path / "c.toml"))


def test_a_named_scorer_is_calibrated_into_a_file(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"

    result = calibrate("jaccard", [make_examples(count=60, size=3)], CalibrateOptions(to=path))

    assert result.path == path
    written = load(path)
    assert isinstance(written, Cascade)
    assert written.calibration is not None
    assert written.calibration.threshold == 0.5
    assert written.calibration.facts["questions"] == 60
