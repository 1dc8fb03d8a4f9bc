"""The tables of Han et al. 2021 in our form: what context is worth to a selector."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from rejoinder.papers.context_data import KEEP
from rejoinder.papers.context_rows import BASE, Row
from rejoinder.papers.context_runs import Run
from rejoinder.papers.context_training import MEASURES
from rejoinder.papers.gains import Gain, average, measure_gain


@dataclass(frozen=True, slots=True)
class Summary:
    """A row on one test set: percentages, and what it has more than no context."""

    row: Row
    dataset: str
    questions: int
    seeds: int
    means: dict[str, float]
    deviations: dict[str, float]
    gain: Gain | None
    """In P@1, over the same seeds of no context; None for that row itself."""
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
    gain: Gain | None


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


def _summarise(row: Row, dataset: str, own: list[Run], base: dict[int, Run]) -> Summary:
    means = {name: [100 * fmean(run.values[dataset][name]) for run in own] for name in MEASURES}
    return Summary(
        row,
        dataset,
        len(own[0].values[dataset]["P@1"]),
        len(own),
        {name: fmean(values) for name, values in means.items()},
        {name: stdev(values) if len(values) > 1 else 0.0 for name, values in means.items()},
        _compare(row, own, base, lambda run: run.values[dataset]["P@1"]),
        tuple(sorted({run.precision for run in own})),
    )


def _decide(row: Row, keep: int, own: list[Run], base: dict[int, Run]) -> Verdict:
    values = average([run.measure_cascade(keep) for run in own])
    # Without context all that the first stage kept is read.
    gain = _compare(
        row, own, base, lambda run: run.measure_cascade(keep if run.row == row.name else KEEP)
    )
    return Verdict(row.name, len(own), len(values), keep, 100 * fmean(values), gain)


def _compare(
    row: Row, own: list[Run], base: dict[int, Run], measure: Callable[[Run], list[float]]
) -> Gain | None:
    """Return what a row gains over the same seeds of its base, nothing where there are none."""
    paired = [run for run in own if run.seed in base]
    if not paired:
        return None
    return measure_gain(
        row.name,
        row.base,
        "P@1",
        [measure(run) for run in paired],
        [measure(base[run.seed]) for run in paired],
    )
