"""A dev part for data sets that were published without one: a twentieth of the documents.

Whole documents are held out, so that no sentence of dev was read in training.  Which ones
depends on their names alone: the same page is held out of every set that has it.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rejoinder.datasets.dataset import Counts, Source
from rejoinder.types import Example

PARTS = 20


def with_dev(
    source: Source, *, fit: Counts | None = None, dev: Counts | None = None
) -> dict[str, tuple[Source, ...]]:
    """Return the splits train (all there is), fit and dev (train in two) of a source."""
    return {
        "train": (source,),
        "fit": (replace(source, read=partial(_read, source.read, False), counts=fit),),
        "dev": (replace(source, read=partial(_read, source.read, True), counts=dev),),
    }


def is_held_out(example: Example) -> bool:
    """Return whether the example belongs to dev: decided by its document, else by its id."""
    document = example.candidates[0].document if example.candidates else None
    name = document.title if document and document.title else example.id
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return digest[0] * PARTS // 256 == 0


def _read(read: Callable[..., Iterator[Example]], dev: bool, *paths: Path) -> Iterator[Example]:
    return (example for example in read(*paths) if is_held_out(example) == dev)
