"""What the catalogue knows about a data set."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rejoinder.types import Example


@dataclass(frozen=True, slots=True)
class Counts:
    """How much a published file holds, counted from the file itself."""

    questions: int
    candidates: int | None = None
    """None where our own sentence splitter decides it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Files that together hold one split, and how to read them."""

    files: tuple[str, ...]
    """Relative to the data folder.  None at all for data that an installed package holds."""
    read: Callable[..., Iterator[Example]]
    """Takes the paths of the files, in their order."""
    counts: Counts | None = None


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that its publisher offers to everyone, with what it must be."""

    url: str
    path: str
    """Relative to the data folder."""
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Published:
    """What a paper says about a split; keys are names of `statistics.FIGURES`."""

    source: str
    split: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: where it comes from, what it consists of, what is known about it."""

    name: str
    title: str
    licence: str
    homepage: str
    splits: Mapping[str, tuple[Source, ...]]
    """Of each split, the sources to try in turn."""
    remote: tuple[RemoteFile, ...] = ()
    """Empty where the publisher asks for an agreement first, or no checksum is known."""
    by_hand: str = ""
    """How to get it, where fetching files from the homepage is not the answer."""
    published: tuple[Published, ...] = ()

    @property
    def default_split(self) -> str:
        """The split to measure on: test, else dev, else train."""
        return next(name for name in ("test", "dev", "train") if name in self.splits)

    @property
    def counts(self) -> dict[str, Counts]:
        """What is known of each split, for the source that is tried first."""
        first = {name: sources[0].counts for name, sources in self.splits.items()}
        return {name: counts for name, counts in first.items() if counts is not None}
