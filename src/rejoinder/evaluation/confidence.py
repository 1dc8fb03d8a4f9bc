"""Fits confidences, and measures how well they separate right answers from wrong ones.

A system that may abstain answers the questions it is most confident about.  The *answer
rate* is the share of questions it answers, the *precision* the share of those answers that
are correct.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rejoinder.cascade.calibration import Calibration
from rejoinder.errors import InputError

Confidences = NDArray[np.float64]
Features = NDArray[np.float64]
"""One row per question."""
Correct = NDArray[np.bool_]
"""For each question, whether the first candidate is an answer."""

BINS = 10
FOLDS = 5
RIDGE = 1e-3
"""Keeps weights finite if correct and wrong answers are perfectly separable."""


@dataclass(frozen=True, slots=True)
class Curve:
    """Precision against answer rate, from the most confident question to all of them."""

    rates: Confidences
    precisions: Confidences
    thresholds: Confidences
    """The confidence of the last question that is answered at that rate."""

    @property
    def area(self) -> float:
        """The mean precision over all answer rates."""
        return float(self.precisions.mean())


def trace_curve(confidences: Confidences, correct: Correct) -> Curve:
    """Return the curve; among equal confidences, wrong answers come first.

    >>> curve = trace_curve(np.array([0.9, 0.2, 0.6]), np.array([True, True, False]))
    >>> curve.precisions.tolist()  # 1/1, 1/2, 2/3
    [1.0, 0.5, 0.6666666666666666]
    """
    order = np.lexsort((correct, -confidences))
    answered = np.arange(1, len(order) + 1)
    precisions = np.cumsum(correct[order]) / answered
    return Curve(answered / len(order), precisions, confidences[order])


def measure_area_share(confidences: Confidences, correct: Correct) -> float:
    """Return the area under the curve as a share of the area of an oracle."""
    oracle = trace_curve(correct.astype(np.float64), correct).area
    return trace_curve(confidences, correct).area / oracle if oracle else 0.0


def measure_calibration_error(confidences: Confidences, correct: Correct) -> float:
    """Return the expected calibration error over bins of equal width.

    The mean distance between confidence and share of correct answers in a bin, weighted by
    the number of its questions (Guo et al. 2017, "On Calibration of Modern Neural Networks").
    """
    places = np.minimum((confidences * BINS).astype(np.int64), BINS - 1)
    gaps = np.bincount(places, confidences - correct, minlength=BINS)
    return float(np.abs(gaps).sum() / len(confidences))


def measure_log_loss(confidences: Confidences, correct: Correct) -> float:
    """Return the mean negative log-likelihood of the outcomes."""
    likelihoods = np.where(correct, confidences, 1 - confidences)
    return float(-np.log(np.maximum(likelihoods, 1e-12)).mean())


def find_threshold(curve: Curve, *, precision: float) -> float | None:
    """Return the lowest threshold that reaches this precision; None if none does."""
    # Questions of equal confidence are all answered, or none of them is.
    ends = np.append(curve.thresholds[1:] != curve.thresholds[:-1], True)
    enough = np.flatnonzero(ends & (curve.precisions >= precision))
    return float(curve.thresholds[enough[-1]]) if len(enough) else None


def find_threshold_for_rate(curve: Curve, rate: float) -> float:
    """Return the threshold at which at least this share of questions is answered."""
    place = int(np.searchsorted(curve.rates, rate - 1e-9))
    return float(curve.thresholds[min(place, len(curve.thresholds) - 1)])


def fit_logistic(features: Features, correct: Correct) -> Features:
    """Return the intercept and one weight per column, by Newton's method."""
    means, scales = features.mean(axis=0), features.std(axis=0)
    scales[scales == 0] = 1
    rows = np.column_stack([np.ones(len(features)), (features - means) / scales])
    weights = np.zeros(rows.shape[1])
    ridge = RIDGE * np.diag([0.0] + [1.0] * features.shape[1]) * len(rows)
    for _ in range(50):
        probabilities = sigmoid(rows @ weights)
        gradient = rows.T @ (probabilities - correct) + ridge @ weights
        hessian = (rows.T * (probabilities * (1 - probabilities) + 1e-9)) @ rows + ridge
        step = np.linalg.solve(hessian, gradient)
        weights -= step
        if np.abs(step).max() < 1e-8:
            break
    unscaled = weights[1:] / scales
    return np.array([weights[0] - unscaled @ means, *unscaled])


def fit_isotonic(values: Confidences, correct: Correct) -> list[tuple[float, float]]:
    """Return the knots of an isotonic regression, by pooling adjacent violators.

    A knot is the middle of its pool.  No confidence is 0 or 1: one more question could always
    turn out differently.
    """
    order = np.argsort(values, kind="stable")
    pools: list[list[float]] = []
    for value, is_correct in zip(values[order].tolist(), correct[order].tolist(), strict=True):
        pools.append([value, float(is_correct), 1.0])  # sums of values and of correct, and count
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            last = pools.pop()
            pools[-1] = [one + other for one, other in zip(pools[-1], last, strict=True)]
    least = 1 / (len(values) + 2)
    return [
        (total / size, min(max(count / size, least), 1 - least)) for total, count, size in pools
    ]


def sigmoid(values: Confidences) -> Confidences:
    """Return the logistic function, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Observations:
    """For each question the features of its scores, and whether its first answer is correct."""

    features: Features
    correct: Correct
    answerable: int
    """Number of questions with an answer among their candidates."""


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """The quality of a calibration on questions that it was not fitted to."""

    calibration: Calibration
    method: str
    questions: int
    answerable: int
    curve: Curve
    area_share: float
    """The area under the curve as a share of the oracle's."""
    calibration_error: float
    precision: float
    """Share of correct answers at or above the threshold; 1 if nothing is answered."""
    answer_rate: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types, the curve at 20 answer rates."""
        names = ("method", "questions", "answerable", "area_share", "calibration_error")
        places = np.linspace(0, len(self.curve.rates) - 1, 21).round().astype(int)[1:]
        columns = (self.curve.rates, self.curve.precisions, self.curve.thresholds)
        return {
            **{name: getattr(self, name) for name in names},
            "threshold": self.calibration.threshold,
            "precision": self.precision,
            "answer_rate": self.answer_rate,
            "curve": [
                dict(zip(("answer_rate", "precision", "threshold"), row, strict=True))
                for row in np.column_stack(columns)[places].tolist()
            ],
        }


def fit_confidence(
    observations: Observations, precision: float | None = None, answer_rate: float | None = None
) -> CalibrationReport:
    """Cross-validate every method, and fit the one with the lowest log loss to all questions.

    The figures are of the held-out folds: each question is rated by weights that were fitted
    to the other folds.  The threshold is the lowest that reaches the precision, or that at which
    the share `answer_rate` of the questions is answered; 0.5 if neither is given.
    """
    correct = observations.correct
    if min(correct.sum(), (~correct).sum()) < FOLDS:
        raise InputError(
            f"{correct.sum()} first answers are right and {(~correct).sum()} wrong;"
            f" calibration needs {FOLDS} of each"
        )
    held_out = {name: _rate_held_out(observations, fit) for name, fit in METHODS.items()}
    method = min(held_out, key=lambda name: measure_log_loss(held_out[name], correct))
    curve = trace_curve(held_out[method], correct)
    threshold = _choose_threshold(curve, precision, answer_rate)
    fitted = METHODS[method](observations.features, correct)
    calibration = replace(fitted, threshold=threshold)
    return _report(calibration, method, observations, held_out[method])


def check_confidence(calibration: Calibration, observations: Observations) -> CalibrationReport:
    """Return the figures of a calibration on questions that it was not fitted to."""
    confidences = _rate(calibration, observations.features)
    return _report(calibration, "as stored", observations, confidences)


def _report(
    calibration: Calibration, method: str, observations: Observations, confidences: Confidences
) -> CalibrationReport:
    correct = observations.correct
    answered = confidences >= calibration.threshold
    return CalibrationReport(
        calibration,
        method,
        len(correct),
        observations.answerable,
        trace_curve(confidences, correct),
        measure_area_share(confidences, correct),
        measure_calibration_error(confidences, correct),
        float(correct[answered].mean()) if answered.any() else 1.0,
        float(answered.mean()),
    )


def _fit_logistic(features: Features, correct: Correct) -> Calibration:
    return Calibration(*fit_logistic(features, correct).tolist())


def _fit_isotonic(features: Features, correct: Correct) -> Calibration:
    logistic = _fit_logistic(features, correct)
    values = logistic.intercept + features @ logistic.weights
    return replace(logistic, knots=tuple(fit_isotonic(values, correct)))


METHODS: dict[str, Callable[[Features, Correct], Calibration]] = {
    "logistic of the best score": lambda rows, correct: _fit_logistic(rows[:, :1], correct),
    "logistic of best score, margin and count": _fit_logistic,
    "isotonic over the logistic": _fit_isotonic,
}


def _rate_held_out(
    observations: Observations, fit: Callable[[Features, Correct], Calibration]
) -> Confidences:
    folds = np.random.default_rng(0).permutation(len(observations.correct)) % FOLDS
    confidences = np.empty(len(folds))
    for fold in range(FOLDS):
        held_out = folds == fold
        fitted = fit(observations.features[~held_out], observations.correct[~held_out])
        confidences[held_out] = _rate(fitted, observations.features[held_out])
    return confidences


def _rate(calibration: Calibration, features: Features) -> Confidences:
    return np.array([calibration.rate_features(row) for row in features])


def _choose_threshold(curve: Curve, precision: float | None, answer_rate: float | None) -> float:
    if answer_rate is not None:
        return find_threshold_for_rate(curve, answer_rate)
    if precision is None:
        return 0.5
    threshold = find_threshold(curve, precision=precision)
    if threshold is None:
        raise InputError(
            f"no threshold reaches a precision of {precision:g};"
            f" the best is {curve.precisions.max():.3f}"
        )
    return threshold
