"""The entries of the catalogue: their types, and `catalogue.toml` with its readers."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec

from rejoinder.datasets.readers.asnq import read_asnq, read_asnq_half, read_asnq_over_pages
from rejoinder.datasets.readers.evidence import read_boolq, read_fever, read_fm2, read_wice
from rejoinder.datasets.readers.insuranceqa import read_insuranceqa, read_insuranceqa_package
from rejoinder.datasets.readers.natural_questions import read_natural_questions
from rejoinder.datasets.readers.pairs import read_pairs, read_yahooqa
from rejoinder.datasets.readers.sentence_lists import read_pool, read_qed, read_selqa
from rejoinder.datasets.readers.squad import read_squad
from rejoinder.datasets.readers.squad_part import read_squad_part
from rejoinder.datasets.readers.trecqa import read_trecqa, read_trecqa_xml
from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.datasets.transforms.long_lists import add_negatives
from rejoinder.storage.typed import read_toml
from rejoinder.types import Example

Read = Callable[..., Iterator[Example]]
"""Takes the paths of the files, in their order."""
PARTS = 20
"""One part of a data set without a dev split is held out as one."""


@dataclass(frozen=True, slots=True)
class FileCounts:
    """The size of a published file: counted, or as its publisher or a paper states it."""

    questions: int
    candidates: int | None = None
    """None if it depends on our own sentence splitter."""


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """Files that together hold one split, and their reader."""

    files: tuple[str, ...]
    """Relative to the data folder; empty for data in an installed package."""
    read: Read
    counts: FileCounts | None = None
    note: str = ""
    """How it differs from what a paper measured; stands in the title of a table."""


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
    """Figures of a split in a paper; keys are fields of `statistics.Statistics`."""

    source: str
    split: str
    figures: Mapping[str, int | float]


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set: its origin, its files, and the figures known about it."""

    name: str
    title: str
    licence: str
    homepage: str
    splits: Mapping[str, tuple[SplitFiles, ...]]
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
    def counts(self) -> dict[str, FileCounts]:
        """The counts of each split, of the source that is tried first."""
        first = {name: sources[0].counts for name, sources in self.splits.items()}
        return {name: counts for name, counts in first.items() if counts is not None}


def with_dev(source: SplitFiles) -> dict[str, tuple[SplitFiles, ...]]:
    """Return the splits train (everything), and its two parts fit and dev."""

    def read_part(dev: bool, *paths: Path) -> Iterator[Example]:
        return (example for example in source.read(*paths) if is_held_out(example) == dev)

    fit, dev = (replace(source, read=partial(read_part, dev), counts=None) for dev in (False, True))
    return {"train": (source,), "fit": (fit,), "dev": (dev,)}


def is_held_out(example: Example) -> bool:
    """Return whether the example belongs to dev, by its document's title or else its id.

    Whole documents are held out, so that no dev sentence is seen in training.  The choice
    depends on the title alone: a page is held out of every set that contains it.
    """
    document = example.candidates[0].document if example.candidates else None
    name = document.title if document and document.title else example.id
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return digest[0] * PARTS // 256 == 0


READERS: dict[str, Read] = {
    "asnq": read_asnq,
    "asnq-half": read_asnq_half,
    "asnq-over-pages": read_asnq_over_pages,
    "asnq++": lambda path: add_negatives(list(read_asnq(path))),
    "boolq": read_boolq,
    "fever": read_fever,
    "fm2": read_fm2,
    "insuranceqa": read_insuranceqa,
    "insuranceqa-package": read_insuranceqa_package,
    "natural-questions": read_natural_questions,
    "pairs": read_pairs,
    "pool": read_pool,
    "qed": read_qed,
    "selqa": read_selqa,
    "squad": read_squad,
    "squad-part": read_squad_part,
    "trecqa": read_trecqa,
    "trecqa-xml": read_trecqa_xml,
    "wice": read_wice,
    "wikiqa": read_wikiqa,
    "wikiqa-text": read_wikiqa_text,
    "yahooqa": read_yahooqa,
}


class _Source(msgspec.Struct, forbid_unknown_fields=True):
    reader: str
    files: tuple[str, ...]
    questions: int | None = None
    candidates: int | None = None
    note: str = ""
    answers: str | None = None
    columns: tuple[str, ...] | None = None
    has_list: bool | None = None
    part: str | None = None
    split: str | None = None
    titles: tuple[str, ...] | None = None

    def build(self) -> SplitFiles:
        named = ("answers", "columns", "has_list", "part", "split", "titles")
        options = {name: value for name in named if (value := getattr(self, name)) is not None}
        counts = None if self.questions is None else FileCounts(self.questions, self.candidates)
        return SplitFiles(self.files, partial(READERS[self.reader], **options), counts, self.note)


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    licence: str
    homepage: str
    splits: dict[str, tuple[_Source, ...]]
    by_hand: str = ""
    held_out: bool = False
    remote: tuple[RemoteFile, ...] = ()
    published: tuple[Published, ...] = ()

    def build(self, name: str) -> Dataset:
        splits = {
            split: tuple(row.build() for row in sources) for split, sources in self.splits.items()
        }
        if self.held_out:
            first, *others = splits["train"]
            parts = {**splits, "train": tuple(others)}
            splits = {part: (*own, *parts.get(part, ())) for part, own in with_dev(first).items()}
        return Dataset(
            name,
            self.title,
            self.licence,
            self.homepage,
            splits,
            self.remote,
            self.by_hand,
            self.published,
        )


_CATALOGUE = read_toml(Path(__file__).with_name("catalogue.toml"), dict[str, _Entry])
ENTRIES = tuple(entry.build(name) for name, entry in _CATALOGUE.items())
