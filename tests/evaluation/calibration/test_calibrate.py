from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.evaluation.test_replay import make_examples

from rejoinder.cascade.calibration import FEATURES, Calibration, Features, Logistic
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.loading import load
from rejoinder.errors import InputError
from rejoinder.evaluation import CalibrateOptions, calibrate
from rejoinder.evaluation.calibration.calibrate import observe
from rejoinder.evaluation.calibration.confidence import (
    Observations,
    check_confidence,
    fit_confidence,
    fit_logistic,
    sigmoid,
)
from rejoinder.models.lexical.scorers import Jaccard, WordOverlap
from rejoinder.types import Candidate, Example


def draw(count: int, seed: int = 0) -> Observations:
    """Return questions whose log-odds of being right are best + 2 margin - 1."""
    rng = np.random.default_rng(seed)
    features = np.zeros((count, len(FEATURES)))
    features[:, :3] = np.column_stack(
        [rng.normal(0, 2, count), rng.exponential(1, count), np.full(count, 2.0)]
    )
    odds = features[:, 0] + 2 * features[:, 1] - 1
    correct = rng.random(count) < sigmoid(odds)
    return Observations(features, correct, np.ones(count, dtype=bool))


def draw_manuals(count: int, seed: int = 0) -> Observations:
    """Return questions, every second of documents with headings.

    There, sentences score lower by 2, and of two answerable questions the first candidate is
    right for one.  A question is answerable at log-odds of twice the score.
    """
    rng = np.random.default_rng(seed)
    has_headings = np.arange(count) % 2 == 1
    score, prior = rng.normal(0, 2, count), rng.normal(0, 1, count)
    answerable = rng.random(count) < sigmoid(2 * score)
    correct = answerable & (~has_headings | (rng.random(count) < 0.5))
    features = np.zeros((count, len(FEATURES)))
    features[:, FEATURES.index("best")] = score - 2 * has_headings + prior
    features[:, FEATURES.index("prior")] = prior
    features[:, FEATURES.index("headings")] = has_headings
    return Observations(features, correct, answerable)


def test_the_logistic_function_is_fitted() -> None:
    observations = draw(20_000)

    weights = fit_logistic(observations.features, observations.correct)

    assert weights[:4].tolist() == pytest.approx([-1, 1, 2, 0], abs=0.1)


def test_weights_of_separable_data_stay_finite() -> None:
    weights = fit_logistic(np.array([[0.0], [1.0]] * 5), np.array([False, True] * 5))

    assert np.isfinite(weights).all()


def test_confidence_fits_questions_that_it_has_not_seen() -> None:
    report = fit_confidence(draw(4000))

    assert report.method == "logistic of best score, margin, count, prior and rank"
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


def test_it_abstains_where_nothing_answers_not_where_the_first_is_one_of_several() -> None:
    report = fit_confidence(draw_manuals(4000))
    function = report.calibration.answerability

    assert function is not None
    assert function.best == -function.prior == pytest.approx(2, abs=0.2)
    assert function.headings == pytest.approx(4, abs=0.4)
    assert report.calibration.threshold == 0.5
    assert report.unanswerable_refused > 0.8
    unsure = Features(*[-2 + 1.0, 0, 0, 0, 0, 1.0])  # score 1 below headings
    assert report.calibration.rate(unsure) < 0.5
    assert not report.calibration.abstains(unsure)
    assert report.calibration.abstains(replace(unsure, headings=0))


def test_a_threshold_of_the_answerability_reaches_its_rate() -> None:
    report = fit_confidence(draw_manuals(4000), answer_rate=0.3)

    checked = check_confidence(report.calibration, draw_manuals(4000, seed=1))

    assert report.answer_rate == pytest.approx(0.3, abs=0.001)
    assert checked.answer_rate == pytest.approx(0.3, abs=0.03)
    assert checked.right_stated == pytest.approx(report.right_stated, abs=0.05)
    assert checked.calibration_error < 0.2


def test_too_few_of_either_kind() -> None:
    observations = draw(50)

    with pytest.raises(InputError, match="50 first answers are right and 0 wrong"):
        fit_confidence(replace(observations, correct=np.ones(50, dtype=bool)))


def test_a_precision_out_of_reach() -> None:
    correct = np.arange(100) % 2 == 0
    features = np.zeros((100, len(FEATURES)))

    with pytest.raises(InputError, match=r"no threshold reaches a precision of 0\.9"):
        fit_confidence(Observations(features, correct, correct | True), precision=0.9)


def test_nothing_is_answered_above_a_high_threshold() -> None:
    report = check_confidence(Calibration(Logistic(0, 0), threshold=0.9), draw(20))

    assert (report.answer_rate, report.precision, report.right_stated) == (0, 1, 0)
    assert report.unanswerable_refused == 1  # there are none


def test_observations_use_the_last_stage_only() -> None:
    texts = ("red", "a red cat here", "dog")
    candidates = tuple(Candidate(str(place), text) for place, text in enumerate(texts))
    example = Example("1", "red cat", candidates, (False, True, False))
    cascade = Cascade("two", [Stage(Jaccard(), 2), Stage(WordOverlap())])

    observations = observe(cascade, [example, Example("2", "q", (), ())])
    alone = observe(WordOverlap(), [example])

    # Overlaps 1 and 2 of the two that were kept; three candidates in all, and two in the first
    # stage: the winner shares 2 of 4 words there, the other 1 of 2.
    assert Features(*observations.features[0]) == Features(2, 1, np.log(3))
    assert observations.correct.tolist() == [True]
    assert observations.answerable.tolist() == [True]
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
