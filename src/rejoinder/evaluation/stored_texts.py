"""A data set's candidates in a store of answers, found by their text."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from rejoinder.index.sidecar.rows import RowStore
from rejoinder.models.has.scorer import AnswerEncoder
from rejoinder.models.sidecar import StoredRows
from rejoinder.types import Candidate, Example

PER_DOCUMENT = 256


class StoredTexts:
    """Finds the rows of texts: each is stored once, however many lists it stands in."""

    def __init__(self, store: RowStore, places: dict[str, int]) -> None:
        self.store = store
        self._places = places

    def find(self, candidates: Sequence[Candidate]) -> StoredRows:
        """Return where the rows of candidates stand."""
        places = np.array([self._places.get(item.text, -1) for item in candidates], np.int64)
        numbers = np.where(places < 0, -1, places // PER_DOCUMENT + 1)
        return self.store.find(numbers, places % PER_DOCUMENT)


def store_texts(
    folder: Path,
    encoder: AnswerEncoder,
    texts: Iterable[str],
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> StoredTexts:
    """Encode texts into a new store, close it, and return it opened again.

    Raises:
        StoreError: the folder cannot be written.
    """
    distinct = list(dict.fromkeys(texts))
    made = RowStore.create(
        folder, bundle=str(encoder.folder), hash_=encoder.hash, row_bytes=encoder.row_bytes
    )
    with made.changing() as writer:
        for first in range(0, len(distinct), PER_DOCUMENT):
            part = distinct[first : first + PER_DOCUMENT]
            writer.add(first // PER_DOCUMENT + 1, encoder.encode_texts(part))
            on_progress(first + len(part), len(distinct))
        writer.commit(1)
    places = {text: place for place, text in enumerate(distinct)}
    return StoredTexts(RowStore(folder), places)


def list_texts(examples: Iterable[Example]) -> list[str]:
    """Return the texts of all candidates, each once."""
    texts = (item.text for example in examples for item in example.candidates)
    return list(dict.fromkeys(texts))
