"""Answers stored as bits: Xu & Li 2020, "Hashing based Answer Selection", Tables 2 to 6."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rejoinder.errors import InputError, MissingDataError, UnknownNameError
from rejoinder.evaluation.stored_answers import AnswerCost
from rejoinder.models.has.module import HasConfig
from rejoinder.papers.examples import describe_sources
from rejoinder.papers.has import published, tables
from rejoinder.papers.has.figures import plot_study
from rejoinder.papers.has.measuring import ON_DEV, measure_untrained
from rejoinder.papers.has.tables import (
    DEFAULT_TABLES,
    STUDIES,
    HasRow,
    HasTable,
    HasTableOptions,
    set_rows,
)
from rejoinder.papers.has.training import train_rows
from rejoinder.papers.ingredients import describe_pretraining, label_encoder, show_ingredients
from rejoinder.papers.table import (
    SILENT,
    SOURCES,
    Gain,
    PrintedTable,
    Reporter,
    Run,
    Summary,
    choose_rows,
    measure_gain,
    start_training,
    summarise,
)


def reproduce_has(options: HasTableOptions, reporter: Reporter = SILENT) -> dict[str, Any]:
    """Train and measure the tables whose data is here, then the costs; return plain JSON types.

    Raises:
        UnknownNameError: an option names no table, or no row.
    """
    if options.plot and not options.study:
        raise InputError("--plot draws the study over beta and delta: give --study, too")
    start_training(options)
    results, studies = [], {}
    for table in _choose_tables(options):
        try:
            summaries, result = _reproduce_table(table, options, reporter)
        except MissingDataError as error:
            reporter.say(f"left out: {error}")
            continue
        results.append(result)
        studies[table.name] = summaries
    if options.plot and studies:
        plot_study(options.plot, studies)
        reporter.say(f"wrote {options.plot}")
    encoder = options.ingredients.encoder
    costs = [] if options.study else measure_untrained(options.bundle_precision, encoder)
    label = label_encoder(encoder or HasConfig().encoder)
    if not options.study:
        reporter.show(_print_costs(costs, label))
        reporter.show(published.COSTS)
    return {
        "tables": results,
        "costs": [{**asdict(cost), "ingredients": {"encoder": label}} for cost in costs],
    }


def _choose_tables(options: HasTableOptions) -> list[HasTable]:
    known = {table.name: table for table in tables.TABLES}
    in_paper = [table.name for table in tables.TABLES if table.paper]
    for name in options.tables:
        if name not in known:
            raise UnknownNameError("table of HAS", name, known)
    if options.costs:
        return []
    is_paper = options.ingredients.is_paper
    names = options.tables or (in_paper if is_paper else DEFAULT_TABLES)
    if options.study:
        chosen = [STUDIES[name] for name in names if name in STUDIES]
    else:
        chosen = [known[name] for name in names]
    for table in chosen:
        if is_paper and table.paper is None:
            have = ", ".join(in_paper)
            raise InputError(f"--recipe paper: {table.name} is not in the paper; it has {have}")
    return chosen


def _reproduce_table(
    table: HasTable, options: HasTableOptions, reporter: Reporter
) -> tuple[list[Summary[HasRow]], dict[str, Any]]:
    """Print a table; return its summaries, and all of it as plain JSON types."""
    known = set_rows(table, options.ingredients, options)
    rows = choose_rows(known, options.models, of=table.name)
    runs = train_rows(table, rows, options, reporter)
    summaries = [summarise(row, runs) for row in rows]
    gains = measure_gains(table, runs)
    trained = " + ".join(options.ingredients.train) or table.train
    tested = " and ".join(filter(None, (table.test, table.second_test)))
    sets = f"trained on {trained}, chosen on {table.dev}, tested on {tested}"
    pretraining = describe_pretraining(item.ingredients for item in summaries)
    columns = [f"{name} {source}" for name in table.columns for source in SOURCES]
    printed = PrintedTable(
        ["model", "seeds", ON_DEV, *columns, "parameters", "seconds", "ingredients"],
        [
            [
                *(item.row.name, str(item.seeds), f"{item.means[ON_DEV]:.2f}"),
                *item.show_all(table.columns),
                *(f"{item.parameters:,}", f"{item.seconds:.0f}"),
                show_ingredients(item.ingredients),
            ]
            for item in summaries
        ],
        notes=[f"{table.name}: {sets}", *([table.note] if table.note else [])],
        footer=[
            *map(str, gains),
            *pretraining,
            *describe_sources(options.ingredients.train or [table.train], options.folder),
        ],
    )
    reporter.show(printed)
    if table.others:
        reporter.show(table.others)
    result = {
        "table": table.name,
        "train": trained,
        "test": table.test,
        "note": table.note,
        "rows": [{"row": item.row.name, **item.to_dict()} for item in summaries],
        "gains": [asdict(gain) for gain in gains],
        "pretraining": pretraining,
    }
    return summaries, result


def measure_gains(table: HasTable, runs: Sequence[Run]) -> list[Gain]:
    """Compare attention with pooling, and HAS and its variants with attention."""
    pairs = [("attention", "pooling"), ("has", "pooling")]
    pairs += [(row.name, "attention") for row in table.rows if row.name.startswith("has")]
    gains = (measure_gain(runs, row, over, table.measures[0]) for row, over in pairs)
    return [gain for gain in gains if gain]


def _print_costs(costs: Sequence[AnswerCost], encoder: str) -> PrintedTable:
    rows = []
    for cost in costs:
        times = (f"{time:.1f}" for time in (cost.question_ms, cost.median_ms, cost.p95_ms))
        memory = (cost.disk_bytes, cost.resident_bytes)
        sizes = ("–" if size is None else f"{size:,}" for size in memory)
        pool = "–" if cost.pool_gb is None else f"{cost.pool_gb:.2f}"
        rows.append([cost.name, *times, *sizes, pool, encoder])
    return PrintedTable(
        [
            *("model", "question ms", "answers ms", "95 % ms"),
            *("bytes on disk", "bytes resident", "GB for InsuranceQA V1", "ingredients"),
        ],
        rows,
        title="time per question with 500 answers of 25 words, one thread; memory of an answer, and"
        " of 24,981 answers of 200 words",
    )
