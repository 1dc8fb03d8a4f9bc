"""Finds data sets by name, and their files on this machine."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from rejoinder.datasets.entries import ENTRIES, Dataset, SplitFiles
from rejoinder.datasets.readers.jsonl import read_examples
from rejoinder.errors import InputError, MissingDataError, UnknownNameError
from rejoinder.storage.files import get_cache_folder
from rejoinder.types import Example

DATASETS = {dataset.name: dataset for dataset in ENTRIES}


def open_dataset(
    name: str | Path, *, split: str | None = None, folder: Path | None = None
) -> Iterator[Example]:
    """Yield the examples of a named data set, or of a JSON-lines file.

    Args:
        name: NAME[:SPLIT] with a name of `DATASETS`, or the path of a JSON-lines file.
        split: the data set's `default_split` unless given.
        folder: searched first; see `find_data_folders`.

    Raises:
        UnknownNameError: neither a data set nor a file has this name, or the data set has
            no such split.
        InputError: two splits are given, or a split of a file.
        MissingDataError: the data set's files are not on this machine.
    """
    name, split = resolve_split(name, split)
    if split is None:
        return read_examples(Path(name))
    source, paths = locate(DATASETS[name], split, find_data_folders(folder))
    return source.read(*paths)


def open_for_tuning(
    dataset: str | Path | Iterable[Example], folder: Path | None = None
) -> Iterator[Example]:
    """Yield the examples of NAME[:SPLIT], a file, or the given ones; by default dev, else train.

    For choosing a model or a threshold, so that a test split is never read by accident.
    """
    if not isinstance(dataset, str | Path):
        return iter(dataset)
    name, _, split = str(dataset).partition(":")
    if name not in DATASETS or split:
        return open_dataset(dataset, folder=folder)
    usual = next((part for part in ("dev", "train") if part in DATASETS[name].splits), None)
    return open_dataset(name, split=usual, folder=folder)


def resolve_split(choice: str | Path, split: str | None = None) -> tuple[str, str | None]:
    """Return the name of a data set and the split to read; a file has no split.

    Raises what `open_dataset` raises, but does not look for the files.
    """
    name, _, own = str(choice).partition(":")
    dataset = DATASETS.get(name)
    if dataset is None:
        if not (Path(choice).name.endswith((".jsonl", ".jsonl.gz")) or Path(choice).exists()):
            raise UnknownNameError("data set", str(choice), DATASETS)
        if split is not None:
            raise InputError(f"{choice} is a file and has no split {split!r}; leave out the split")
        return str(choice), None
    if own and split not in (None, own):
        raise InputError(f"{choice} is not split {split!r}; give one of them")
    split = own or split or dataset.default_split
    if split not in dataset.splits:
        raise UnknownNameError(f"split of {dataset.name}", split, dataset.splits)
    return name, split


def get_dataset(name: str) -> Dataset:
    """Return the data set with this name."""
    if name not in DATASETS:
        raise UnknownNameError("data set", name, DATASETS)
    return DATASETS[name]


def find_data_folders(explicit: Path | None) -> list[Path]:
    """Return the folders to search: the given one, $REJOINDER_DATA, the user's cache."""
    named = os.environ.get("REJOINDER_DATA")
    folders = [explicit, Path(named).expanduser() if named else None, get_cache_folder() / "data"]
    return [folder for folder in folders if folder is not None]


def find_splits(dataset: Dataset, folder: Path | None = None) -> dict[str, str | None]:
    """Return the location of each split on this machine; None if it is missing."""
    locations: dict[str, str | None] = dict.fromkeys(dataset.splits)
    for split in dataset.splits:
        with suppress(MissingDataError):
            _, paths = locate(dataset, split, find_data_folders(folder))
            locations[split] = str(paths[0].parent) if paths else "an installed package"
    return locations


def find_source(choice: str | Path, folder: Path | None = None) -> SplitFiles | None:
    """Return the source that NAME[:SPLIT] is read from; None for a file, and for missing data."""
    name, split = resolve_split(choice)
    if split is not None:
        with suppress(MissingDataError):
            return locate(DATASETS[name], split, find_data_folders(folder))[0]
    return None


def locate(
    dataset: Dataset, split: str, folders: Sequence[Path]
) -> tuple[SplitFiles, tuple[Path, ...]]:
    """Return the first source of the split that is complete in a folder, and its files."""
    sources = dataset.splits[split]
    for folder in folders:
        for source in sources:
            paths = tuple(folder / file for file in source.files)
            if all(path.is_file() for path in paths):
                return source, paths
    files = " or ".join(" + ".join(source.files) for source in sources)
    places = ", ".join(map(str, folders))
    raise MissingDataError(
        f"{dataset.name}: no files of split {split!r} (looked for {files} in {places});"
        f" {_explain(dataset, split)}"
    )


def _explain(dataset: Dataset, split: str) -> str:
    remote = {file.path for file in dataset.remote}
    if any(remote.issuperset(source.files) for source in dataset.splits[split]):
        return f"download them with: rejoinder data get {dataset.name}"
    return dataset.by_hand or f"get them from {dataset.homepage}"
