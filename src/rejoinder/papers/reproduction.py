"""Trains the rows of a table once per seed, and measures each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from rejoinder.datasets.catalogue import open_dataset
from rejoinder.evaluation import Protocol, evaluate
from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.papers.gains import Gain, measure_gain
from rejoinder.papers.published import Row, Table
from rejoinder.papers.rows import train_row
from rejoinder.training.loop import Step
from rejoinder.training.mixing import Part, read_parts
from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Run:
    """One row trained with one seed: per question, the value of each measure."""

    table: str
    row: str
    seed: int
    parameters: int
    seconds: float
    values: dict[str, list[float]]

    def to_dict(self) -> dict[str, Any]:
        """Return the run as plain JSON types."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Summary:
    """A row over its seeds: percentages as mean and sample deviation."""

    row: Row
    seeds: int
    parameters: int
    seconds: float
    means: dict[str, float]
    deviations: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain JSON types."""
        return {
            "model": self.row.label,
            "head": self.row.head,
            "loss": self.row.loss,
            "seeds": self.seeds,
            "parameters": self.parameters,
            "seconds": self.seconds,
            "published_seconds": self.row.seconds,
            "published": dict(self.row.published),
            "measured": self.means,
            "deviations": self.deviations,
        }


def run_table(
    table: Table,
    rows: Sequence[Row],
    vectors: StaticVectors,
    *,
    seeds: int,
    folder: Path | None,
    done: Sequence[Run] = (),
    on_step: Callable[[Row, int, Step], None] = lambda *_: None,
) -> Iterator[Run]:
    """Yield the runs of a table; those that are done already come first, as they are."""
    have = {(run.table, run.row, run.seed): run for run in done}
    parts: list[Part] = []
    test: list[Example] = []
    for row in rows:
        for seed in range(seeds if row.is_trained else 1):
            if (table.name, row.name, seed) in have:
                yield have[table.name, row.name, seed]
                continue
            parts = parts or read_parts(table.train, folder)
            test = test or list(open_dataset(table.test, split=table.split, folder=folder))
            yield _run(table, row, seed, parts, test, vectors, on_step)


def summarise(row: Row, runs: Sequence[Run]) -> Summary:
    """Return a row's means and deviations over its seeds."""
    own = [run for run in runs if run.row == row.name]
    means = {name: [100 * fmean(run.values[name]) for run in own] for name in own[0].values}
    return Summary(
        row,
        len(own),
        own[0].parameters,
        round(fmean(run.seconds for run in own), 1),
        {name: round(fmean(values), 2) for name, values in means.items()},
        {
            name: round(stdev(values), 2) if len(values) > 1 else 0.0
            for name, values in means.items()
        },
    )


def measure_gains(table: Table, runs: Sequence[Run]) -> list[Gain]:
    """Hold every recurrent head against the same model and loss without one."""
    measure = table.measures[0]
    values: dict[str, list[list[float]]] = {}
    for run in runs:
        values.setdefault(run.row, []).append(run.values[measure])
    gains = []
    for row in table.rows:
        base = f"{row.model}/{row.loss}/none"
        if row.is_shipped or row.head == "none":
            continue
        if base in values and row.name in values:
            gains.append(measure_gain(row.name, base, measure, values[row.name], values[base]))
    return gains


def _run(
    table: Table,
    row: Row,
    seed: int,
    parts: Sequence[Part],
    test: Sequence[Example],
    vectors: StaticVectors,
    on_step: Callable[[Row, int, Step], None],
) -> Run:
    trained = train_row(row, seed, parts, vectors, lambda step: on_step(row, seed, step))
    report = evaluate(
        trained.scorer, test, protocol=Protocol(table.questions), measures=table.measures
    )
    return Run(
        table.name,
        row.name,
        seed,
        trained.parameters,
        round(trained.seconds, 2),
        {name: [round(value, 6) for value in values] for name, values in report.values.items()},
    )
