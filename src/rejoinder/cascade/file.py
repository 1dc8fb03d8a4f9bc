"""A cascade as a small TOML file that people read, write and share.

    name = "two-stages"

    [[stage]]
    scorer = "jaccard"          # a name of `rejoinder models list`
    keep = 100
    document_prior = 0.5        # optional: how much a document's best sentence here counts later
    cost = { fixed_ms = 0.1, candidate_ms = 0.01, word_ms = 0.0002 }    # optional

    [[stage]]
    scorer = "models/selector"  # or a bundle's folder, from where this file is
    missing = "leave"           # optional, of a scorer that reads a sidecar, such as HAS: leave
                                # candidates without stored rows to the next stage, unscored;
                                # "encode" encodes them now

`[calibration]` (from `rejoinder calibrate`), `[tuned]` and `[[frontier]]` (from `rejoinder tune`)
may follow.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path

from rejoinder.cascade.calibration import Calibration, Facts
from rejoinder.cascade.cascade import Cascade, Stage, check_keeps
from rejoinder.cascade.cost import Cost
from rejoinder.cascade.toml import Table, quote_key, read_toml, show
from rejoinder.errors import DataError, InputError, RejoinderError
from rejoinder.models.registry import list_names
from rejoinder.models.scorer import Scorer
from rejoinder.storage.atomic import writing_whole

MISSING = ("encode", "leave")
WEIGHTS = ("intercept", "best", "margin", "count", "threshold")


@dataclass(frozen=True, slots=True)
class StageLine:
    """A stage as the file has it: the scorer by its name, or by its bundle's path."""

    scorer: str
    keep: int | None = None
    cost: Cost | None = None
    document_prior: float = 0.0
    leaves_missing: bool = False
    """Whether a candidate that its store does not have is left to the next stage."""


@dataclass(frozen=True, slots=True)
class Point:
    """A cascade that nothing beat when the stages were chosen."""

    cascade: str
    """Its stages in one line: jaccard 100 > selector."""
    accuracy: float
    """P@1, in points of 100."""
    predicted_ms: float


@dataclass(frozen=True, slots=True)
class CascadeFile:
    """What the file says; paths of bundles are as in the file, from its folder."""

    name: str
    stages: tuple[StageLine, ...]
    calibration: Calibration | None = None
    tuned: Facts = field(default_factory=dict)
    """What the stages were chosen on."""
    frontier: tuple[Point, ...] = ()
    """What they were chosen from, fastest first."""


def read_cascade_file(path: Path) -> CascadeFile:
    """Read a cascade without opening its bundles.

    Raises:
        DataError: the file is missing, or something in it cannot be.
    """
    table = read_toml(path, "the cascade")
    stages = tuple(_read_stage(row) for row in table.take_tables("stage"))
    calibration = table.take_table("calibration")
    tuned = table.take_table("tuned")
    frontier = tuple(_read_point(row) for row in table.take_tables("frontier"))
    name = table.take("name", str, path.stem)
    table.refuse_rest()
    try:
        check_keeps([stage.keep for stage in stages])
    except InputError as error:
        raise DataError(str(error), path=path) from error
    return CascadeFile(
        name,
        stages,
        None if calibration is None else _read_calibration(calibration),
        tuned.fields if tuned else {},
        frontier,
    )


def write_cascade_file(path: Path, cascade: CascadeFile) -> None:
    """Write the file, whole or not at all.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing_whole(path) as file:
            file.write(to_toml(cascade).encode())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def to_toml(cascade: CascadeFile) -> str:
    """Return the file's text, which `read_cascade_file` reads back equal."""
    lines = [f"name = {show(cascade.name)}"]
    for stage in cascade.stages:
        lines += ["", "[[stage]]", f"scorer = {show(stage.scorer)}"]
        if stage.keep is not None:
            lines.append(f"keep = {stage.keep}")
        if stage.document_prior:
            lines.append(f"document_prior = {stage.document_prior!r}")
        if stage.cost is not None:
            lines.append(f"cost = {show(stage.cost.to_dict())}")
        if stage.leaves_missing:
            lines.append('missing = "leave"')
    if calibration := cascade.calibration:
        lines += ["", "[calibration]"]
        lines += [f"{name} = {show(getattr(calibration, name))}" for name in WEIGHTS]
        if calibration.knots:
            lines.append(f"knots = {show(calibration.knots)}")
        lines.append(f"facts = {show(calibration.facts)}")
    if cascade.tuned:
        lines += [
            "",
            "[tuned]",
            *(f"{quote_key(key)} = {show(item)}" for key, item in cascade.tuned.items()),
        ]
    for point in cascade.frontier:
        lines += [
            "",
            "[[frontier]]",
            f"cascade = {show(point.cascade)}",
            f'"P@1" = {show(point.accuracy)}',
            f"predicted_ms = {show(point.predicted_ms)}",
        ]
    return "\n".join(lines) + "\n"


def open_cascade(path: Path, *, load: Callable[[str | Path], Scorer]) -> Cascade:
    """Read a cascade and load its scorers.

    Args:
        load: turns a name, or a bundle's folder, into a scorer.

    Raises:
        DataError: the file cannot be read, or names what is not there.
    """
    found = read_cascade_file(path)
    stages = []
    for number, stage in enumerate(found.stages, start=1):
        try:
            scorer = load(find_scorer(stage.scorer, path.parent))
            if stage.leaves_missing:
                scorer = _leave_missing(scorer)
        except RejoinderError as error:
            raise DataError(f"stage {number}: {error}", path=path) from error
        stages.append(Stage(scorer, stage.keep, stage.cost, stage.document_prior))
    return Cascade(found.name, stages, calibration=found.calibration)


def _leave_missing(scorer: Scorer) -> Scorer:
    leave_missing: Callable[[], Scorer] | None = getattr(scorer, "leave_missing", None)
    if leave_missing is None:
        raise InputError(f"missing: {scorer.name} reads no stored rows; leave it out")
    return leave_missing()


def find_scorer(name: str, folder: Path) -> str | Path:
    """Return what a stage means by a scorer: one that has a name, or a bundle from the folder.

    Raises:
        InputError: there is neither.
    """
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
    """Return how a file in the folder names a scorer: the inverse of `find_scorer`."""
    if str(scorer) in list_names():
        return str(scorer)
    return Path(os.path.relpath(Path(scorer).resolve(), folder.resolve())).as_posix()


def move_cascade_file(cascade: CascadeFile, old: Path, new: Path) -> CascadeFile:
    """Return the cascade as a file in another folder says it: paths lead to the same bundles."""
    stages = [
        replace(stage, scorer=name_scorer(find_scorer(stage.scorer, old), new))
        for stage in cascade.stages
    ]
    return replace(cascade, stages=tuple(stages))


def _read_stage(table: Table) -> StageLine:
    scorer = table.take("scorer", str)
    keep = table.take("keep", int, None)
    document_prior = table.take_number("document_prior", 0.0)
    cost = table.take_table("cost")
    missing = table.take("missing", str, "encode")
    table.refuse_rest()
    if missing not in MISSING:
        raise table.error(f"missing cannot be {missing!r}: it is {' or '.join(MISSING)}")
    if not 0 <= document_prior < inf:
        raise table.error(f"document_prior cannot be {document_prior}")
    known_cost = None if cost is None else _read_cost(cost)
    return StageLine(scorer, keep, known_cost, document_prior, leaves_missing=missing == "leave")


def _read_cost(table: Table) -> Cost:
    cost = Cost(*(table.take_number(name, 0.0) for name in Cost.__slots__))
    table.refuse_rest()
    if min(cost.fixed_ms, cost.candidate_ms, cost.word_ms) < 0:
        raise table.error("no part of a cost can be negative")
    return cost


def _read_calibration(table: Table) -> Calibration:
    weights = {name: table.take_number(name) for name in WEIGHTS}
    knots = table.take("knots", list, [])
    facts = table.take_table("facts")
    table.refuse_rest()
    try:
        points = tuple((float(value), float(confidence)) for value, confidence in knots)
    except (TypeError, ValueError) as error:
        raise table.error("knots must be pairs of numbers") from error
    return Calibration(**weights, knots=points, facts=facts.fields if facts else {})


def _read_point(table: Table) -> Point:
    point = Point(
        table.take("cascade", str), table.take_number("P@1"), table.take_number("predicted_ms")
    )
    table.refuse_rest()
    return point
