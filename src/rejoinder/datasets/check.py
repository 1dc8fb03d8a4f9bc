"""Holds what a data set's files contain against what was published about them."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rejoinder.datasets.catalogue import find_data_folders, get_dataset, locate
from rejoinder.datasets.dataset import Dataset
from rejoinder.datasets.statistics import Statistics, compute_statistics
from rejoinder.errors import MissingDataError
from rejoinder.text.words import get_word_splitter

FILES = "the distributed files"


@dataclass(frozen=True, slots=True)
class Check:
    """One figure of one split: computed, and published where it is."""

    split: str
    figure: str
    computed: float
    published: float | None
    source: str
    path: Path

    @property
    def is_wrong(self) -> bool:
        """Whether the files differ from those that were distributed."""
        return self.source == FILES and self.computed != self.published

    def to_dict(self) -> dict[str, Any]:
        """Return the figure as plain JSON types."""
        return {**asdict(self), "path": str(self.path), "is_wrong": self.is_wrong}


def check(name: str, *, folder: Path | None = None, words: str = "unicode") -> list[Check]:
    """Count every split of a data set whose files are there.

    Raises:
        UnknownNameError: no data set, or word splitter, has this name.
        MissingDataError: none of its splits was found.
        DataError: a file breaks its format.
    """
    dataset, cut = get_dataset(name), get_word_splitter(words)
    checks: list[Check] = []
    missing: MissingDataError | None = None
    for split in dataset.splits:
        try:
            located = locate(dataset, split, find_data_folders(folder))
        except MissingDataError as error:
            missing = missing or error
            continue
        path = located.paths[0] if located.paths else Path(name)
        statistics = compute_statistics(located.read(), cut=cut)
        counts = located.source.counts
        known = {FILES: asdict(counts) if counts else {}} | _published(dataset, split)
        checks += _compare(split, statistics, known, path)
    if missing and not checks:
        raise missing
    return checks


def _published(dataset: Dataset, split: str) -> dict[str, dict[str, float]]:
    return {item.source: dict(item.figures) for item in dataset.published if item.split == split}


def _compare(
    split: str, statistics: Statistics, known: dict[str, dict[str, Any]], path: Path
) -> Iterator[Check]:
    """Yield each computed figure beside every source that names it, or alone."""
    for figure, computed in statistics.to_dict().items():
        sources = {
            source: figures[figure]
            for source, figures in known.items()
            if figures.get(figure) is not None
        }
        for source, published in (sources or {"": None}).items():
            yield Check(split, figure, computed, published, source, path)
