"""`rejoinder reproduce wikiqa`, `squad`, `nq-la` and `trecqa`: models trained, row by row."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say, show_gain, show_progress

if TYPE_CHECKING:
    from rejoinder.papers.gains import Gain
    from rejoinder.papers.published import Row, Table
    from rejoinder.papers.reproduction import Run, Summary

TABLES = {
    "wikiqa": "Table 4 of the Cosinet paper: small rankers trained and tested on WikiQA.",
    "squad": "Table 5 of the Cosinet paper, trained on what of SQuAD there is.",
    "nq-la": "Table 6 of the Cosinet paper, where you have Natural Questions.",
    "trecqa": "Compare-Aggregate and Cosinet on TREC-QA, trained on train-all and on train.",
}

_TRAINS = (
    "Trains every row once per seed by the paper's recipe (three epochs, slanted triangular"
    " learning rate, last epoch kept) and measures on the test part."
)


def make_command(name: str, what: str) -> click.Command:
    """Return the command that prints the tables of this name."""
    call = f"rejoinder reproduce {name} --seeds 1 --data data"

    @click.command(name, help=f"{what}\n\n{_TRAINS}", epilog=options.example(call))
    @click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True)
    @options.models
    @click.option(
        "--runs",
        type=click.Path(path_type=Path),
        help="Keep every finished run in this file, and go on from it.",
    )
    @click.option(
        "--picture", type=click.Path(path_type=Path), help="Draw quality against training time."
    )
    @options.threads
    @options.data_folder
    @options.as_json
    def run(**given: Any) -> None:
        _reproduce_tables(name, given)

    return run


def _reproduce_tables(name: str, given: dict[str, Any]) -> None:
    from rejoinder.papers.published import TABLES as KNOWN
    from rejoinder.papers.reproduction import measure_gains, summarise
    from rejoinder.training.loop import use_threads

    use_threads(given["threads"])
    result = []
    for table in KNOWN[name]:
        rows = options.choose_rows(table.rows, given["models"], of=table.name)
        runs = _run(table, rows, given)
        summaries = [summarise(row, runs) for row in rows]
        gains = measure_gains(table, runs)
        baselines = _measure_baselines(table, given["folder"])
        result.append({**_to_dict(table, summaries, gains), "baselines": baselines})
        if not given["as_json"]:
            _print(table, summaries, gains, baselines)
        if given["picture"]:
            from rejoinder.papers.picture import draw_quality_against_time

            draw_quality_against_time(given["picture"], table.measures[0], summaries)
            say(f"drew {given['picture']}")
    if given["as_json"]:
        print_json(result)


def _run(table: "Table", rows: "list[Row]", given: dict[str, Any]) -> "list[Run]":
    from rejoinder.models.static_vectors.vectors import load_vectors
    from rejoinder.papers.kept_runs import KeptRuns
    from rejoinder.papers.reproduction import Run, run_table

    kept = KeptRuns(given["runs"], Run)
    with show_progress(table.name) as progress:
        return kept.keep(
            run_table(
                table,
                rows,
                load_vectors(),
                seeds=given["seeds"],
                folder=given["folder"],
                done=kept.done,
                on_step=lambda row, seed, step: progress(
                    step.number, step.of, f"{row.name} seed {seed} loss {step.loss:.3f}"
                ),
            )
        )


def _measure_baselines(table: "Table", folder: Path | None) -> list[dict[str, Any]]:
    """Return the lexical rows that stand above the table in the paper, where it has them."""
    from rejoinder.datasets.catalogue import open_dataset
    from rejoinder.errors import MissingExtraError
    from rejoinder.papers.baselines import TABLES as BASELINES
    from rejoinder.papers.baselines import measure_row

    rows = []
    for baseline in BASELINES:
        if (baseline.dataset, baseline.split) != (table.test, table.split):
            continue
        examples = list(open_dataset(table.test, split=table.split, folder=folder))
        for row in baseline.rows[1:]:
            try:
                means = measure_row(row, baseline.words, examples, table.measures)
            except MissingExtraError as error:
                say(f"left out {row.scorer}: {error}")
                continue
            rows.append({"scorer": row.scorer, "published": dict(row.published), "measured": means})
    return rows


def _print(
    table: "Table",
    summaries: "list[Summary]",
    gains: "list[Gain]",
    baselines: list[dict[str, Any]],
) -> None:
    say(f"{table.name}: tested on {table.test} {table.split}, protocol {table.questions}")
    columns = [f"{name} {what}" for name in table.measures for what in ("published", "measured")]
    print_table(
        ["model", "loss", "head", "seeds", *columns, "parameters", "seconds"],
        [
            [
                row["scorer"],
                "–",
                "–",
                "–",
                *(
                    f"{row[kind][name]:.2f}" if name in row[kind] else ""
                    for name in table.measures
                    for kind in ("published", "measured")
                ),
                "–",
                "–",
            ]
            for row in baselines
        ]
        + [
            [
                item.row.label,
                item.row.loss,
                item.row.head,
                str(item.seeds),
                *(cell for name in table.measures for cell in _show(item, name)),
                f"{item.parameters:,}",
                f"{item.seconds:.1f}",
            ]
            for item in summaries
        ],
    )
    for gain in gains:
        click.echo(show_gain(gain))


def _show(item: "Summary", name: str) -> tuple[str, str]:
    published = item.row.published.get(name)
    measured = f"{item.means[name]:.2f} ±{item.deviations[name]:.2f}"
    return "" if published is None else f"{published:.2f}", measured


def _to_dict(table: "Table", summaries: "list[Summary]", gains: "list[Gain]") -> dict[str, Any]:
    return {
        "table": table.name,
        "train": table.train,
        "test": f"{table.test}:{table.split}",
        "protocol": table.questions,
        "rows": [item.to_dict() for item in summaries],
        "gains": [gain.to_dict() for gain in gains],
    }
