"""Fits a scorer's confidence to the share of its first answers that are correct."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rejoinder.cascade.calibration import Calibration, Facts, get_features
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.file import (
    CascadeFile,
    StageLine,
    move_cascade_file,
    name_scorer,
    read_cascade_file,
    write_cascade_file,
)
from rejoinder.cascade.loading import load
from rejoinder.datasets.catalogue import open_for_tuning
from rejoinder.datasets.transforms.long_lists import extend_every_second
from rejoinder.datasets.transforms.unanswerable import remove_answers
from rejoinder.errors import InputError
from rejoinder.evaluation.confidence import (
    Confidences,
    Correct,
    Curve,
    Features,
    find_threshold,
    find_threshold_for_rate,
    fit_isotonic,
    fit_logistic,
    measure_area_share,
    measure_calibration_error,
    measure_log_loss,
    trace_curve,
)
from rejoinder.models.scorer import Scorer
from rejoinder.types import Example

FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrateOptions:
    """Options of `calibrate`."""

    to: Path | None = None
    """The cascade file to write; by default the scorer's own file."""
    unanswerable: float = 0.0
    """Share of the questions whose answers are removed, so that they have none."""
    size: int | None = None
    """Extend every second list to this many candidates, so that the fit covers long lists."""
    questions: int | None = None
    """Read only this many questions of each data set."""
    precision: float | None = None
    """Set the threshold to the lowest that reaches this precision."""
    answer_rate: float | None = None
    """Set the threshold so that this share of the questions is answered."""
    tests: Sequence[str | Path] = ()
    """Data sets to measure on without fitting, as NAME[:SPLIT] or files."""
    plot: Path | None = None
    """Write a plot of precision against answer rate."""
    folder: Path | None = None
    """The folder of data sets that is searched first."""


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


@dataclass(frozen=True, slots=True)
class CalibrateResult:
    """The fitted calibration, its figures, and the file that holds it."""

    fitted: CalibrationReport
    """On held-out folds of the questions it was fitted to."""
    reports: dict[str, CalibrationReport]
    """By data set: the fit first, then `CalibrateOptions.tests`."""
    path: Path | None
    """The cascade file that was written."""


def calibrate(
    scorer: str | Path | Scorer,
    datasets: Sequence[str | Path | Iterable[Example]],
    options: CalibrateOptions | None = None,
    *,
    on_progress: Callable[[int, int, str], None] = lambda *_: None,
) -> CalibrateResult:
    """Fit how likely the first candidate is an answer, and write it into a cascade file.

    Args:
        scorer: a name or path for `rejoinder.load`.  A scorer object has no name that a file
            could refer to: nothing is written for it.
        datasets: each NAME[:SPLIT], a JSON-lines file, or examples; by default the split is
            dev.  Some questions should have no answer: see `CalibrateOptions.unanswerable`.
        on_progress: called with the questions done, their number, and the data set.

    Raises:
        InputError: the options contradict each other, there is no file to write, there are too
            few correct or wrong answers, or no threshold reaches the precision.
        UnknownNameError: no scorer, data set or split has this name.
    """
    options = options or CalibrateOptions()
    if options.precision is not None and options.answer_rate is not None:
        raise InputError("give --precision or --answer-rate, not both")
    path = _choose_path(scorer, options.to)
    loaded = load(scorer) if isinstance(scorer, str | Path) else scorer

    def run(name: str, examples: Sequence[Example]) -> Observations:
        return observe(
            loaded, examples, on_question=lambda done: on_progress(done, len(examples), name)
        )

    names = [str(item) if isinstance(item, str | Path) else "examples" for item in datasets]
    observations = run("fitting", _read_all(datasets, options))
    fitted = fit_confidence(
        observations, precision=options.precision, answer_rate=options.answer_rate
    )
    fitted_to = names[0] if len(names) == 1 else f"{len(names)} data sets"
    reports = {f"{fitted_to} (held-out folds)": fitted}
    for test in options.tests:
        observations = run(str(test), _read(test, options))
        reports[str(test)] = check_confidence(fitted.calibration, observations)
    if path and isinstance(scorer, str | Path):
        _write(
            path, scorer, fitted, {"dataset": " ".join(names), "unanswerable": options.unanswerable}
        )
    if options.plot:
        from rejoinder.evaluation.plots import plot_curves

        plot_curves(options.plot, reports)
    return CalibrateResult(fitted, reports, path)


def observe(
    scorer: Scorer,
    examples: Iterable[Example],
    *,
    on_question: Callable[[int], None] = lambda _: None,
) -> Observations:
    """Rank each question that has candidates, and check whether the first one is an answer.

    Raises:
        InputError: no question has candidates.
    """
    cascade = scorer if isinstance(scorer, Cascade) else Cascade(scorer.name, [Stage(scorer)])
    last = len(cascade.stages) - 1
    rows, correct, answerable = [], [], 0
    for example in examples:
        if not example.candidates:
            continue
        staged = cascade.score_in_stages(example.question, example.candidates)
        rows.append(get_features(staged.scores[staged.stages == last], len(example.candidates)))
        correct.append(example.labels[int(staged.order[0])])
        answerable += any(example.labels)
        on_question(len(rows))
    if not rows:
        raise InputError("no question has candidates; a confidence cannot be measured")
    return Observations(np.array(rows), np.array(correct, dtype=bool), answerable)


def fit_confidence(
    observations: Observations,
    *,
    precision: float | None = None,
    answer_rate: float | None = None,
) -> CalibrationReport:
    """Cross-validate every method, and fit the one with the lowest log loss to all questions.

    The figures are of the held-out folds: each question is rated by weights that were fitted
    to the other folds.

    Args:
        precision: use the lowest threshold that reaches it; 0.5 if neither is given.
        answer_rate: use the threshold at which this share of questions is answered.

    Raises:
        InputError: there are too few correct or wrong answers, or no threshold reaches the
            precision.
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


def _choose_path(scorer: str | Path | Scorer, to: Path | None) -> Path | None:
    if not isinstance(scorer, str | Path):
        if to:
            raise InputError(f"cannot write {to}: give the scorer by its name or path")
        return None
    if to is None and Path(scorer).suffix != ".toml":
        raise InputError(f"{scorer} is not a cascade file; name the file to write with --to")
    return to or Path(scorer)


def _read(dataset: str | Path | Iterable[Example], options: CalibrateOptions) -> list[Example]:
    if isinstance(dataset, str | Path):
        dataset = open_for_tuning(dataset, options.folder)
    return list(islice(dataset, options.questions))


def _read_all(
    datasets: Iterable[str | Path | Iterable[Example]], options: CalibrateOptions
) -> list[Example]:
    examples: list[Example] = []
    for dataset in datasets:
        read = _read(dataset, options)
        examples += extend_every_second(read, size=options.size) if options.size else read
    return list(remove_answers(examples, share=options.unanswerable))


def _write(
    path: Path,
    scorer: str | Path,
    fitted: CalibrationReport,
    facts: Facts,
) -> None:
    source = Path(scorer)
    if source.suffix == ".toml":
        cascade = move_cascade_file(read_cascade_file(source), source.parent, path.parent)
    else:
        cascade = CascadeFile(path.stem, (StageLine(name_scorer(scorer, path.parent)),))
    facts = {
        **facts,
        "questions": fitted.questions,
        "answerable": fitted.answerable,
        "method": fitted.method,
        "precision": round(fitted.precision, 4),
        "answer_rate": round(fitted.answer_rate, 4),
        "area_share": round(fitted.area_share, 4),
        "calibration_error": round(fitted.calibration_error, 4),
    }
    calibration = replace(fitted.calibration, facts=facts)
    write_cascade_file(path, replace(cascade, calibration=calibration))


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


def _fit_best_score(features: Features, correct: Correct) -> Calibration:
    return Calibration(*fit_logistic(features[:, :1], correct).tolist())


def _fit_all_features(features: Features, correct: Correct) -> Calibration:
    return Calibration(*fit_logistic(features, correct).tolist())


def _fit_isotonic(features: Features, correct: Correct) -> Calibration:
    logistic = _fit_all_features(features, correct)
    values = logistic.intercept + features @ logistic.weights
    return replace(logistic, knots=tuple(fit_isotonic(values, correct)))


METHODS: dict[str, Callable[[Features, Correct], Calibration]] = {
    "logistic of the best score": _fit_best_score,
    "logistic of best score, margin and count": _fit_all_features,
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
