"""`rejoinder evaluate`: measure a scorer on a data set."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, print_json, print_table, say, write_json_lines
from rejoinder.cli.research.setting import takes_setting

if TYPE_CHECKING:
    from rejoinder.evaluation.reports import Report


@click.command(
    epilog=options.example(
        "rejoinder evaluate bm25 examples/questions.jsonl",
        "rejoinder evaluate original-order wikiqa --split test --json",
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
    "--per-question", type=options.PATH, help="Also write one JSON line per question to this file."
)
@options.as_json
def evaluate(
    scorer: str, seeds: int, per_question: Path | None, as_json: bool, **setting: Any
) -> None:
    """Measure SCORER on DATASET.

    SCORER is a name of `rejoinder models list`, a bundle or a cascade file; DATASET is a name
    of `rejoinder data list`, with or without :SPLIT, or a JSON-lines file.
    """
    from rejoinder.evaluation import evaluate

    report = evaluate(scorer, seeds=seeds, **setting)
    if per_question:
        write_json_lines(per_question, report.list_questions())
        say(f"wrote {per_question}")
    if as_json:
        print_json(report.to_dict())
    else:
        print_table(*_to_table(report))


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
