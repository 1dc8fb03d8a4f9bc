"""Options that several commands share, so that they mean the same everywhere."""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

import click

from rejoinder.errors import InputError, MissingExtraError, UnknownNameError

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
    help="Word splitter: unicode, whitespace or spacy.",
)

threads = click.option("--threads", type=click.IntRange(min=1), help="[default: all cores]")

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

SCORER = "A name of `models list`, the folder of a bundle, or a cascade file (TOML)."
scorer = click.option("--scorer", default="default", show_default=True, help=SCORER)

models = click.option(
    "--models",
    default="",
    help="Only the rows of these names, or that begin so; comma-separated.",
)

SIZE = "Extend each list to this many: the whole document, then sentences of other questions."


def need_arrow() -> None:
    """Refuse tables where nothing can read them.

    Raises:
        MissingExtraError: the package for Arrow's tables is not installed.
    """
    if find_spec("pyarrow") is None:
        raise MissingExtraError("a table", extra="batch")


def split_names(given: str) -> list[str]:
    """Return the names of a comma-separated list."""
    return [name.strip() for name in given.split(",") if name.strip()]


class Named(Protocol):
    """A row of a table."""

    @property
    def name(self) -> str:
        """What `--models` calls it."""


Row = TypeVar("Row", bound=Named)


def choose_rows(rows: Sequence[Row], models: str, *, of: str) -> list[Row]:
    """Return the rows that `--models` names, in their own order; all where it names none.

    A name that is a row's means this row alone, another one all rows that begin so.

    Raises:
        UnknownNameError: no row begins so.
    """
    names = split_names(models)
    known = [row.name for row in rows]
    chosen = set()
    for name in names:
        found = {name} if name in known else {row for row in known if row.startswith(name)}
        if not found:
            raise UnknownNameError(f"row of {of}", name, known)
        chosen |= found
    return [row for row in rows if not names or row.name in chosen]


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


score_cache = click.option(
    "--score-cache",
    type=click.Path(path_type=Path),
    help="Save every scored list in this file, and resume from it.",
)
