"""The cascade file: a small TOML file that people read, write and share.

    name = "two-stages"

    [[stage]]
    scorer = "jaccard"          # a name of `rejoinder models list`
    keep = 100
    document_prior = 0.5        # optional: weight of a document's best score here in later stages
    cost = { fixed_ms = 0.1, candidate_ms = 0.01, word_ms = 0.0002 }    # optional

    [[stage]]
    scorer = "models/selector"  # or the folder of a bundle, relative to this file
    fusion = 1.0                # optional: weight of the scores of the stage before in this one's
                                # (`interpolation`: the same, without standardising them)
    missing = "leave"           # for scorers that read a sidecar, such as HAS: pass candidates
                                # without stored rows to the next stage; "encode" encodes them
    reads = "passage"           # optional: score a candidate by its passage, not by its sentence
    stop = { risk = 0.1, … }    # optional, for the last stage: where one answer is wanted, stop
                                # reading once no other is likely to win (`rejoinder calibrate`)

`[calibration]` (from `rejoinder calibrate`), `[sentences]` (from `rejoinder calibrate
--sentences`), `[tuned]` and `[[frontier]]` (from `rejoinder tune`) may follow.
"""

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf
from pathlib import Path
from typing import Any

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.calibration import (
    Calibration,
    Facts,
    Logistic,
    SentenceCalibration,
    StageCalibration,
)
from rejoinder.cascade.cascade import check_keeps, check_stops
from rejoinder.cascade.stopping import BATCH, FIRST, PROGRESS, StoppingRule
from rejoinder.errors import DataError, InputError
from rejoinder.models.registry import list_names
from rejoinder.storage.files import atomic_write

MISSING = ("encode", "leave")
READS = ("sentence", "passage")
REQUIRED = ("intercept", "best", "margin", "count")
"""The weights that every confidence has; others are 0 where the file lacks them."""


@dataclass(frozen=True, slots=True)
class StageLine:
    """A stage of the file; the scorer is a name or the path of a bundle."""

    scorer: str
    keep: int | None = None
    cost: Cost | None = None
    document_prior: float = 0.0
    fusion: float = 0.0
    interpolation: float = 0.0
    leaves_missing: bool = False
    """Whether candidates without stored rows are left to the next stage."""
    reads_passages: bool = False
    """Whether candidates are scored by their passages."""
    stop: StoppingRule | None = None
    """When it stops reading; None to read all that it gets."""


@dataclass(frozen=True, slots=True)
class Point:
    """A Pareto-optimal cascade of the tuning run."""

    cascade: str
    """Its stages on one line: jaccard 100 > selector."""
    accuracy: float
    """P@1, in percent."""
    predicted_ms: float


@dataclass(frozen=True, slots=True)
class CascadeFile:
    """The content of the file; paths of bundles are relative to its folder."""

    name: str
    stages: tuple[StageLine, ...]
    calibration: Calibration | None = None
    tuned: Facts = field(default_factory=dict)
    """The protocol of the tuning run."""
    frontier: tuple[Point, ...] = ()
    """The cascades that tuning chose from, fastest first."""
    sentences: SentenceCalibration | None = None


def read_cascade_file(path: Path) -> CascadeFile:
    """Read a cascade without opening its bundles.

    Raises:
        DataError: the file is missing or invalid.
    """
    table = _read_toml(path)
    stages = tuple(_read_stage(row) for row in table.take_tables("stage"))
    calibration = table.take_table("calibration")
    sentences = table.take_table("sentences")
    tuned = table.take_table("tuned")
    frontier = tuple(_read_point(row) for row in table.take_tables("frontier"))
    name = table.take("name", str, path.stem)
    table.refuse_rest()
    try:
        check_keeps([stage.keep for stage in stages])
        check_stops([stage.stop for stage in stages])
    except InputError as error:
        raise DataError(str(error), path=path) from error
    return CascadeFile(
        name,
        stages,
        None if calibration is None else _read_calibration(calibration),
        tuned.fields if tuned else {},
        frontier,
        None if sentences is None else _read_sentences(sentences),
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
    lines = [f"name = {_show(cascade.name)}"]
    for stage in cascade.stages:
        fields: dict[str, Any] = {
            "scorer": stage.scorer,
            "keep": stage.keep,
            "document_prior": stage.document_prior or None,
            "fusion": stage.fusion or None,
            "interpolation": stage.interpolation or None,
            "cost": stage.cost and stage.cost.to_dict(),
            "missing": "leave" if stage.leaves_missing else None,
            "reads": "passage" if stage.reads_passages else None,
            "stop": stage.stop and asdict(stage.stop),
        }
        lines += _show_table("[[stage]]", fields)
    if calibration := cascade.calibration:
        lines += _show_table("[calibration]", _list_fields(calibration))
    if sentences := cascade.sentences:
        lines += _show_table("[sentences]", asdict(sentences))
    if cascade.tuned:
        lines += _show_table("[tuned]", cascade.tuned)
    for point in cascade.frontier:
        fields = {"cascade": point.cascade, "P@1": point.accuracy}
        lines += _show_table("[[frontier]]", {**fields, "predicted_ms": point.predicted_ms})
    return "\n".join(lines) + "\n"


def _list_fields(calibration: Calibration) -> dict[str, Any]:
    other = calibration.answerability
    return {
        **_list_weights(calibration.confidence),
        "threshold": calibration.threshold,
        "answerability": other and _list_weights(other),
        "knots": calibration.knots or None,
        "facts": calibration.facts,
    }


def _list_weights(function: Logistic) -> dict[str, float]:
    weights = asdict(function)
    return {name: weight for name, weight in weights.items() if weight or name in REQUIRED}


def _show_table(title: str, fields: Mapping[str, Any]) -> list[str]:
    items = [(key, item) for key, item in fields.items() if item is not None]
    return ["", title, *(f"{_quote_key(key)} = {_show(item)}" for key, item in items)]


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


class _Table:
    """A table of the TOML file; its errors say where they are."""

    def __init__(self, fields: Mapping[str, Any], what: str, path: Path) -> None:
        self.fields = dict(fields)
        self._what = what
        self.path = path
        self._known: list[str] = []

    def take(self, name: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
        self._known.append(name)
        value = self.fields.pop(name, default)
        if value is ...:
            raise self.error(f"{name} is missing")
        if value is not default and (not isinstance(value, kind) or isinstance(value, bool)):
            raise self.error(f"{name} cannot be {value!r}")
        return value

    def take_number(self, name: str, default: Any = ...) -> float:
        return float(self.take(name, (int, float), default))

    def take_table(self, name: str) -> "_Table | None":
        fields = self.take(name, dict, None)
        return None if fields is None else _Table(fields, f"{name} of {self._what}", self.path)

    def take_tables(self, name: str) -> "list[_Table]":
        rows = self.take(name, list, [])
        if not all(isinstance(row, dict) for row in rows):
            raise self.error(f"{name} must be written as [[{name}]]")
        return [
            _Table(row, f"{name} {number}", self.path) for number, row in enumerate(rows, start=1)
        ]

    def refuse_rest(self) -> None:
        for name in self.fields:
            raise self.error(f"unknown key {name!r}; known keys: {', '.join(self._known)}")

    def error(self, problem: str) -> DataError:
        return DataError(f"{self._what}: {problem}", path=self.path)


def _read_toml(path: Path) -> _Table:
    try:
        fields = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(error.strerror or str(error), path=path) from error
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8: {error}", path=path) from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:  # deeply nested
        raise DataError(f"not TOML: {error}", path=path) from error
    return _Table(fields, "the cascade", path)


def _read_stage(table: _Table) -> StageLine:
    scorer = table.take("scorer", str)
    keep = table.take("keep", int, None)
    document_prior = table.take_number("document_prior", 0.0)
    fusion = table.take_number("fusion", 0.0)
    interpolation = table.take_number("interpolation", 0.0)
    cost = table.take_table("cost")
    stop = table.take_table("stop")
    choices = {}
    for name, known in (("missing", MISSING), ("reads", READS)):
        choices[name] = table.take(name, str, known[0])
        if choices[name] not in known:
            raise table.error(f"{name} cannot be {choices[name]!r}: it is {' or '.join(known)}")
    table.refuse_rest()
    weights = {
        "document_prior": document_prior,
        "fusion": fusion,
        "interpolation": interpolation,
    }
    for name, weight in weights.items():
        if not 0 <= weight < inf:
            raise table.error(f"{name} cannot be {weight}")
    if fusion and interpolation:
        raise table.error("fusion and interpolation exclude each other; remove one")
    known_cost = None if cost is None else _read_cost(cost)
    return StageLine(
        scorer,
        keep,
        known_cost,
        document_prior,
        fusion,
        interpolation,
        leaves_missing=choices["missing"] == "leave",
        reads_passages=choices["reads"] == "passage",
        stop=None if stop is None else _read_stop(stop),
    )


def _read_cost(table: _Table) -> Cost:
    cost = Cost(*(table.take_number(name, 0.0) for name in Cost.__slots__))
    table.refuse_rest()
    if min(cost.fixed_ms, cost.candidate_ms, cost.word_ms) < 0:
        raise table.error("no part of a cost can be negative")
    return cost


def _read_stop(table: _Table) -> StoppingRule:
    weights = {name: table.take_number(name) for name in ("risk", "intercept", *PROGRESS)}
    first, batch = table.take("first", int, FIRST), table.take("batch", int, BATCH)
    table.refuse_rest()
    try:
        return StoppingRule(**weights, first=first, batch=batch)
    except InputError as error:
        raise table.error(str(error)) from error


def _read_calibration(table: _Table) -> Calibration:
    confidence = _read_weights(table)
    threshold = table.take_number("threshold")
    other = table.take_table("answerability")
    knots = table.take("knots", list, [])
    facts = table.take_table("facts")
    table.refuse_rest()
    answerability = None if other is None else _read_weights(other)
    if other is not None:
        other.refuse_rest()
    try:
        points = tuple((float(value), float(rate)) for value, rate in knots)
    except (TypeError, ValueError) as error:
        raise table.error("knots must be pairs of numbers") from error
    return Calibration(
        confidence, answerability, threshold, knots=points, facts=facts.fields if facts else {}
    )


def _read_sentences(table: _Table) -> SentenceCalibration:
    given = table.take("stages", dict)
    weights = [item.name for item in fields(StageCalibration)]
    stages = {}
    for name in given:
        row = _Table(given, "stages of [sentences]", table.path).take_table(name)
        assert row is not None
        stages[name] = StageCalibration(*map(row.take_number, weights))
        row.refuse_rest()
        if min(stages[name].score, stages[name].lead) < 0:
            raise row.error("score and lead cannot be negative: a higher score would rate lower")
    keep = table.take("keep", int)
    if keep < 1:
        raise table.error(f"keep must be 1 or more, found {keep}")
    names = ("floor", "threshold", "pruning")
    floor, threshold, pruning = map(table.take_number, names)
    facts = table.take_table("facts")
    table.refuse_rest()
    return SentenceCalibration(
        stages, floor, keep, threshold, pruning, facts=facts.fields if facts else {}
    )


def _read_weights(table: _Table) -> Logistic:
    names = [item.name for item in fields(Logistic)]
    return Logistic(
        *(table.take_number(name, *([] if name in REQUIRED else [0.0])) for name in names)
    )


def _read_point(table: _Table) -> Point:
    point = Point(
        table.take("cascade", str),
        table.take_number("P@1"),
        table.take_number("predicted_ms"),
    )
    table.refuse_rest()
    return point


def _show(value: Any) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_quote_key(key)} = {_show(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_show, value))}]"
    return repr(value)


def _quote_key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _quote(key)


def _quote(text: str) -> str:
    # JSON and TOML have the same escapes, but JSON does not escape DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
