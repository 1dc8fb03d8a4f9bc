"""The stored answers of an index: what HAS makes of sentences, and finds for candidates."""

import logging
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from rejoinder.documents.parsed import Sentence
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.index.sidecar.sidecar import ANSWERS
from rejoinder.index.sqlite.documents import StoredDocument, get_number
from rejoinder.models.has.scorer import AnswerEncoder
from rejoinder.models.stored_rows import Bytes, StoredRows
from rejoinder.types import Candidate

AT_ONCE = 256
"""Sentences that are encoded together."""
MOST_NAMED = 5
"""Of a document's sentences that are too long; a table's rows may all be."""

log = logging.getLogger(__name__)


class AnswerMaker:
    """Makes the rows of sentences that may answer."""

    kind = ANSWERS

    def __init__(self, encoder: AnswerEncoder) -> None:
        self.encoder = encoder

    def make(self, document: StoredDocument, sentences: Sequence[Sentence]) -> list[Bytes]:
        """Return the rows of each sentence; a heading is no candidate, and has none."""
        none = np.empty((0, self.encoder.row_bytes), dtype=np.uint8)
        rows: list[Bytes] = [none] * document.sentences
        waiting = [sentence for sentence in sentences if not sentence.is_heading]
        self._name_too_long(document, waiting)
        for group in _cut(waiting):
            encoded = self.encoder.encode([sentence.text for sentence in group])
            for sentence, found in zip(group, encoded, strict=True):
                rows[sentence.position] = found
        return rows

    def _name_too_long(self, document: StoredDocument, given: Sequence[Sentence]) -> None:
        """Say in one line which sentences are not stored whole."""
        is_too_long = self.encoder.texts.tokens.is_too_long
        long = [str(sentence.position + 1) for sentence in given if is_too_long(sentence.text)]
        if long:
            unnamed = len(long) - MOST_NAMED
            log.warning(
                "%s: what is beyond %d tokens is not stored of sentence %s%s",
                document.name,
                self.encoder.texts.max_tokens,
                ", ".join(long[:MOST_NAMED]),
                f" and {unnamed} more" if unnamed > 0 else "",
            )


class IndexAnswers:
    """Finds the stored rows of an index's candidates."""

    def __init__(self, store: RowStore) -> None:
        self.store = store

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return where the rows of candidates stand; those from elsewhere have none."""
        numbers = [get_number(candidate.document) for candidate in candidates]
        positions = [candidate.position or 0 for candidate in candidates]
        return self.store.find(np.array(numbers, np.int64), np.array(positions, np.int64))


def _cut(items: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    given = iter(items)
    while group := list(islice(given, AT_ONCE)):
        yield group
