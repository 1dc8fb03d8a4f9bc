"""The types of a catalogue entry."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Counts:
    """The size of a published file, counted from the file itself."""

    questions: int
    candidates: int | None = None
    """None if it depends on our own sentence splitter."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files that together hold one split, and their reader."""

    files: tuple[str, ...]
    """Relative to the data folder; empty for data in an installed package."""
    read: Callable[..., Iterator[Example]]
    """Takes the paths of the files, in their order."""
    counts: Counts | None = None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that everyone may download, with its size and checksum."""

    url: str
    path: str
    """Relative to the data folder."""
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Published:
    """Figures of a split in a paper; keys are names of `check.FIGURES`."""

    source: str
    split: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: its origin, its files, and the figures known about it."""

    name: str
    title: str
    licence: str
    homepage: str
    splits: Mapping[str, tuple[Source, ...]]
    """For each split, the sources to try in this order."""
    remote: tuple[RemoteFile, ...] = ()
    """Empty if the publisher requires an agreement, or no checksum is known."""
    by_hand: str = ""
    """How to get it, if not by downloading files from the homepage."""
    published: tuple[Published, ...] = ()

    @property
    def default_split(self) -> str:
        """The split to measure on: test, else dev, else train."""
        return next(name for name in ("test", "dev", "train") if name in self.splits)

    @property
    def counts(self) -> dict[str, Counts]:
        """The counts of each split, of the source that is tried first."""
        first = {name: sources[0].counts for name, sources in self.splits.items()}
        return {name: counts for name, counts in first.items() if counts is not None}
