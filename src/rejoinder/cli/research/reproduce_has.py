"""`rejoinder reproduce has`: accuracy, time and memory of answers stored as bits."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say, show_gain, show_progress

if TYPE_CHECKING:
    from rejoinder.papers.gains import Gain
    from rejoinder.papers.has_costs import AnswerCost
    from rejoinder.papers.has_tables import HasRow, HasTable
    from rejoinder.papers.reproduction import Run

PUBLISHED_COSTS = (
    ("pooling", "0.03", "0.07"),
    ("attention (recalculated)", "4.19", "0.02"),
    ("attention (stored)", "0.28", "14.29"),
    ("has", "0.28", "0.45"),
)


@click.command(
    "has",
    epilog=options.example(
        "rejoinder reproduce has --tables wikiqa --seeds 3 --runs has.jsonl --data data",
        "rejoinder reproduce has --study --runs has.jsonl --data data",
        "rejoinder reproduce has --costs",
    ),
)
@click.option(
    "--tables",
    default="wikiqa,squad-pools",
    show_default=True,
    help="Comma-separated: also insuranceqa, insuranceqa-v1, yahooqa.",
)
@options.models
@click.option("--seeds", type=click.IntRange(min=1), default=3, show_default=True)
@click.option("--epochs", type=click.IntRange(min=1), help="[default: the table's own]")
@click.option("--learning-rate", type=float, help="[default: 2e-5]")
@click.option("--precision", type=click.Choice(["int8", "fp32"]), default="int8", show_default=True)
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    help="Keep every finished run in this file, and go on from it.",
)
@click.option("--study", is_flag=True, help="The study over beta and delta, on WikiQA dev.")
@click.option("--costs", is_flag=True, help="Time and memory only, without training.")
@options.threads
@options.data_folder
@options.as_json
def has(**given: Any) -> None:
    """Tables 5 and 6 of the HAS paper: pooling, attention, answers as bits.

    Trains every row once per seed, keeps the epoch that is best on dev, writes the bundle,
    stores the test's answers, and measures from the reopened store.  Then time per question
    with 500 stored answers of 25 words on one thread, and the memory of an answer.  Data
    sets that are not found are left out, and said.  With --runs, a table that was stopped goes
    on where the training under way was.
    """
    from rejoinder.training.loop import use_threads

    use_threads(given["threads"])
    result: dict[str, Any] = {"tables": [], "costs": []}
    if not given["costs"]:
        for table in _choose_tables(given):
            found = _run_table(table, given)
            if found:
                result["tables"].append(found)
    if not given["study"]:
        costs = _measure_costs(given["precision"])
        result["costs"] = [cost.to_dict() for cost in costs]
        if not given["as_json"]:
            _print_costs(costs)
    if given["as_json"]:
        print_json(result)


def _choose_tables(given: dict[str, Any]) -> "list[HasTable]":
    from rejoinder.errors import UnknownNameError
    from rejoinder.papers.has_tables import STUDY, TABLES

    if given["study"]:
        return [STUDY]
    known = {table.name: table for table in TABLES}
    names = options.split_names(given["tables"])
    for name in names:
        if name not in known:
            raise UnknownNameError("table of HAS", name, known)
    return [known[name] for name in names]


def _run_table(table: "HasTable", given: dict[str, Any]) -> dict[str, Any] | None:
    """Run and print a table; None where its data is not here."""
    from rejoinder.errors import MissingDataError
    from rejoinder.papers.has_training import measure_gains, summarise

    rows = options.choose_rows(table.rows, given["models"], of=table.name)
    try:
        runs = _run_rows(table, rows, given)
    except MissingDataError as error:
        say(f"left out: {error}")
        return None
    summaries = [summarise(row, runs) for row in rows]
    gains = measure_gains(table, runs)
    if not given["as_json"]:
        _print_table(table, summaries, gains)
    return {
        "table": table.name,
        "train": table.train,
        "test": table.test,
        "note": table.note,
        "rows": summaries,
        "gains": [gain.to_dict() for gain in gains],
    }


def _run_rows(table: "HasTable", rows: "list[HasRow]", given: dict[str, Any]) -> "list[Run]":
    from rejoinder.papers.has_training import choose_recipe, read_data, run_rows
    from rejoinder.papers.kept_runs import KeptRuns
    from rejoinder.papers.reproduction import Run

    kept = KeptRuns(given["runs"], Run)
    with show_progress(table.name) as progress:
        return kept.keep(
            run_rows(
                table,
                rows,
                choose_recipe(table, given["epochs"], given["learning_rate"]),
                seeds=given["seeds"],
                read=lambda: read_data(table, given["folder"]),
                precision=given["precision"],
                done=kept.done,
                beside=given["runs"],
                on_step=lambda row, seed, step: progress(
                    step.number, step.of, f"{row.name} seed {seed} loss {step.loss:.3f}"
                ),
            )
        )


def _print_table(table: "HasTable", rows: list[dict[str, Any]], gains: "list[Gain]") -> None:
    from rejoinder.papers.has_training import ON_DEV

    say(f"{table.name}: trained on {table.train}, chosen on {table.dev}, tested on {table.test}")
    if table.note:
        say(table.note)
    columns = [f"{name} {what}" for name in table.measures for what in ("published", "measured")]
    print_table(
        ["model", "seeds", ON_DEV, *columns, "parameters", "seconds"],
        [
            [
                row["row"],
                str(row["seeds"]),
                f"{row['measured'][ON_DEV]:.2f}",
                *(cell for name in table.measures for cell in _show(row, name)),
                f"{row['parameters']:,}",
                f"{row['seconds']:.0f}",
            ]
            for row in rows
        ],
    )
    for gain in gains:
        click.echo(show_gain(gain))


def _show(row: dict[str, Any], name: str) -> tuple[str, str]:
    published = row["published"].get(name)
    measured = f"{row['measured'][name]:.2f} ±{row['deviations'][name]:.2f}"
    return "" if published is None else f"{published:.2f}", measured


def _measure_costs(precision: str) -> "list[AnswerCost]":
    """Measure networks of each shape; what their weights are does not matter here."""
    from tempfile import TemporaryDirectory

    from rejoinder.models.has.export import write_has
    from rejoinder.models.has.module import load_has
    from rejoinder.papers.has_costs import measure_costs
    from rejoinder.papers.has_tables import RELATED, TABLES

    with TemporaryDirectory() as place:
        bundles = {}
        for row in TABLES[0].rows:
            if not row.name.endswith(RELATED):
                model, vocabulary = load_has(row.config)
                bundles[row.name] = Path(place, row.name)
                write_has(
                    bundles[row.name],
                    model,
                    vocabulary,
                    precision=precision,
                    training={},
                    scores={},
                    sample=[],
                )
        return list(measure_costs(bundles))


def _print_costs(costs: "list[AnswerCost]") -> None:
    click.echo("time per question with 500 answers of 25 words, one thread; memory of an answer")
    print_table(
        ["model", "question ms", "answers ms", "95 % ms", "bytes on disk", "bytes resident"],
        [
            [
                cost.name,
                f"{cost.question_ms:.1f}",
                f"{cost.median_ms:.1f}",
                f"{cost.p95_ms:.1f}",
                "–" if cost.disk_bytes is None else f"{cost.disk_bytes:,}",
                "–" if cost.resident_bytes is None else f"{cost.resident_bytes:,}",
            ]
            for cost in costs
        ],
    )
    click.echo("published (Xu & Li 2020), InsuranceQA V1, on one TitanXP")
    print_table(["model", "seconds", "GB for the answers"], PUBLISHED_COSTS)
