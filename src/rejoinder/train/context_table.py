"""The tables of Han et al. 2021 in our form: what context is worth to a selector."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from rejoinder.metrics.significance import Interval, bootstrap_difference
from rejoinder.train.context_rows import Row
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


def average(runs: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean over seeds of each question."""
    return [fmean(values) for values in zip(*runs, strict=True)]


def _summarise(row: Row, dataset: str, own: list[Run], base: dict[int, Run]) -> Summary:
    means = {name: [100 * fmean(run.values[dataset][name]) for run in own] for name in MEASURES}
    gain, interval = None, None
    paired = [run for run in own if run.seed in base]
    if paired:
        one = average([base[run.seed].values[dataset]["P@1"] for run in paired])
        other = average([run.values[dataset]["P@1"] for run in paired])
        gain, interval = 100 * (fmean(other) - fmean(one)), bootstrap_difference(one, other)
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
