"""`rejoinder evaluate`: measure a scorer on a data set."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, say, write_json_lines
from rejoinder.cli.research.setting import takes_setting
from rejoinder.cli.tables import Output, takes_format

if TYPE_CHECKING:
    from rejoinder.evaluation.reports import Report


@click.command(
    epilog=options.example(
        "rejoinder evaluate bm25 examples/questions.jsonl",
        "rejoinder evaluate original-order wikiqa --split test --json",
        "rejoinder evaluate theirs.run theirs.qrels",
    )
)
@click.argument("scorer")
@takes_setting
@click.option(
    "--seeds",
    type=options.COUNT,
    default=1,
    show_default=True,
    help="Run with seeds 0 to N-1, and print mean and deviation.",
)
@click.option(
    "--per-question",
    type=options.PATH,
    help="Also write one JSON line per seed and question to this file.",
)
@click.option(
    "--write-run", type=options.PATH, help="Also write the rankings as a run file of TREC."
)
@click.option(
    "--write-qrels", type=options.PATH, help="Also write the labels as a qrels file of TREC."
)
@takes_format
def evaluate(
    scorer: str,
    seeds: int,
    per_question: Path | None,
    write_run: Path | None,
    write_qrels: Path | None,
    output: Output,
    **setting: Any,
) -> None:
    """Measure SCORER on DATASET.

    SCORER is a name of `rejoinder models list`, a bundle, a cascade file, or a run file of
    TREC; DATASET is a name of `rejoinder data list`, with or without :SPLIT, or a JSON-lines
    file.  Run files are also measured on a qrels file of TREC.
    """
    from rejoinder.evaluation import evaluate

    report = evaluate(scorer, seeds=seeds, **setting)
    if per_question:
        write_json_lines(per_question, report.list_questions())
        say(f"wrote {per_question}")
    _write_trec(report, write_run, write_qrels)
    output.show_json(report.to_dict())
    output.show(*_to_table(report))


def _write_trec(report: "Report", run: Path | None, qrels: Path | None) -> None:
    """Write a run, one file for each seed where there are several, and the qrels."""
    from rejoinder.evaluation import trec

    for seed, rankings in enumerate(report.rankings_by_seed if run else ()):
        assert run is not None, "there is a file to write"
        several = len(report.rankings_by_seed) > 1
        path = run.with_name(f"{run.stem}-{seed}{run.suffix}") if several else run
        trec.write_run(path, rankings, report.scorer)
        say(f"wrote {path}")
    if qrels:
        trec.write_qrels(qrels, report.rankings)
        say(f"wrote {qrels}")


def _to_table(report: "Report") -> tuple[list[str], list[list[str]]]:
    result = report.to_dict()
    names = ["scorer", "dataset", "split", "protocol", "ties", "words", "questions"]
    names = [name for name in names if result[name] is not None]
    deviations = report.deviations
    numbers = [
        percent(mean) + (f" ±{percent(deviations[name])}" if deviations else "")
        for name, mean in report.means.items()
    ]
    return [*names, *report.means], [[*(str(result[name]) for name in names), *numbers]]
