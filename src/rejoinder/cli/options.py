"""Options that several commands share, so that they mean the same everywhere."""

from collections.abc import Iterable
from pathlib import Path

import click

from rejoinder.errors import InputError

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
