"""`rejoinder data`: list, check and download data sets."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import say, show_progress
from rejoinder.cli.tables import Output, takes_format

if TYPE_CHECKING:
    from rejoinder.datasets.entries import Dataset


@click.group(epilog=options.example("rejoinder data list"))
def data() -> None:
    """List, check and download data sets."""


@data.command("list", epilog=options.example("rejoinder data list"))
@options.data_folder
@takes_format
def list_datasets(folder: Path | None, output: Output) -> None:
    """List the data sets with their licence, their size and their location."""
    from rejoinder.datasets.catalogue import DATASETS

    rows = [_to_dict(dataset, folder) for dataset in DATASETS.values()]
    output.show_json(rows)
    output.show(
        ["data set", "location", "splits (questions)", "licence", "title"],
        [
            [
                row["name"],
                row["location"] or "missing",
                ", ".join(f"{s['name']} {s['questions'] or ''}".strip() for s in row["splits"]),
                row["licence"],
                row["title"],
            ]
            for row in rows
        ],
    )


@data.command("check", epilog=options.example("rejoinder data check wikiqa --data data"))
@click.argument("name")
@options.words
@options.data_folder
@takes_format
def check_dataset(name: str, words: str, folder: Path | None, output: Output) -> None:
    """Count the contents of NAME's files, beside the published figures.

    If the counts differ from those of the distributed files, the exit status is 1.  Figures
    of papers are printed for comparison only: lengths depend on how words are split, and
    SQuAD's sentences on the sentence splitter.
    """
    from rejoinder.datasets.catalogue import get_dataset
    from rejoinder.datasets.statistics import check
    from rejoinder.errors import DataError

    checks = check(name, folder=folder, words=words)
    output.show_json([item.to_dict() for item in checks])
    output.show(
        ["split", "figure", "computed", "published", "source"],
        [
            [item.split, item.figure, _show(item.computed), _show(item.published), item.source]
            for item in checks
        ],
    )
    for item in checks:
        if item.is_wrong:
            raise DataError(
                f"split {item.split!r} has {_show(item.computed)} {item.figure},"
                f" the published file {_show(item.published)}: it is of another release;"
                f" get the one of {get_dataset(name).homepage}",
                path=item.path,
            )


@data.command("get", epilog=options.example("rejoinder data get squad-v1"))
@click.argument("name")
@options.data_folder
def get_dataset(name: str, folder: Path | None) -> None:
    """Download the files of NAME, if its authors allow everyone to.

    The target is --data, else $REJOINDER_DATA, else the user's cache.
    """
    from rejoinder.datasets.download import download

    with show_progress(name, in_bytes=True) as progress:
        paths = download(name, folder, on_progress=lambda done, total: progress(done, total, ""))
    for path in paths:
        say(f"have {path}")


def _to_dict(dataset: "Dataset", folder: Path | None) -> dict[str, Any]:
    from rejoinder.datasets.catalogue import find_splits

    locations = find_splits(dataset, folder)
    return {
        "name": dataset.name,
        "title": dataset.title,
        "licence": dataset.licence,
        "location": next(filter(None, locations.values()), None),
        "splits": [
            {
                "name": split,
                "questions": counts and counts.questions,
                "candidates": counts and counts.candidates,
                "location": location,
            }
            for split, location in locations.items()
            for counts in [dataset.counts.get(split)]
        ],
    }


def _show(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.4f}" if value < 1 else f"{value:.2f}"
