"""What an index keeps of documents for selectors that read context: their sentences as vectors."""

from collections.abc import Sequence

import numpy as np

from rejoinder.documents.parsed import Sentence
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.index.sidecar.sidecar import CONTEXT
from rejoinder.index.sqlite.documents import StoredDocument, get_number
from rejoinder.models.selector.page_encoder import PageEncoder
from rejoinder.models.selector.similarity import Vectors
from rejoinder.models.stored_rows import Bytes
from rejoinder.types import Document


class PageMaker:
    """Makes one row per sentence, a vector, and one for the title after them."""

    kind = CONTEXT

    def __init__(self, encoder: PageEncoder) -> None:
        self.encoder = encoder

    def make(self, document: StoredDocument, sentences: Sequence[Sentence]) -> list[Bytes]:
        """Return the row of each sentence of a document and, last, of its title."""
        texts = [sentence.text for sentence in sentences]
        vectors = self.encoder.encode(texts, document.title).astype("<f4")
        return list(vectors.view(np.uint8)[:, None])


class IndexPages:
    """Finds the stored vectors of an index's documents."""

    def __init__(self, store: RowStore) -> None:
        self.store = store

    def find(self, document: Document) -> Vectors | None:
        """Return the vectors of the sentences and, last, the title; None where they are not whole.

        Shape (sentences + 1, D).
        """
        rows = self.store.find_document(get_number(document))
        if rows is None or len(rows) != len(document.sentences) + 1:
            return None
        return rows.view("<f4")
