"""Measures the trained rankers of the Cosinet paper, and selectors beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.evaluation import Protocol, evaluate
from rejoinder.evaluation.plots import plotting
from rejoinder.models.encoders.loading import DEFAULT, find_encoder
from rejoinder.papers.baselines import BASELINES, measure_baseline
from rejoinder.papers.cosinet.rows import TABLES, RankerRow, RankerTable
from rejoinder.papers.cosinet.training import RankerTrainer
from rejoinder.papers.examples import describe_sources, open_examples
from rejoinder.papers.ingredients import describe_pretraining, show_ingredients
from rejoinder.papers.table import (
    SILENT,
    SOURCES,
    Gain,
    OnStep,
    PrintedTable,
    Reporter,
    Run,
    Summary,
    TableOptions,
    choose_rows,
    find_runs,
    measure_gain,
    round_values,
    run_rows,
    start_training,
    summarise,
)


@dataclass(frozen=True, slots=True)
class RankerTableOptions(TableOptions):
    """Options of `reproduce_rankers`."""

    plot: Path | None = None
    """Plot of quality against training time."""


def reproduce_rankers(
    name: str, options: RankerTableOptions, reporter: Reporter = SILENT
) -> list[dict[str, Any]]:
    """Train and measure the tables of one of `TABLES`; return them as plain JSON types.

    Raises:
        RejoinderError: an option names no row, or a data set is not here.
    """
    start_training(options)
    results = []
    for table in TABLES[name]:
        rows = choose_rows(table.list_rows(options.ingredients), options.models, of=table.name)
        if not options.models:
            rows = _leave_out_missing(table, rows, options, reporter)
        runs = _run_table(table, rows, options, reporter)
        summaries = [summarise(row, runs) for row in rows]
        gains = measure_gains(table, runs)
        baselines = _measure_baselines(table, options.folder, reporter)
        pretraining = describe_pretraining(item.ingredients for item in summaries)
        trained_on = options.ingredients.train or [table.train]
        caption = [*pretraining, *describe_sources(trained_on, options.folder)]
        reporter.show(_print(table, summaries, gains, baselines, caption))
        if table.related:
            reporter.show(show_related(table, summaries))
        results.append(
            {
                "table": table.name,
                "train": list(trained_on),
                "test": table.test,
                "protocol": table.protocol,
                "rows": [{**item.row.to_dict(), **item.to_dict()} for item in summaries],
                "gains": [asdict(gain) for gain in gains],
                "baselines": baselines,
                "pretraining": pretraining,
                "related": [asdict(model) for model in table.related],
            }
        )
        if options.plot:
            plot_quality_against_time(options.plot, table.measures[0], summaries)
            reporter.say(f"wrote {options.plot}")
    return results


def _leave_out_missing(
    table: RankerTable, rows: Sequence[RankerRow], options: RankerTableOptions, reporter: Reporter
) -> list[RankerRow]:
    """Return the rows without those that start from an encoder that is not on this machine.

    A row whose runs are all in the journal is kept.
    """
    finished = find_runs(table.name, rows, options, Run, get_own=_get_own(table))
    kept = []
    for row in rows:
        is_finished = all((row.name, seed) in finished for seed in range(options.seeds))
        if row.needs_encoder and not is_finished:
            try:
                find_encoder(options.ingredients.encoder or DEFAULT)
            except InputError as error:
                reporter.say(f"left out {row.name}: {error}")
                continue
        kept.append(row)
    return kept


def _get_own(table: RankerTable) -> Callable[[RankerRow], Mapping[str, str]]:
    return lambda row: row.get_own(table.train)


def _run_table(
    table: RankerTable, rows: Sequence[RankerRow], options: RankerTableOptions, reporter: Reporter
) -> list[Run]:
    trainer = RankerTrainer(options.ingredients, table, options.folder, reporter.say)
    read_test = cache(lambda: open_examples(table.test, options.folder, reporter.say))

    def train(row: RankerRow, seed: int, on_step: OnStep) -> Run:
        trained = trainer.train(row, seed, on_step)
        report = evaluate(
            trained.scorer, read_test(), protocol=Protocol(table.protocol), measures=table.measures
        )
        return Run(
            *(table.name, row.name, seed, round_values(report.values)),
            *(trained.parameters, round(trained.seconds, 2)),
            ingredients=trained.describe_compute(),
        )

    return run_rows(
        *(table.name, rows, options, Run, train, reporter),
        get_own=_get_own(table),
        measures=table.measures,
    )


def measure_gains(table: RankerTable, runs: Sequence[Run]) -> list[Gain]:
    """Compare every recurrent head with the same model and loss without one."""
    gains = (
        measure_gain(runs, row.name, f"{row.model}/{row.loss}/none", table.measures[0])
        for row in table.rows
        if not row.is_shipped and row.head != "none"
    )
    return [gain for gain in gains if gain]


def _measure_baselines(
    table: RankerTable, folder: Path | None, reporter: Reporter
) -> list[dict[str, Any]]:
    """Measure the lexical rows of the paper's table, where it has them."""
    rows: list[dict[str, Any]] = []
    for lexical in (item for item in BASELINES if item.test == table.test):
        examples = open_examples(table.test, folder)
        for row in lexical.rows[1:]:
            try:
                means = measure_baseline(row, lexical.words, examples, table.measures)
            except MissingExtraError as error:
                reporter.say(f"left out {row.scorer}: {error}")
                continue
            rows.append({"scorer": row.scorer, "published": row.published, "measured": means})
    return rows


def _print(
    table: RankerTable,
    summaries: Sequence[Summary[RankerRow]],
    gains: Sequence[Gain],
    baselines: Sequence[dict[str, Any]],
    caption: Sequence[str],
) -> PrintedTable:
    rows = []
    for item in baselines:
        values = [item[source].get(name) for name in table.measures for source in SOURCES]
        cells = ["" if value is None else f"{value:.2f}" for value in values]
        rows.append([item["scorer"], *["–"] * 3, *cells, *["–"] * 3])
    for summary in summaries:
        row = summary.row
        cells = summary.show_all(table.measures)
        size = [f"{summary.parameters:,}", f"{summary.seconds:.1f}"]
        size.append(show_ingredients(summary.ingredients))
        rows.append([row.label, row.loss, row.head, str(summary.seeds), *cells, *size])
    columns = [f"{name} {source}" for name in table.measures for source in SOURCES]
    return PrintedTable(
        ["model", "loss", "head", "seeds", *columns, "parameters", "seconds", "ingredients"],
        rows,
        notes=[f"{table.name}: tested on {table.test}, protocol {table.protocol}"],
        footer=[*map(str, gains), *caption],
    )


def show_related(table: RankerTable, summaries: Sequence[Summary[RankerRow]]) -> PrintedTable:
    """Return the models of other papers, those with pretraining last, each block above our rows."""
    measures = [name for name in table.measures if name in table.related[0].published]
    blocks: dict[bool, list[list[str]]] = {False: [], True: []}
    for model in table.related:
        cells = [cell for name in measures for cell in (f"{model.published[name]:.2f}", "")]
        blocks[bool(model.pretraining)].append([model.name, model.pretraining or "–", *cells])
    for item in summaries:
        made = item.ingredients.get("encoder") or item.ingredients.get("start") or ""
        cells = [cell for name in measures for cell in ("", item.show(name))]
        blocks[bool(made)].append([f"ours: {item.row.name}", made or "–", *cells])
    columns = [f"{name} {source}" for name in measures for source in SOURCES]
    return PrintedTable(
        ["model", "pretraining", *columns],
        [row for rows in blocks.values() for row in rows],
        title=f"related work on {table.test} beside ours (Bonadiman & Moschitti 2020, Table 3;"
        " Matsubara et al. 2020, Table 2)",
    )


def plot_quality_against_time(
    path: Path, measure: str, summaries: Sequence[Summary[RankerRow]]
) -> None:
    """Plot one point per row; hollow points are the published values on their machine."""
    with plotting(path) as axes:
        labels = dict.fromkeys(item.row.label for item in summaries)
        colours = {label: f"C{number}" for number, label in enumerate(labels)}
        for item in (item for item in summaries if item.seconds):  # an open bundle took none
            row, point = item.row, (item.seconds, item.means[measure])
            colour = colours[row.label]
            axes.scatter(*point, color=colour)
            axes.annotate(f" {row.loss[:4]} {row.head}", point, fontsize=7)
            if row.seconds and measure in row.published:
                axes.scatter(row.seconds, row.published[measure], fc="none", ec=colour)
        for label, colour in colours.items():
            axes.scatter([], [], color=colour, label=label)
        axes.set(xscale="log", xlabel="training seconds", ylabel=measure)
