"""`rejoinder compare`: compare scorers, with significance."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, show_interval
from rejoinder.cli.research.setting import takes_setting
from rejoinder.cli.tables import Output, takes_format

if TYPE_CHECKING:
    from rejoinder.evaluation.comparison import Comparison


@click.command(
    epilog=options.example(
        "rejoinder compare bm25 jaccard examples/questions.jsonl",
        "rejoinder compare base-0,base-1,base-2 mine-0,mine-1,mine-2 wikiqa --split test",
    )
)
@click.argument("scorers", nargs=-1, required=True, metavar="SCORER SCORER...")
@takes_setting
@takes_format
def compare(scorers: tuple[str, ...], output: Output, **setting: Any) -> None:
    """Compare every further SCORER with the first on DATASET.

    A SCORER may be a run file of TREC, or one model trained with several seeds: names that are
    joined by commas, such as base-0,base-1,base-2.  Its values are averaged over the seeds.

    Intervals are 95 % bootstrap intervals over questions; p is the two-sided p-value of a
    paired randomisation test.
    """
    from rejoinder.evaluation import compare

    comparisons = compare([*map(_to_group, scorers)], **setting)
    output.show_json([item.to_dict() for item in comparisons])
    output.show(
        ["scorer", "measure", "mean", "95 %", "difference", "95 %", "p"],
        [row for item in comparisons for row in _to_rows(item)],
    )


def _to_group(text: str) -> str | list[str]:
    """Return the names that are joined by commas; a path may have one in it."""
    return text if "," not in text or Path(text).exists() else options.split_names(text)


def _to_rows(item: "Comparison") -> list[list[str]]:
    rows = []
    for name, mean in item.report.means.items():
        interval = item.intervals[name]
        deviation = item.report.deviations.get(name)
        shown = percent(mean) + (f" ±{percent(deviation)}" if deviation is not None else "")
        row = [item.report.scorer, name, shown]
        row += [f"{percent(interval.low)} to {percent(interval.high)}"]
        if difference := item.differences.get(name):
            row += [f"{100 * difference.mean:+.2f}", show_interval(difference.interval)]
            row += [f"{difference.p_value:.4f}"]
        else:
            row += ["", "", ""]
        rows.append(row)
    return rows
