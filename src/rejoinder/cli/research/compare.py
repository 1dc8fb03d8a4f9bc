"""`rejoinder compare`: hold scorers against each other, with significance."""

from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, print_json, print_table
from rejoinder.cli.research.setting import Setting, takes_setting

if TYPE_CHECKING:
    from rejoinder.evaluation.compare import Compared


@click.command(epilog=options.example("rejoinder compare bm25 jaccard examples/questions.jsonl"))
@click.argument("scorers", nargs=-1, required=True, metavar="SCORER SCORER...")
@takes_setting
@options.as_json
def compare(scorers: tuple[str, ...], setting: Setting, as_json: bool) -> None:
    """Hold every further SCORER against the first on DATASET.

    Intervals are 95 % bootstrap intervals over questions; p is the two-sided p-value of a
    paired randomisation test.
    """
    from rejoinder.errors import InputError
    from rejoinder.evaluation.compare import compare as run
    from rejoinder.evaluation.seeds import evaluate_named

    if len(scorers) < 2:
        raise InputError("compare needs two scorers or more, and then the data set")
    examples = setting.read_examples()
    reports = [
        evaluate_named(
            name, examples, protocol=setting.protocol, measures=setting.measure_names
        ).reports[0]
        for name in scorers
    ]
    compared = run(reports)
    if as_json:
        print_json([item.to_dict() for item in compared])
    else:
        print_table(
            ["scorer", "measure", "mean", "95 %", "difference", "95 %", "p"],
            [row for item in compared for row in _to_rows(item)],
        )


def _to_rows(item: "Compared") -> list[list[str]]:
    rows = []
    for name, mean in item.report.means.items():
        interval = item.intervals[name]
        row = [item.report.scorer, name, percent(mean)]
        row += [f"{percent(interval.low)} to {percent(interval.high)}"]
        if difference := item.differences.get(name):
            low, high = difference.interval.low, difference.interval.high
            row += [f"{100 * difference.mean:+.2f}", f"{100 * low:+.2f} to {100 * high:+.2f}"]
            row += [f"{difference.p_value:.4f}"]
        else:
            row += ["", "", ""]
        rows.append(row)
    return rows
