"""Fits a scorer's confidence to the share of its first answers that are correct."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from msgspec import structs

from rejoinder.cascade.calibration import Facts
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
from rejoinder.evaluation.calibration.confidence import (
    CalibrationReport,
    Observations,
    check_confidence,
    fit_confidence,
)
from rejoinder.evaluation.calibration.stopping import StopReport, cache_scores, fit_stops
from rejoinder.models.scorer import Scorer
from rejoinder.types import Example


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
    stop: float | None = None
    """Also fit when the last stage stops reading, and those that read passages: once the
    probability that an unread candidate wins is at most this."""
    plot: Path | None = None
    """Write a plot of precision against answer rate."""
    folder: Path | None = None
    """The folder of data sets that is searched first."""


@dataclass(frozen=True, slots=True)
class CalibrateResult:
    """The fitted calibration, its figures, and the file that holds it."""

    fitted: CalibrationReport
    """On held-out folds of the questions it was fitted to."""
    reports: dict[str, CalibrationReport]
    """By data set: the fit first, then `CalibrateOptions.tests`."""
    path: Path | None
    """The cascade file that was written."""
    stop: StopReport | None = None
    """When stages stop reading, if that was fitted."""


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
        raise InputError("give a precision or an answer rate, not both")
    path = _choose_path(scorer, options.to)
    loaded = load(scorer) if isinstance(scorer, str | Path) else scorer

    def run(name: str, examples: Sequence[Example]) -> Observations:
        return observe(loaded, examples, lambda done: on_progress(done, len(examples), name))

    names = [str(item) if isinstance(item, str | Path) else "examples" for item in datasets]
    examples = _read_all(datasets, options)
    stop = None
    if options.stop is not None:
        loaded = cache_scores(loaded)
        stop = fit_stops(loaded, examples, options.stop)
    observations = run("fitting", examples)
    fitted = fit_confidence(observations, options.precision, options.answer_rate)
    fitted_to = names[0] if len(names) == 1 else f"{len(names)} data sets"
    reports = {f"{fitted_to} (held-out folds)": fitted}
    for test in options.tests:
        observations = run(str(test), _read(test, options))
        reports[str(test)] = check_confidence(fitted.calibration, observations)
    if path and isinstance(scorer, str | Path):
        facts: Facts = {"dataset": " ".join(names), "unanswerable": options.unanswerable}
        _write(path, scorer, fitted, facts, stop)
    if options.plot:
        from rejoinder.evaluation.plots import plot_curves

        plot_curves(options.plot, reports)
    return CalibrateResult(fitted, reports, path, stop)


def observe(
    scorer: Scorer, examples: Iterable[Example], on_question: Callable[[int], None] = lambda _: None
) -> Observations:
    """Rank each question that has candidates, and check whether the first one is an answer."""
    cascade = scorer if isinstance(scorer, Cascade) else Cascade(scorer.name, [Stage(scorer)])
    rows, correct, answerable = [], [], []
    for example in examples:
        staged, features = cascade.observe(example.question, example.candidates)
        if features is None:
            continue  # there are no candidates
        rows.append(astuple(features))
        correct.append(example.labels[int(staged.order[0])])
        answerable.append(any(example.labels))
        on_question(len(rows))
    if not rows:
        raise InputError("no question has candidates; a confidence cannot be measured")
    return Observations(np.array(rows), np.array(correct), np.array(answerable))


def _choose_path(scorer: str | Path | Scorer, to: Path | None) -> Path | None:
    if not isinstance(scorer, str | Path):
        if to:
            raise InputError(f"cannot write {to}: give the scorer by its name or path")
        return None
    if to is None and Path(scorer).suffix != ".toml":
        raise InputError(f"{scorer} is not a cascade file; name the file to write")
    return to or Path(scorer)


def _read(dataset: str | Path | Iterable[Example], options: CalibrateOptions) -> list[Example]:
    return list(islice(open_for_tuning(dataset, options.folder), options.questions))


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
    stop: StopReport | None,
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
        "right_stated": round(fitted.right_stated, 4),
        "unanswerable_refused": round(fitted.unanswerable_refused, 4),
        "area_share": round(fitted.area_share, 4),
        "calibration_error": round(fitted.calibration_error, 4),
    }
    if stop:
        facts = {
            **facts,
            **{f"stop_{item.number}_read": round(item.read, 2) for item in stop.stages},
            **{f"stop_{item.number}_given": round(item.given, 2) for item in stop.stages},
            "stop_right": round(stop.accuracy, 4),
            "stop_right_of_all": round(stop.accuracy_of_all, 4),
        }
        rules = {item.number: item.rule for item in stop.stages}
        stages = tuple(
            structs.replace(stage, stop=rules.get(number))
            for number, stage in enumerate(cascade.stages, start=1)
        )
        cascade = structs.replace(cascade, stages=stages)
    calibration = structs.replace(fitted.calibration, facts=facts)
    write_cascade_file(path, structs.replace(cascade, calibration=calibration))
