"""Finds a data set by its name, and its files on this machine."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rejoinder.datasets.dataset import Dataset, Source
from rejoinder.datasets.entries import ENTRIES
from rejoinder.datasets.readers.jsonl import read_examples
from rejoinder.errors import InputError, MissingDataError, UnknownNameError
from rejoinder.storage.cache import get_cache_folder
from rejoinder.types import Example

DATASETS = {dataset.name: dataset for dataset in ENTRIES}


@dataclass(frozen=True, slots=True)
class Located:
    """A source whose files were found."""

    source: Source
    paths: tuple[Path, ...]

    def read(self) -> Iterator[Example]:
        """Read the examples from the files."""
        return self.source.read(*self.paths)


def open_dataset(
    name: str | Path, *, split: str | None = None, folder: Path | None = None
) -> Iterator[Example]:
    """Yield the examples of a data set that has a name, or of a file in our own format.

    Args:
        name: a name of `DATASETS`, else the path of a JSON-lines file.
        split: the data set's `default_split` where it is not given.
        folder: looked into first; see `find_data_folders`.

    Raises:
        UnknownNameError: neither a data set nor a file has this name, or the data set has
            no such split.
        MissingDataError: the data set's files are not on this machine.
    """
    split = choose_split(name, split)
    if split is None:
        return read_examples(Path(name))
    return locate(DATASETS[str(name)], split, find_data_folders(folder)).read()


def open_for_choosing(choice: str, folder: Path | None = None) -> Iterator[Example]:
    """Yield the examples of NAME[:SPLIT] or of a file; without a split dev, else train.

    For what chooses something, a model or a threshold: never a test split unasked.
    """
    name, split = split_choice(choice)
    if name not in DATASETS:
        return open_dataset(choice, folder=folder)
    usual = next((part for part in ("dev", "train") if part in DATASETS[name].splits), None)
    return open_dataset(name, split=split or usual, folder=folder)


def split_choice(choice: str) -> tuple[str, str | None]:
    """Return the name and the split of NAME[:SPLIT]; a file's name is not split."""
    name, _, split = choice.partition(":")
    return (name, split or None) if name in DATASETS else (choice, None)


def get_dataset(name: str) -> Dataset:
    """Return the data set with this name.

    Raises:
        UnknownNameError: there is none.
    """
    if name not in DATASETS:
        raise UnknownNameError("data set", name, DATASETS)
    return DATASETS[name]


def choose_split(name: str | Path, split: str | None) -> str | None:
    """Return the split that `open_dataset` reads; None for a file, which has no splits."""
    dataset = DATASETS.get(str(name))
    if dataset is None:
        if not _is_own_file(Path(name)):
            raise UnknownNameError("data set", str(name), DATASETS)
        if split is not None:
            raise InputError(f"{name} is a file and has no split {split!r}; leave out the split")
        return None
    if split is None:
        return dataset.default_split
    if split not in dataset.splits:
        raise UnknownNameError(f"split of {dataset.name}", split, dataset.splits)
    return split


def find_data_folders(explicit: Path | None) -> list[Path]:
    """Return where data is looked for: the given folder, $REJOINDER_DATA, the user's cache."""
    named = os.environ.get("REJOINDER_DATA")
    folders = [explicit, Path(named).expanduser() if named else None, get_cache_folder() / "data"]
    return [folder for folder in folders if folder is not None]


def locate(dataset: Dataset, split: str, folders: Sequence[Path]) -> Located:
    """Return the first source of the split that is complete in one of the folders.

    Raises:
        MissingDataError: there is none; says what was looked for, where, and what to do.
    """
    sources = dataset.splits[split]
    for folder in folders:
        for source in sources:
            paths = tuple(folder / file for file in source.files)
            if all(path.is_file() for path in paths):
                return Located(source, paths)
    files = " or ".join(" + ".join(source.files) for source in sources)
    places = ", ".join(map(str, folders))
    raise MissingDataError(
        f"{dataset.name}: no files of split {split!r} (looked for {files} in {places});"
        f" {_explain(dataset, split)}"
    )


def _is_own_file(path: Path) -> bool:
    return path.name.endswith((".jsonl", ".jsonl.gz")) or path.exists()


def _explain(dataset: Dataset, split: str) -> str:
    fetched = {remote.path for remote in dataset.remote}
    if any(fetched.issuperset(source.files) for source in dataset.splits[split]):
        return f"fetch them with: rejoinder data get {dataset.name}"
    return dataset.by_hand or f"get them from {dataset.homepage}"
