"""`rejoinder compare`: compare scorers, with significance."""

from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, print_json, print_table, show_interval
from rejoinder.cli.research.setting import takes_setting

if TYPE_CHECKING:
    from rejoinder.evaluation.comparison import Comparison


@click.command(epilog=options.example("rejoinder compare bm25 jaccard examples/questions.jsonl"))
@click.argument("scorers", nargs=-1, required=True, metavar="SCORER SCORER...")
@takes_setting
@options.as_json
def compare(scorers: tuple[str, ...], as_json: bool, **setting: Any) -> None:
    """Compare every further SCORER with the first on DATASET.

    Intervals are 95 % bootstrap intervals over questions; p is the two-sided p-value of a
    paired randomisation test.
    """
    from rejoinder.evaluation import compare

    comparisons = compare(scorers, **setting)
    if as_json:
        print_json([item.to_dict() for item in comparisons])
    else:
        print_table(
            ["scorer", "measure", "mean", "95 %", "difference", "95 %", "p"],
            [row for item in comparisons for row in _to_rows(item)],
        )


def _to_rows(item: "Comparison") -> list[list[str]]:
    rows = []
    for name, mean in item.report.means.items():
        interval = item.intervals[name]
        row = [item.report.scorer, name, percent(mean)]
        row += [f"{percent(interval.low)} to {percent(interval.high)}"]
        if difference := item.differences.get(name):
            row += [f"{100 * difference.mean:+.2f}", show_interval(difference.interval)]
            row += [f"{difference.p_value:.4f}"]
        else:
            row += ["", "", ""]
        rows.append(row)
    return rows
