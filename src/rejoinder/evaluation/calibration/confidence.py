"""Fits confidences, and measures how well they separate right answers from wrong ones.

A system that may abstain answers the questions it is most confident about.  The *answer
rate* is the share of questions it answers, the *precision* the share of those answers that
are correct.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from rejoinder.cascade.calibration import FEATURES, Calibration, Features, Logistic
from rejoinder.errors import InputError

Confidences = NDArray[np.float64]
Rows = NDArray[np.float64]
"""One row of `Features` per question."""
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


def fit_logistic(features: Rows, correct: Correct) -> Rows:
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


def sigmoid(values: Confidences) -> Confidences:
    """Return the logistic function, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(values / 2)), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Observations:
    """What was observed of each question."""

    features: Rows
    correct: Correct
    answerable: Correct
    """Whether any of its candidates is an answer."""


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    """The quality of a calibration on questions that it was not fitted to."""

    calibration: Calibration
    method: str
    questions: int
    answerable: int
    """Number of questions with an answer among their candidates."""
    curve: Curve
    """By confidence."""
    area_share: float
    """The area under the curve as a share of the oracle's."""
    calibration_error: float
    """Of the confidence."""
    precision: float
    """Share of correct answers where it does not abstain; 1 if nothing is answered."""
    answer_rate: float
    right_stated: float
    """Share of the correct first answers where it does not abstain; 1 if there are none."""
    unanswerable_refused: float
    """Share of the questions without an answer where it abstains; 1 if there are none."""

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types, the curve at 20 answer rates."""
        figures = (
            *("method", "questions", "answerable", "area_share", "calibration_error"),
            *("precision", "answer_rate", "right_stated", "unanswerable_refused"),
        )
        places = np.linspace(0, len(self.curve.rates) - 1, 21).round().astype(int)[1:]
        columns = (self.curve.rates, self.curve.precisions, self.curve.thresholds)
        return {
            **{name: getattr(self, name) for name in figures},
            "threshold": self.calibration.threshold,
            "curve": [
                dict(zip(("answer_rate", "precision", "threshold"), row, strict=True))
                for row in np.column_stack(columns)[places].tolist()
            ],
        }


def fit_confidence(
    observations: Observations, precision: float | None = None, answer_rate: float | None = None
) -> CalibrationReport:
    """Cross-validate every method, and fit the one with the lowest log loss to all questions.

    The answerability is fitted too, if some questions have an answer and some have none.  The
    figures are of the held-out folds: each question is rated by weights that were fitted to the
    other folds.  The threshold is the lowest that reaches the precision, or that at which the
    share `answer_rate` of the questions is answered; 0.5 if neither is given.
    """
    rows, correct, answerable = observations.features, observations.correct, observations.answerable
    if _count_rarer(correct) < FOLDS:
        raise InputError(
            f"{correct.sum()} first answers are right and {(~correct).sum()} wrong;"
            f" calibration needs {FOLDS} of each"
        )
    held_out = {
        name: _rate_held_out(rows, correct, lambda *fold, fit=fit: fit(*fold).rate)
        for name, fit in METHODS.items()
    }
    method = min(held_out, key=lambda name: measure_log_loss(held_out[name], correct))
    fitted, decisive = METHODS[method](rows, correct), held_out[method]
    if _count_rarer(answerable) >= FOLDS:
        fitted = structs.replace(fitted, answerability=_fit_answerability(rows, answerable))
        decisive = _rate_held_out(rows, answerable, lambda *fold: _fit_answerability(*fold).rate)
    threshold = _choose_threshold(trace_curve(decisive, correct), precision, answer_rate)
    calibration = structs.replace(fitted, threshold=threshold)
    is_stated = decisive >= threshold
    return _report(calibration, method, observations, held_out[method], is_stated)


def check_confidence(calibration: Calibration, observations: Observations) -> CalibrationReport:
    """Return the figures of a calibration on questions that it was not fitted to."""
    confidences = _rate(calibration.rate, observations.features)
    abstains = [calibration.abstains(Features(*row)) for row in observations.features]
    return _report(calibration, "as stored", observations, confidences, ~np.array(abstains))


def _count_rarer(labels: Correct) -> int:
    """Return the number of those that are true, or not, whichever is less."""
    return int(min(labels.sum(), (~labels).sum()))


def _report(
    calibration: Calibration,
    method: str,
    observations: Observations,
    confidences: Confidences,
    is_stated: Correct,
) -> CalibrationReport:
    correct, answerable = observations.correct, observations.answerable
    return CalibrationReport(
        calibration,
        method,
        len(correct),
        int(answerable.sum()),
        trace_curve(confidences, correct),
        measure_area_share(confidences, correct),
        measure_calibration_error(confidences, correct),
        precision=_share(correct, is_stated),
        answer_rate=float(is_stated.mean()),
        right_stated=_share(is_stated, correct),
        unanswerable_refused=_share(~is_stated, ~answerable),
    )


def _share(is_so: Correct, among: Correct) -> float:
    return float(is_so[among].mean()) if among.any() else 1.0


def _fit_columns(names: Sequence[str]) -> Callable[[Rows, Correct], Calibration]:
    """Return a method: a logistic function of some features."""
    places = [FEATURES.index(name) for name in names]

    def fit(features: Rows, correct: Correct) -> Calibration:
        intercept, *weights = fit_logistic(features[:, places], correct).tolist()
        return Calibration(Logistic(intercept, **dict(zip(names, weights, strict=True))))

    return fit


def _fit_answerability(features: Rows, answerable: Correct) -> Logistic:
    """Return a logistic function of the best candidate's own score, count, rank and headings.

    Without its document prior, which compares the documents with one another: one is always best.
    """
    best, _, counts, priors, ranks, headed = features.T
    columns = np.column_stack([best - priors, counts, ranks, headed])
    intercept, own, count, rank, headings = fit_logistic(columns, answerable).tolist()
    return Logistic(intercept, own, count=count, prior=-own, rank=rank, headings=headings)


CONFIDENCE = ("best", "margin", "count", "prior", "rank")
METHODS: dict[str, Callable[[Rows, Correct], Calibration]] = {
    "logistic of the best score": _fit_columns(("best",)),
    "logistic of best score, margin, count, prior and rank": _fit_columns(CONFIDENCE),
}


def _rate_held_out(
    rows: Rows, labels: Correct, fit: Callable[[Rows, Correct], Callable[[Features], float]]
) -> Confidences:
    """Return the probability of each row, by a function that was fitted to the other folds."""
    folds = np.random.default_rng(0).permutation(len(labels)) % FOLDS
    rated = np.empty(len(folds))
    for fold in range(FOLDS):
        held_out = folds == fold
        rated[held_out] = _rate(fit(rows[~held_out], labels[~held_out]), rows[held_out])
    return rated


def _rate(rate: Callable[[Features], float], rows: Rows) -> Confidences:
    return np.array([rate(Features(*row)) for row in rows.tolist()])


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
