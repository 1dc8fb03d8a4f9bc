"""Results of the rows: quality by test set, cascades of equal time, and all of it as tables."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rejoinder.papers.context.costs import ContextSearch, PairCost
from rejoinder.papers.context.data import KEEP
from rejoinder.papers.context.rows import BASE, ContextRow
from rejoinder.papers.context.training import MEASURES, ContextRun
from rejoinder.papers.examples import describe_source
from rejoinder.papers.ingredients import show_ingredients
from rejoinder.papers.table import (
    Gain,
    PrintedTable,
    Summary,
    average,
    measure_gain,
    show_gain,
    summarise,
)


@dataclass(frozen=True, slots=True)
class Quality:
    """A row on one test set, with its gain in P@1 over the same seeds without context."""

    dataset: str
    summary: Summary[ContextRow]
    gain: Gain | None
    precisions: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the quality as plain JSON types."""
        fields = asdict(self)
        summary = fields.pop("summary")
        row = summary.pop("row")
        names = ("questions", "seeds", "means", "deviations", "ingredients")
        numbers = {name: summary[name] for name in names}
        return {"row": row["name"], "published": row["published"], **numbers, **fields}


@dataclass(frozen=True, slots=True)
class EqualTime:
    """A row behind a first stage on whole articles, in the time of the row without context."""

    row: str
    seeds: int
    questions: int
    keep: int
    """Candidates that it scores in that time."""
    precision: float
    """P@1 as a percentage."""
    gain: Gain | None


def summarise_sets(rows: Sequence[ContextRow], runs: Sequence[ContextRun]) -> list[Quality]:
    """Summarise each row on each test set, and compare it with the row without context."""
    results = []
    names = (name for run in runs for name in run.values)
    for dataset in dict.fromkeys(name.rpartition(" ")[0] for name in names):
        prefix = f"{dataset} "
        known = [run for run in runs if f"{prefix}P@1" in run.values]
        for row in rows:
            if own := [run for run in known if run.row == row.name]:
                summary = summarise(row, own, prefix=prefix)
                gain = measure_gain(known, row.name, row.base, "P@1", prefix=prefix)
                precisions = tuple(sorted({run.precision for run in own}))
                results.append(Quality(dataset, summary, gain, precisions))
    return results


def compare_at_equal_time(
    rows: Sequence[ContextRow], runs: Sequence[ContextRun], cost: Mapping[str, float]
) -> list[EqualTime]:
    """Return P@1 of cascades that take as long as the one without context.

    `cost` is the milliseconds per pair, by row.
    """
    known = [run for run in runs if run.labels]
    results = []
    for row in rows:
        keep = max(1, min(KEEP, int(KEEP * (cost[BASE.name] / cost[row.name]))))
        # Without context there is time for everything that the first stage kept.
        keeps = {row.base: KEEP, row.name: keep}

        def get_values(run: ContextRun, keeps: Mapping[str, int] = keeps) -> list[float]:
            return run.measure_cascade(keeps[run.row])

        if own := [get_values(run) for run in known if run.row == row.name]:
            gain = measure_gain(known, row.name, row.base, "P@1", get_values)
            values = average(own)
            mean = 100 * fmean(values)
            results.append(EqualTime(row.name, len(own), len(values), keep, mean, gain))
    return results


def describe_set(dataset: str, *, runs: Sequence[ContextRun], folder: Path | None) -> str:
    """Return the tested pairs of a set, and how its files differ from the paper's."""
    pairs = next((run.pairs[dataset] for run in runs if dataset in run.pairs), None)
    counted = "" if pairs is None else f"{pairs:,} pairs"
    return "; ".join(filter(None, (counted, describe_source(dataset, folder))))


def print_quality(
    quality: Sequence[Quality], caption: Sequence[str], describe: Callable[[str], str]
) -> Iterator[PrintedTable]:
    """Yield the table of each test set."""
    over = ["P@1 over no context", "95 %", "P@1 published (ASNQ)", "ingredients"]
    for dataset in dict.fromkeys(item.dataset for item in quality):
        own = [item for item in quality if item.dataset == dataset]
        rows = []
        for item in own:
            summary, published = item.summary, item.summary.row.published
            cells = [summary.row.name, str(summary.seeds), "/".join(item.precisions)]
            cells += [*map(summary.show, MEASURES), *show_gain(item.gain)]
            cells.append(f"{published['P@1']:.1f}" if published else "")
            rows.append([*cells, show_ingredients(summary.ingredients)])
        counted = f"{own[0].summary.questions} questions"
        title = f"{dataset}: {', '.join(filter(None, (counted, describe(dataset))))}"
        header = ["context", "seeds", "precision", *MEASURES, *over]
        yield PrintedTable(header, rows, title=title, footer=caption)


def print_costs(
    costs: Sequence[PairCost], searches: Sequence[ContextSearch], start: str
) -> Iterator[PrintedTable]:
    """Yield the tables of time and memory; `start` is what the rows are made of."""
    base = next(item for item in costs if item.row == BASE.name)
    yield PrintedTable(
        [
            *("context", "tokens", "equal length", "of none", "natural length", "of none"),
            *("weights, MB", "peak, MB", "published, \u00b5s", "of none"),
        ],
        [
            [
                *(item.row, f"{item.tokens:.0f}"),
                *(f"{item.equal_ms:.2f}", f"{item.equal_ms / base.equal_ms:.2f}"),
                *(f"{item.natural_ms:.2f}", f"{item.natural_ms / base.natural_ms:.2f}"),
                *(f"{item.weights_mb:.1f}", _show(item.peak_mb, 0)),
                *(_show(item.published_us, 2), _show(item.published_share, 2)),
            ]
            for item in costs
        ],
        title=f"milliseconds per pair, one thread, int8, {start}",
    )
    yield PrintedTable(
        ["similarity", "once a document, ms", "a question, ms", "of the selector's time"],
        [
            [
                *(item.similarity, f"{item.prepare_ms:.1f}"),
                *(f"{item.find_ms:.1f}", f"{100 * item.share:.1f} %"),
            ]
            for item in searches
        ],
        title=f"finding the context of 100 candidates of one article, {start}",
    )


def print_cascades(cascades: Sequence[EqualTime]) -> Iterator[PrintedTable]:
    """Yield the table of cascades of equal time, if there are any."""
    if cascades:
        yield PrintedTable(
            ["context", "seeds", "kept", "P@1", "over none", "95 %"],
            [
                [
                    *(item.row, str(item.seeds), str(item.keep)),
                    *(f"{item.precision:.2f}", *show_gain(item.gain)),
                ]
                for item in cascades
            ],
            title="whole articles, behind a first stage that keeps as many as take equally long",
        )


def _show(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
