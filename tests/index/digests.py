"""Rows of sentences that need no model: a sum of each."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rejoinder.documents.parsed import Sentence
from rejoinder.index.sidecar.sidecar import CONTEXT
from rejoinder.index.sqlite.documents import StoredDocument
from rejoinder.models.stored_rows import Bytes


class Digests:
    """Stores of each sentence a sum of it; its own encoder."""

    kind = CONTEXT
    row_bytes = 32

    def __init__(self, name: str = "digests") -> None:
        self.folder = Path(name)
        self.hash = name
        self.made: list[str] = []
        """The names of documents, as they were made."""

    @property
    def encoder(self) -> "Digests":
        """Itself."""
        return self

    def make(self, document: StoredDocument, sentences: Sequence[Sentence]) -> list[Bytes]:
        """Return the sums of the sentences of a document."""
        self.made.append(document.name)
        texts = (f"{self.hash} {document.name} {sentence.text}" for sentence in sentences)
        sums = [hashlib.sha256(text.encode()).digest() for text in texts]
        return [np.frombuffer(sum_, dtype=np.uint8)[None] for sum_ in sums]
