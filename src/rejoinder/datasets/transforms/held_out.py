"""Holds out a twentieth of the documents as dev, for data sets published without one.

Whole documents are held out, so that no dev sentence is seen in training.  The choice depends
on their titles alone: a page is held out of every set that contains it.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from rejoinder.datasets.dataset import Source
from rejoinder.types import Example

PARTS = 20


def with_dev(source: Source) -> dict[str, tuple[Source, ...]]:
    """Return the splits train (everything), and its two parts fit and dev."""
    return {
        "train": (source,),
        "fit": (replace(source, read=partial(_read, source.read, False), counts=None),),
        "dev": (replace(source, read=partial(_read, source.read, True), counts=None),),
    }


def is_held_out(example: Example) -> bool:
    """Return whether the example belongs to dev, by its document's title or else its id."""
    document = example.candidates[0].document if example.candidates else None
    name = document.title if document and document.title else example.id
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    return digest[0] * PARTS // 256 == 0


def _read(read: Callable[..., Iterator[Example]], dev: bool, *paths: Path) -> Iterator[Example]:
    return (example for example in read(*paths) if is_held_out(example) == dev)
