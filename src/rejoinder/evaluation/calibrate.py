"""Fits a scorer's confidence to how often its first answer is right."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rejoinder.cascade.calibration import Calibration, get_features
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.errors import InputError
from rejoinder.evaluation.confidence import (
    Confidences,
    Curve,
    Rights,
    compare_with_oracle,
    find_threshold,
    find_threshold_for_rate,
    measure_calibration_error,
    trace_curve,
)
from rejoinder.evaluation.logistic import (
    Features,
    fit_logistic,
    fit_rising,
    measure_log_loss,
)
from rejoinder.models.scorer import Scorer
from rejoinder.types import Example

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Observed:
    """Of each question what the last stage knew, and whether the first candidate was right."""

    features: Features
    rights: Rights
    answerable: int
    """Questions that have an answer among their candidates."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """How good a confidence is on questions that it was not fitted to."""

    calibration: Calibration
    method: str
    questions: int
    answerable: int
    curve: Curve
    area_share: float
    """The area under the curve as a share of the oracle's."""
    calibration_error: float
    precision: float
    """Share of right answers at or above the threshold; 1 where nothing is answered."""
    answer_rate: float

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain JSON types, the curve at 20 answer rates."""
        names = ("method", "questions", "answerable", "area_share", "calibration_error")
        places = np.linspace(0, len(self.curve.rates) - 1, 21).round().astype(int)[1:]
        return {
            **{name: getattr(self, name) for name in names},
            "threshold": self.calibration.threshold,
            "precision": self.precision,
            "answer_rate": self.answer_rate,
            "curve": [
                {
                    "answer_rate": float(self.curve.rates[place]),
                    "precision": float(self.curve.precisions[place]),
                    "threshold": float(self.curve.thresholds[place]),
                }
                for place in places
            ],
        }


def observe(
    scorer: Scorer,
    examples: Iterable[Example],
    *,
    on_question: Callable[[int], None] = lambda _: None,
) -> Observed:
    """Rank each question that has candidates, and look whether the first one is an answer.

    Raises:
        InputError: no question has candidates.
    """
    cascade = scorer if isinstance(scorer, Cascade) else Cascade(scorer.name, [Stage(scorer)])
    last = len(cascade.stages) - 1
    rows, rights, answerable = [], [], 0
    for example in examples:
        if not example.candidates:
            continue
        staged = cascade.score_in_stages(example.question, example.candidates)
        rows.append(get_features(staged.scores[staged.stages == last], len(example.candidates)))
        rights.append(example.labels[int(staged.order[0])])
        answerable += any(example.labels)
        on_question(len(rows))
    if not rows:
        raise InputError("no question has candidates; a confidence cannot be measured")
    return Observed(np.array(rows), np.array(rights, dtype=bool), answerable)


def calibrate(
    observed: Observed, *, precision: float | None = None, answer_rate: float | None = None
) -> Calibrated:
    """Fit every method, take the one with the lowest log loss on folds held out, fit it to all.

    The figures are of the folds: each question is rated by weights that have not seen it.

    Args:
        precision: the threshold is the lowest that reaches it; 0.5 where neither is given.
        answer_rate: the threshold is the one at which this share of questions is answered.

    Raises:
        InputError: right or wrong answers are missing, or no threshold reaches the precision.
    """
    rights = observed.rights
    if min(rights.sum(), (~rights).sum()) < FOLDS:
        raise InputError(
            f"{rights.sum()} first answers are right and {(~rights).sum()} wrong;"
            f" calibration needs {FOLDS} of each"
        )
    held_out = {name: _rate_held_out(observed, fit) for name, fit in METHODS.items()}
    method = min(held_out, key=lambda name: measure_log_loss(held_out[name], rights))
    curve = trace_curve(held_out[method], rights)
    threshold = _choose_threshold(curve, precision, answer_rate)
    fitted = METHODS[method](observed.features, rights)
    calibration = replace(fitted, threshold=threshold)
    return _report(calibration, method, observed, held_out[method])


def check(calibration: Calibration, observed: Observed) -> Calibrated:
    """Return the figures of a calibration on questions that it has never seen."""
    return _report(calibration, "as stored", observed, _rate(calibration, observed.features))


def _report(
    calibration: Calibration, method: str, observed: Observed, confidences: Confidences
) -> Calibrated:
    answered = confidences >= calibration.threshold
    return Calibrated(
        calibration,
        method,
        len(observed.rights),
        observed.answerable,
        trace_curve(confidences, observed.rights),
        compare_with_oracle(confidences, observed.rights),
        measure_calibration_error(confidences, observed.rights),
        float(observed.rights[answered].mean()) if answered.any() else 1.0,
        float(answered.mean()),
    )


def _fit_best(features: Features, rights: Rights) -> Calibration:
    return Calibration(*fit_logistic(features[:, :1], rights).tolist())


def _fit_all(features: Features, rights: Rights) -> Calibration:
    return Calibration(*fit_logistic(features, rights).tolist())


def _fit_rising(features: Features, rights: Rights) -> Calibration:
    logistic = _fit_all(features, rights)
    values = logistic.intercept + features @ logistic.weights
    return replace(logistic, knots=tuple(fit_rising(values, rights)))


METHODS: dict[str, Callable[[Features, Rights], Calibration]] = {
    "logistic of the best score": _fit_best,
    "logistic of best score, margin and count": _fit_all,
    "isotonic over the logistic": _fit_rising,
}


def _rate_held_out(
    observed: Observed, fit: Callable[[Features, Rights], Calibration]
) -> Confidences:
    folds = np.random.default_rng(0).permutation(len(observed.rights)) % FOLDS
    confidences = np.empty(len(folds))
    for fold in range(FOLDS):
        own = folds == fold
        fitted = fit(observed.features[~own], observed.rights[~own])
        confidences[own] = _rate(fitted, observed.features[own])
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
