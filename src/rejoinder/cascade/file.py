"""The cascade file: a small TOML file that people read, write and share.

    name = "two-stages"

    [[stage]]
    scorer = "jaccard"          # a name of `rejoinder models list`
    keep = 100
    keep_for_one = 50           # optional: the same where only one answer is wanted
    document_prior = 0.5        # optional: weight of a document's best score here in later stages
    cost = { fixed_ms = 0.1, candidate_ms = 0.01, word_ms = 0.0002 }    # optional

    [[stage]]
    scorer = "models/selector"  # or the folder of a bundle, relative to this file
    fusion = 1.0                # optional: weight of the scores of the stage before in this one's
                                # (`interpolation`: the same, without standardising them)
    missing = "leave"           # for scorers that read a sidecar, such as HAS: pass candidates
                                # without stored rows to the next stage; "encode" encodes them
    reads = "passage"           # optional: score a candidate by its passage, not by its sentence
    stop = { risk = 0.1, … }    # optional, after the first stage: where one answer is wanted, stop
                                # reading once no other is likely to win (`rejoinder calibrate`)

`[calibration]` (from `rejoinder calibrate`), `[sentences]` (from `rejoinder calibrate
--sentences`), `[tuned]` and `[[frontier]]` (from `rejoinder tune`) may follow.
"""

import os
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct, field
from msgspec.structs import asdict, astuple, replace

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.calibration import Calibration, Facts, Logistic, SentenceCalibration
from rejoinder.cascade.cascade import check_keeps, check_stops
from rejoinder.cascade.stopping import StoppingRule
from rejoinder.errors import DataError, InputError
from rejoinder.models.registry import list_names
from rejoinder.storage.files import atomic_write
from rejoinder.storage.typed import read_toml
from rejoinder.storage.typed import to_toml as show

Weight = Annotated[float, Meta(ge=0, lt=1e9)]  # not infinite


class StageLine(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A stage of the file; the scorer is a name or the path of a bundle."""

    scorer: str
    keep: int | None = None
    cost: Cost | None = None
    document_prior: Weight = 0.0
    fusion: Weight = 0.0
    interpolation: Weight = 0.0
    missing: Literal["encode", "leave"] = "encode"
    """Whether candidates without stored rows are encoded, or left to the next stage."""
    reads: Literal["sentence", "passage"] = "sentence"
    """What is scored of a candidate."""
    stop: StoppingRule | None = None
    """When it stops reading; None to read all that it gets."""
    keep_for_one: int | None = None
    """How many it keeps where one answer is wanted; None for as many as usual."""


class Point(Struct, frozen=True):
    """A Pareto-optimal cascade of the tuning run."""

    cascade: str
    """Its stages on one line: jaccard 100 > selector."""
    accuracy: float
    """P@1, in percent."""
    predicted_ms: float


class CascadeFile(Struct, frozen=True):
    """The content of the file; paths of bundles are relative to its folder."""

    name: str
    stages: tuple[StageLine, ...]
    calibration: Calibration | None = None
    tuned: Facts = {}
    """The protocol of the tuning run."""
    frontier: tuple[Point, ...] = ()
    """The cascades that tuning chose from, fastest first."""
    sentences: SentenceCalibration | None = None


class _CalibrationTable(Logistic, frozen=True, kw_only=True):
    """The table of a calibration: the weights of its confidence stand beside its settings."""

    threshold: float
    answerability: Logistic | None = None
    knots: tuple[tuple[float, float], ...] = ()
    facts: Facts = field(default_factory=dict)


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of `[[frontier]]`."""

    cascade: str
    accuracy: float = field(name="P@1")
    predicted_ms: float


class _Tables(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The tables of the file."""

    name: str = ""
    stage: tuple[StageLine, ...] = ()
    calibration: _CalibrationTable | None = None
    sentences: SentenceCalibration | None = None
    tuned: Facts = {}
    frontier: tuple[_Row, ...] = ()


def read_cascade_file(path: Path) -> CascadeFile:
    """Read a cascade without opening its bundles.

    Raises:
        DataError: the file is missing or invalid.
    """
    tables = read_toml(path, _Tables)
    try:
        for number, stage in enumerate(tables.stage, start=1):
            if stage.keep_for_one is not None and not 1 <= stage.keep_for_one <= (stage.keep or 0):
                raise InputError(
                    f"stage {number}: keep_for_one cannot be {stage.keep_for_one}: it is 1 to keep"
                )
            if stage.fusion and stage.interpolation:
                raise InputError(
                    f"stage {number}: fusion and interpolation exclude each other; remove one"
                )
        check_keeps([stage.keep for stage in tables.stage])
        check_keeps([stage.keep_for_one or stage.keep for stage in tables.stage])
        check_stops([stage.stop for stage in tables.stage])
    except InputError as error:
        raise DataError(str(error), path=path) from error
    return CascadeFile(
        tables.name or path.stem,
        tables.stage,
        None if tables.calibration is None else _to_calibration(tables.calibration),
        tables.tuned,
        tuple(Point(*astuple(row)) for row in tables.frontier),
        tables.sentences,
    )


def write_cascade_file(path: Path, cascade: CascadeFile) -> None:
    """Write the file atomically."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            file.write(to_toml(cascade).encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def to_toml(cascade: CascadeFile) -> str:
    """Return the text of the file; `read_cascade_file` reads back an equal value."""
    return show(
        _Tables(
            cascade.name,
            cascade.stages,
            None if cascade.calibration is None else _to_table(cascade.calibration),
            cascade.sentences,
            cascade.tuned,
            tuple(_Row(*astuple(point)) for point in cascade.frontier),
        )
    )


def _to_calibration(table: _CalibrationTable) -> Calibration:
    fields = asdict(table)
    confidence = Logistic(**{name: fields.pop(name) for name in Logistic.__struct_fields__})
    return Calibration(confidence, **fields)


def _to_table(calibration: Calibration) -> _CalibrationTable:
    fields = asdict(calibration)
    return _CalibrationTable(**asdict(fields.pop("confidence")), **fields)


def find_scorer(name: str, folder: Path) -> str | Path:
    """Resolve the scorer of a stage: a known name, or the path of a bundle in the folder."""
    named = list_names()
    if name in named:
        return name
    place = folder / name
    if not place.exists():
        raise InputError(
            f"no scorer is called {name!r}, and there is no bundle {place};"
            f" named scorers: {', '.join(named)}"
        )
    return place


def name_scorer(scorer: str | Path, folder: Path) -> str:
    """Return the name of a scorer for a file in the folder: the inverse of `find_scorer`."""
    if str(scorer) in list_names():
        return str(scorer)
    return Path(os.path.relpath(Path(scorer).resolve(), folder.resolve())).as_posix()


def move_cascade_file(cascade: CascadeFile, old: Path, new: Path) -> CascadeFile:
    """Rewrite the paths of bundles for a file in another folder."""
    stages = [
        replace(stage, scorer=name_scorer(find_scorer(stage.scorer, old), new))
        for stage in cascade.stages
    ]
    return replace(cascade, stages=tuple(stages))
