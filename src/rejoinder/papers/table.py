"""Rows, runs, gains and summaries: the machinery that the tables of all papers share."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.evaluation.learning_curve import LearningCurve
from rejoinder.evaluation.significance import Interval, bootstrap_difference, randomisation_test
from rejoinder.papers.ingredients import Ingredients, fits, join_ingredients
from rejoinder.storage.journal import append_journal, read_journal

if TYPE_CHECKING:
    from rejoinder.training.loop import Step

SOURCES = ("published", "measured")
OnProgress = Callable[[int, int, str], None]
OnStep = Callable[["Step"], None]


class Row(Protocol):
    """A model of a table."""

    @property
    def name(self) -> str:
        """Its name on the command line and in results."""

    @property
    def published(self) -> Mapping[str, float]:
        """The paper's percentages by measure; empty where it has none."""

    @property
    def is_seeded(self) -> bool:
        """Whether it is trained once per seed; else once."""


@dataclass(frozen=True, slots=True)
class Run:
    """One row trained with one seed."""

    table: str
    """The table, with the options that a run depends on."""
    row: str
    seed: int
    values: dict[str, list[float]]
    """By measure, one value per question."""
    parameters: int = 0
    seconds: float = 0.0
    ingredients: dict[str, str] = field(default_factory=dict)
    """What it was made of, by name; empty in journals from before it was recorded."""
    curve: list[dict[str, Any]] = field(default_factory=list)
    """Its epochs (`LearningCurve.epochs`); empty where it was not trained for itself."""

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON types, by the names of its fields."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


AnyRow = TypeVar("AnyRow", bound=Row)
AnyRun = TypeVar("AnyRun", bound=Run)
GetOwn = Callable[[AnyRow], Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class PrintedTable:
    """A table as text."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    notes: Sequence[str] = ()
    """The protocol; goes to stderr."""
    footer: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Reporter:
    """The channels that a reproduction reports to while it runs; silent by default."""

    say: Callable[[str], None] = lambda _: None
    show: Callable[[PrintedTable], None] = lambda _: None
    """Called with each table as soon as it is complete."""
    progress: Callable[[str], AbstractContextManager[OnProgress]] = lambda _: nullcontext(
        lambda *_: None
    )


SILENT = Reporter()


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options of all tables whose rows are trained."""

    seeds: int
    models: Sequence[str] = ()
    """Names or prefixes of rows; all rows where it is empty."""
    runs: Path | None = None
    """Journal of finished runs, which are not trained again."""
    ingredients: Ingredients = field(default_factory=Ingredients)
    curves: Path | None = None
    """Picture of the learning curves."""
    threads: int | None = None
    folder: Path | None = None
    """Folder of data sets."""


def start_training(options: TableOptions) -> None:
    """Check device and ingredients before data are read, and limit torch's threads."""
    from rejoinder.training.devices import need_one_process
    from rejoinder.training.loop import use_threads

    need_one_process("reproduce")
    options.ingredients.check(options.folder)
    use_threads(options.threads)


def run_rows(
    table: str,
    rows: Sequence[AnyRow],
    options: TableOptions,
    kind: type[AnyRun],
    train: Callable[[AnyRow, int, OnStep], AnyRun],
    reporter: Reporter,
    *,
    get_own: GetOwn[AnyRow],
    measures: Collection[str] = (),
) -> list[AnyRun]:
    """Return one run per row and seed; a run that the journal has is not trained again.

    All rows of a seed come before the next seed, so that rows that share a training are neighbours.

    Args:
        get_own: returns the table's own ingredients of a row, by name.
        measures: a run in the journal that lacks one of them is trained again.

    Raises:
        InputError: the journal cannot be written, or holds something else.
    """
    options.ingredients.check_use(map(get_own, rows))
    finished = find_runs(table, rows, options, kind, get_own=get_own, measures=measures)
    runs = []
    with reporter.progress(table) as progress:
        for row, seed in ((row, seed) for seed in range(options.seeds) for row in rows):
            if seed and not row.is_seeded:
                continue
            run = finished.get((row.name, seed))
            if run is None:
                curve = LearningCurve()
                show = partial(_show_step, progress, f"{row.name} seed {seed} loss", curve)
                run = train(row, seed, show)
                made = {**options.ingredients.apply(get_own(row)), **run.ingredients}
                run = replace(run, ingredients=made, curve=curve.epochs)
                if options.runs:
                    append_journal(options.runs, run.to_dict())
            runs.append(run)
    if options.curves:
        _plot_curves(options.curves, rows, runs)
        reporter.say(f"wrote {options.curves}")
    return runs


def _plot_curves(path: Path, rows: Sequence[Row], runs: Sequence[Run]) -> None:
    from rejoinder.evaluation.plots import plot_learning_curves

    curves = {
        row.name: [run.curve for run in runs if run.row == row.name and run.curve] for row in rows
    }
    curves = {name: seeds for name, seeds in curves.items() if seeds}
    if not curves:
        raise InputError(
            f"no learning curve for {path}: these rows are not trained, or come from a journal"
            " that is older than curves"
        )
    plot_learning_curves(path, curves)


def find_runs(
    table: str,
    rows: Sequence[AnyRow],
    options: TableOptions,
    kind: type[AnyRun],
    *,
    get_own: GetOwn[AnyRow],
    measures: Collection[str] = (),
) -> dict[tuple[str, int], AnyRun]:
    """Return the runs of the journal that have these ingredients, by row and seed.

    A run from before ingredients were recorded has the table's own.
    """
    by_name = {row.name: row for row in rows}
    found = {}
    for run in read_runs(options.runs, kind):
        row = by_name.get(run.row)
        if row and run.table == table and run.values.keys() >= set(measures):
            own = get_own(row)
            made = run.ingredients or Ingredients().apply(own)
            if fits(made, options.ingredients.apply(own)):
                found[run.row, run.seed] = replace(run, ingredients=made)
    return found


def _show_step(progress: OnProgress, label: str, curve: LearningCurve, step: "Step") -> None:
    curve.add(step)
    progress(step.number, step.of, f"{label} {step.loss:.3f}")


def read_runs(path: Path | None, kind: type[AnyRun]) -> list[AnyRun]:
    """Return the runs of a journal, none without one; InputError if it holds something else."""
    try:
        return [kind(**row) for row in read_journal(path)] if path else []
    except TypeError as error:
        raise InputError(f"{path}: not a file of runs; give another, or remove it") from error


def choose_rows(rows: Sequence[AnyRow], names: Sequence[str], *, of: str) -> list[AnyRow]:
    """Return the rows with these names or prefixes, in table order; all rows for no names.

    The full name of a row selects only that row, even where it is also a prefix of others.  A name
    that selects nothing is an UnknownNameError.
    """
    known = [row.name for row in rows]
    chosen = set()
    for name in names:
        matches = {name} if name in known else {row for row in known if row.startswith(name)}
        if not matches:
            raise UnknownNameError(f"row of {of}", name, known)
        chosen |= matches
    return [row for row in rows if not names or row.name in chosen]


@dataclass(frozen=True, slots=True)
class Summary(Generic[AnyRow]):
    """A row over its seeds: percentages as mean and sample standard deviation."""

    row: AnyRow
    seeds: int
    questions: int
    parameters: int
    seconds: float
    means: dict[str, float]
    deviations: dict[str, float]
    ingredients: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON types; the caller names the row."""
        return {
            "seeds": self.seeds,
            "parameters": self.parameters,
            "seconds": self.seconds,
            "published": dict(self.row.published),
            "measured": {name: round(value, 2) for name, value in self.means.items()},
            "deviations": {name: round(value, 2) for name, value in self.deviations.items()},
            "ingredients": self.ingredients,
        }

    def show(self, measure: str) -> str:
        """Return mean and deviation as a cell."""
        return f"{self.means[measure]:.2f} ±{self.deviations[measure]:.2f}"

    def show_all(self, measures: Iterable[str]) -> list[str]:
        """Return two cells per measure, in the order of `SOURCES`."""
        published = self.row.published
        return [
            cell
            for name in measures
            for cell in (f"{published[name]:.2f}" if name in published else "", self.show(name))
        ]


def summarise(row: AnyRow, runs: Iterable[Run], *, prefix: str = "") -> Summary[AnyRow]:
    """Average a row over its seeds.

    Args:
        prefix: only measures that begin with it count; it is removed from their names.
    """
    own = [run for run in runs if run.row == row.name]
    names = [name for name in own[0].values if name.startswith(prefix)]
    means = {
        name.removeprefix(prefix): [100 * fmean(run.values[name]) for run in own] for name in names
    }
    return Summary(
        row,
        len(own),
        len(own[0].values[names[0]]),
        own[0].parameters,
        round(fmean(run.seconds for run in own), 1),
        {name: fmean(values) for name, values in means.items()},
        {name: stdev(values) if len(values) > 1 else 0.0 for name, values in means.items()},
        join_ingredients([run.ingredients for run in own]),
    )


@dataclass(frozen=True, slots=True)
class Gain:
    """Mean difference between two rows as a fraction of 1, paired over questions."""

    row: str
    over: str
    measure: str
    mean: float
    interval: Interval
    p_value: float

    def __str__(self) -> str:
        mean, interval = show_gain(self)
        return (
            f"{self.row} over {self.over} {mean} {self.measure}"
            f" (95 % {interval}, p {self.p_value:.4f}, seed-averaged)"
        )


def measure_gain(
    runs: Iterable[AnyRun],
    row: str,
    over: str,
    measure: str,
    get_values: Callable[[AnyRun], list[float]] | None = None,
    *,
    prefix: str = "",
) -> Gain | None:
    """Compare two rows on values that are averaged over the seeds that both have.

    Args:
        get_values: the values of a run, one per question; by default those of the measure, whose
            name there begins with the prefix.

    Returns:
        None where no seed is common to both, or the rows are the same.
    """
    get_values = get_values or (lambda run: run.values[prefix + measure])
    seeds: dict[str, dict[int, AnyRun]] = {row: {}, over: {}}
    for run in runs:
        if run.row in seeds:
            seeds[run.row][run.seed] = run
    common = seeds[row].keys() & seeds[over].keys()
    if row == over or not common:
        return None
    base, values = (
        average([get_values(seeds[name][seed]) for seed in common]) for name in (over, row)
    )
    interval, p_value = bootstrap_difference(base, values), randomisation_test(base, values)
    return Gain(row, over, measure, fmean(values) - fmean(base), interval, p_value)


def average(seeds: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over seeds for each question."""
    return [fmean(values) for values in zip(*seeds, strict=True)]


def show_gain(gain: Gain | None) -> tuple[str, str]:
    """Return mean and interval as cells, in percentage points; empty for None."""
    return (f"{100 * gain.mean:+.2f}", show_interval(gain.interval)) if gain else ("", "")


def show_interval(interval: Interval) -> str:
    """Return an interval of fractions in percentage points: -1.20 to +0.40."""
    return f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f}"


def round_values(values: Mapping[str, Sequence[float]]) -> dict[str, list[float]]:
    """Return the values of a run, short enough for a journal."""
    return {name: [round(one, 6) for one in all_] for name, all_ in values.items()}
