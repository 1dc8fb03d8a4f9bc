"""`rejoinder data`: list, check and get data sets."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from rejoinder.datasets.dataset import Dataset


@click.group(epilog=options.example("rejoinder data list"))
def data() -> None:
    """List, check and get data sets."""


@data.command("list", epilog=options.example("rejoinder data list"))
@options.data_folder
@options.as_json
def list_datasets(folder: Path | None, as_json: bool) -> None:
    """List the data sets: what, licence, counts, and where they were found."""
    from rejoinder.datasets.catalogue import DATASETS

    rows = [_describe(dataset, folder) for dataset in DATASETS.values()]
    if as_json:
        print_json(rows)
        return
    print_table(
        ["data set", "found", "splits (questions)", "licence", "what"],
        [
            [
                row["name"],
                row["found"] or "no",
                ", ".join(_show_split(split) for split in row["splits"]),
                row["licence"],
                row["what"],
            ]
            for row in rows
        ],
    )


@data.command("check", epilog=options.example("rejoinder data check wikiqa --data data"))
@click.argument("name")
@options.words
@options.data_folder
@options.as_json
def check_dataset(name: str, words: str, folder: Path | None, as_json: bool) -> None:
    """Count what the files of NAME hold, beside what was published.

    Counts of the distributed files must agree, or the exit status is 1.  Figures of
    papers stand beside ours for comparison: lengths depend on how words are cut, and
    SQuAD's sentences on the splitter.
    """
    from rejoinder.datasets.check import check
    from rejoinder.errors import DataError

    checks = check(name, folder=folder, words=words)
    if as_json:
        print_json([item.to_dict() for item in checks])
    else:
        print_table(
            ["split", "figure", "computed", "published", "source"],
            [
                [item.split, item.figure, _show(item.computed), _show(item.published), item.source]
                for item in checks
            ],
        )
    for item in checks:
        if item.is_wrong:
            problem = f"split {item.split!r} has {_show(item.computed)} {item.figure}"
            raise DataError(
                f"{problem}, the published file {_show(item.published)}", path=item.path
            )


@data.command("get", epilog=options.example("rejoinder data get squad-v1"))
@click.argument("name")
@options.data_folder
def get_dataset(name: str, folder: Path | None) -> None:
    """Fetch the files of NAME, where its authors let everyone fetch them.

    They go into --data, else $REJOINDER_DATA, else the user's cache.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TimeRemainingColumn

    from rejoinder.datasets.catalogue import find_data_folders, get_dataset
    from rejoinder.datasets.download import download

    target = find_data_folders(folder)[0]
    console = Console(stderr=True)
    columns = ("{task.description}", BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(name, total=None)

        def show(done: int, total: int) -> None:
            progress.update(task, completed=done, total=total)

        paths = download(get_dataset(name), target, on_progress=show)
    for path in paths:
        say(f"have {path}")


def _describe(dataset: "Dataset", folder: Path | None) -> dict[str, Any]:
    from rejoinder.datasets.catalogue import find_data_folders, locate
    from rejoinder.errors import MissingDataError

    splits, places = [], []
    for split in dataset.splits:
        counts = dataset.counts.get(split)
        found = None
        with suppress(MissingDataError):
            paths = locate(dataset, split, find_data_folders(folder)).paths
            found = str(paths[0].parent) if paths else "an installed package"
            places.append(found)
        splits.append(
            {
                "name": split,
                "questions": counts and counts.questions,
                "candidates": counts and counts.candidates,
                "found": found,
            }
        )
    return {
        "name": dataset.name,
        "what": dataset.title,
        "licence": dataset.licence,
        "found": places[0] if places else None,
        "splits": splits,
    }


def _show_split(split: dict[str, Any]) -> str:
    number = f" {split['questions']}" if split["questions"] else ""
    return f"{split['name']}{number}"


def _show(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.4f}" if value < 1 else f"{value:.2f}"
