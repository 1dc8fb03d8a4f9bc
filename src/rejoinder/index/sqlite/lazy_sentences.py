"""The sentences of a document that are fetched from the index only when someone looks at them."""

from collections.abc import Sequence
from functools import cached_property
from typing import overload

from rejoinder.index.sqlite.documents import Store
from rejoinder.types import Document


class StoredSentences(Sequence[str]):
    """The sentences of one document, in order; equal to others of the same document."""

    def __init__(self, store: Store, number: int, count: int) -> None:
        self.number = number
        self._store = store
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, int) and 0 <= place < self._count:
            rows = self._store.get_sentences(self.number, place, place)
            return rows[0].text if rows else ""
        return self._texts[place]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, StoredSentences)
            and other.number == self.number
            and other._store is self._store
        )

    def __hash__(self) -> int:
        return hash(self.number)

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        found = {row.position: row.text for row in self._store.get_sentences(self.number)}
        # Removed since: places stay, texts are gone.
        return tuple(found.get(position, "") for position in range(self._count))


def get_number(document: Document | None) -> int:
    """Return the number of a document of an index; -1 of any other."""
    if document is None or not isinstance(document.sentences, StoredSentences):
        return -1
    return document.sentences.number
