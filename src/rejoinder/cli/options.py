"""Options that several commands share, so that they mean the same everywhere."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.errors import InputError

if TYPE_CHECKING:
    from rejoinder.metrics.significance import Interval

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")

data_folder = click.option(
    "--data",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of data sets; else $REJOINDER_DATA, else the user's cache.",
)

words = click.option(
    "--words",
    default="unicode",
    show_default=True,
    help="How words are cut: unicode, whitespace or spacy.",
)

budget_ms = click.option(
    "--budget-ms",
    type=click.FloatRange(min=0),
    help="Stop after so many milliseconds with the best that is known by then.",
)

feedback = click.option(
    "--feedback",
    type=click.Path(file_okay=False, path_type=Path),
    help="Learn from the answers that are marked in this index, too.",
)

SIZE = "Lengthen lists to so many: the whole document, then sentences of other questions."
SCORER = "A name of `models list`, a bundle, or a cascade's TOML file."


def show_interval(interval: "Interval") -> str:
    """Return an interval of fractions in points: -1.20 to +0.40."""
    return f"{100 * interval.low:+.2f} to {100 * interval.high:+.2f}"


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Return what KEY=VALUE options say.

    Raises:
        InputError: one has no '='.
    """
    found = {}
    for pair in pairs:
        key, mark, value = pair.partition("=")
        if not mark or not key:
            raise InputError(f"{pair!r} is not KEY=VALUE")
        found[key] = value
    return found


def example(*calls: str) -> str:
    """Return the end of a help page: calls that work, which click must not rewrap."""
    return "\n".join(["\b", "Example:", *(f"    {call}" for call in calls)])


kept_scores = click.option(
    "--runs",
    "kept",
    type=click.Path(path_type=Path),
    help="Keep every scored list in this file, and go on from it.",
)
