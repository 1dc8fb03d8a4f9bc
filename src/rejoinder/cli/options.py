"""Options that several commands share."""

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from rejoinder.errors import InputError

PATH = click.Path(path_type=Path)
COUNT = click.IntRange(min=1)
SHARE = click.FloatRange(0, 1)
MILLISECONDS = click.FloatRange(min=0)

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

provider = click.option(
    "--provider",
    default="cpu",
    show_default=True,
    metavar="NAME",
    help="Run transformers with this execution provider of onnxruntime: cpu, cuda, coreml or"
    " openvino.",
)

threads = click.option("--threads", type=click.IntRange(min=1), help="[default: all cores]")

budget_ms = click.option(
    "--budget-ms",
    type=click.FloatRange(min=0),
    help="Latency budget in milliseconds; returns the best known when it is used up.",
)

min_confidence = click.option(
    "--min-confidence",
    type=SHARE,
    help="Call a sentence an answer from this confidence on.  [default: the scorer decides]",
)

feedback = click.option(
    "--feedback",
    type=click.Path(file_okay=False, path_type=Path),
    help="Learn also from the answers that are marked in this index.",
)

SCORER = "A name of `models list`, the folder of a bundle or of ONNX, or a cascade file (TOML)."
scorer = click.option("--scorer", default="default", show_default=True, help=SCORER)

models = click.option(
    "--models",
    default="",
    callback=lambda _context, _option, value: split_names(value),
    help="Only the rows with these names or prefixes; comma-separated.",
)

embed = click.option(
    "--embed",
    "embed",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="BUNDLE",
    help="Store sentence vectors of this encoder instead of the shipped one.",
)

no_vectors = click.option(
    "--no-vectors", "no_vectors", is_flag=True, help="Store no sentence vectors, now and later."
)

_ACCESS = (
    click.option(
        "--keys",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File of API keys, from `rejoinder key`; every request then needs one.",
    ),
    click.option("--open", "is_open", is_flag=True, help="Allow other machines without a key."),
    click.option(
        "--allow-host",
        "hosts",
        multiple=True,
        metavar="NAME",
        help="A host name of this server; * for any.",
    ),
    click.option(
        "--allow-origin",
        "origins",
        multiple=True,
        metavar="URL",
        help="A site whose pages may call this server (CORS).",
    ),
)


def access(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that say who may use a server."""
    for option in reversed(_ACCESS):
        command = option(command)
    return command


SIZE = "Extend each list to this many: the whole document, then sentences of other questions."


def split_names(given: str) -> list[str]:
    """Return the names of a comma-separated list."""
    return [name.strip() for name in given.split(",") if name.strip()]


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Parse KEY=VALUE options."""
    return dict(map(_split_pair, pairs))


def parse_filters(pairs: Iterable[str]) -> dict[str, list[str]]:
    """Parse KEY=VALUE options that filter; several values of a key are alternatives."""
    values: dict[str, list[str]] = {}
    for key, value in map(_split_pair, pairs):
        values.setdefault(key, []).append(value)
    return values


def _split_pair(pair: str) -> tuple[str, str]:
    key, mark, value = pair.partition("=")
    if not mark or not key:
        raise InputError(f"{pair!r} is not KEY=VALUE")
    return key, value


def example(*calls: str) -> str:
    """Return an epilog with example commands that click does not rewrap."""
    return "\n".join(["\b", "Example:", *(f"    {call}" for call in calls)])


score_cache = click.option(
    "--score-cache", type=PATH, help="Save every scored list in this file, and resume from it."
)
