"""Rows of sentences that need no model: a checksum of each."""

import hashlib
from collections.abc import Collection
from pathlib import Path

import numpy as np

from rejoinder.models.sidecar import Bytes
from rejoinder.types import Document


class Digests:
    """Encodes each sentence as its checksum."""

    name = "digests"
    row_bytes = 32

    def __init__(self, name: str = "digests") -> None:
        self.folder = Path(name)
        self.hash = name
        self.made: list[str] = []
        """The names of documents, in the order in which they were encoded."""

    def encode(self, document: Document, headings: Collection[int]) -> list[Bytes]:
        """Return the checksums of the sentences of a document."""
        self.made.append(document.id)
        texts = (f"{self.hash} {document.id} {text}" for text in document.sentences)
        sums = [hashlib.sha256(text.encode()).digest() for text in texts]
        return [np.frombuffer(sum_, dtype=np.uint8)[None] for sum_ in sums]
