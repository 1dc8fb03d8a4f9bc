"""The tables of Han et al. 2021 in our form: what context is worth to a selector."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from rejoinder.metrics.significance import Interval, bootstrap_difference
from rejoinder.train.context_data import KEEP
from rejoinder.train.context_rows import BASE, Row
from rejoinder.train.context_runs import Run
from rejoinder.train.context_training import MEASURES


@dataclass(frozen=True, slots=True)
class Summary:
    """A row on one test set: percentages, and what it has more than no context."""

    row: Row
    dataset: str
    questions: int
    seeds: int
    means: dict[str, float]
    deviations: dict[str, float]
    gain: float | None
    """In P@1, over the same seeds of no context; None for that row itself."""
    interval: Interval | None
    precisions: tuple[str, ...]
    """In which the bundles were tested."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A row as the last stage over whole articles, in the time that the one without context has."""

    row: str
    seeds: int
    questions: int
    keep: int
    """Candidates that it reads in that time."""
    precision: float
    """P@1, a percentage."""
    gain: float | None = None
    interval: Interval | None = None


def summarise(rows: Sequence[Row], runs: Sequence[Run]) -> list[Summary]:
    """Return each row on each test set, held against the same without context."""
    found = []
    for dataset in dict.fromkeys(name for run in runs for name in run.values):
        known = [run for run in runs if dataset in run.values]
        for row in rows:
            own = [run for run in known if run.row == row.name]
            base = {run.seed: run for run in known if run.row == row.base != row.name}
            if own:
                found.append(_summarise(row, dataset, own, base))
    return found


def decide(rows: Sequence[Row], runs: Sequence[Run], cost: Mapping[str, float]) -> list[Verdict]:
    """Return P@1 of cascades that take as long as the one without context.

    Args:
        cost: milliseconds of a pair, by row.
    """
    base = {run.seed: run for run in runs if run.row == BASE.name}
    found = []
    for row in rows:
        own = [run for run in runs if run.row == row.name and run.labels]
        if own:
            keep = max(1, min(KEEP, int(KEEP * cost[BASE.name] / cost[row.name])))
            found.append(_decide(row, keep, own, {} if row is BASE else base))
    return found


def average(runs: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over seeds of each question."""
    return [fmean(values) for values in zip(*runs, strict=True)]


def _summarise(row: Row, dataset: str, own: list[Run], base: dict[int, Run]) -> Summary:
    means = {name: [100 * fmean(run.values[dataset][name]) for run in own] for name in MEASURES}
    paired = [run for run in own if run.seed in base]
    gain, interval = _compare(
        [base[run.seed].values[dataset]["P@1"] for run in paired],
        [run.values[dataset]["P@1"] for run in paired],
    )
    return Summary(
        row,
        dataset,
        len(own[0].values[dataset]["P@1"]),
        len(own),
        {name: fmean(values) for name, values in means.items()},
        {name: stdev(values) if len(values) > 1 else 0.0 for name, values in means.items()},
        gain,
        interval,
        tuple(sorted({run.precision for run in own})),
    )


def _decide(row: Row, keep: int, own: list[Run], base: dict[int, Run]) -> Verdict:
    values = average([run.measure_cascade(keep) for run in own])
    paired = [run for run in own if run.seed in base]
    gain, interval = _compare(
        [base[run.seed].measure_cascade(KEEP) for run in paired],
        [run.measure_cascade(keep) for run in paired],
    )
    return Verdict(row.name, len(own), len(values), keep, 100 * fmean(values), gain, interval)


def _compare(
    one: Sequence[Sequence[float]], other: Sequence[Sequence[float]]
) -> tuple[float | None, Interval | None]:
    """Return what the other gains on the mean of its seeds, nothing where there are none."""
    if not one:
        return None, None
    first, second = average(one), average(other)
    return 100 * (fmean(second) - fmean(first)), bootstrap_difference(first, second)
