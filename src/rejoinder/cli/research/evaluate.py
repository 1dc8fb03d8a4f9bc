"""`rejoinder evaluate`: measure a scorer on a data set."""

from pathlib import Path
from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, print_json, print_table, say, write_json_lines
from rejoinder.cli.research.setting import Setting, takes_setting


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
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Run with seeds 0 to N-1 and give mean and deviation.",
)
@click.option(
    "--per-question",
    type=click.Path(path_type=Path),
    help="Also write one JSON line per question to this file.",
)
@options.as_json
def evaluate(
    scorer: str, setting: Setting, seeds: int, per_question: Path | None, as_json: bool
) -> None:
    """Measure SCORER on DATASET.

    SCORER is a name of `rejoinder models list`; DATASET a name of `rejoinder data list`, with
    or without its :SPLIT, or a JSON-lines file.
    """
    from rejoinder.datasets.catalogue import choose_split
    from rejoinder.evaluation.seeds import evaluate_named

    names = setting.measure_names
    report = evaluate_named(
        scorer, setting.read_examples(), protocol=setting.protocol, measures=names, seeds=seeds
    )
    if per_question:
        write_json_lines(per_question, report.reports[0].list_questions())
        say(f"wrote {per_question}")
    split = choose_split(setting.dataset, setting.split)
    result = {"dataset": setting.dataset, "split": split, **report.to_dict()}
    if as_json:
        print_json(result)
    else:
        print_table(*_to_table(result, names))


def _to_table(result: dict[str, Any], names: list[str]) -> tuple[list[str], list[list[str]]]:
    given = ["scorer", "dataset", "split", "protocol", "ties", "words", "questions"]
    given = [name for name in given if result[name] is not None]
    deviations = result.get("deviations", {})
    numbers = [
        percent(result[name]) + (f" ±{percent(deviations[name])}" if deviations else "")
        for name in names
    ]
    return [*given, *names], [[*(str(result[name]) for name in given), *numbers]]
