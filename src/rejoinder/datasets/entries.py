"""The entries of the catalogue: their types, and `catalogue.toml` with its readers."""

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

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
    figures: Mapping[str, float]


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


def _to_dataset(
    name: str,
    *,
    splits: dict[str, list[dict[str, Any]]],
    held_out: bool = False,
    remote: tuple[dict[str, Any], ...] = (),
    published: tuple[dict[str, Any], ...] = (),
    **facts: str,
) -> Dataset:
    sources: dict[str, Sequence[SplitFiles]] = {
        split: [_to_source(**row) for row in rows] for split, rows in splits.items()
    }
    if held_out:
        first, *sources["train"] = sources["train"]
        parts = with_dev(first).items()
        sources = {split: (*own, *sources.get(split, ())) for split, own in parts}
    return Dataset(
        name,
        splits={split: tuple(own) for split, own in sources.items()},
        remote=tuple(RemoteFile(**row) for row in remote),
        published=tuple(Published(**row) for row in published),
        **facts,
    )


def _to_source(
    reader: str,
    files: list[str],
    questions: int | None = None,
    candidates: int | None = None,
    note: str = "",
    **options: Any,
) -> SplitFiles:
    counts = None if questions is None else FileCounts(questions, candidates)
    return SplitFiles(tuple(files), partial(READERS[reader], **options), counts, note)


_CATALOGUE = tomllib.loads(Path(__file__).with_name("catalogue.toml").read_text(encoding="utf-8"))
ENTRIES = tuple(_to_dataset(name, **entry) for name, entry in _CATALOGUE.items())
