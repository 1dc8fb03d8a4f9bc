"""Changes an index: the truth first, then what finds sentences."""

from collections.abc import Callable

from rejoinder.index.fulltext.search import Search
from rejoinder.index.sqlite.documents import Store

MAX_UNCOMMITTED = 200_000
"""Sentences that are added to what finds them before it is written to disk."""


class Writer:
    """Adds and removes files; each change is whole, and kept once the method has returned."""

    def __init__(self, store: Store, search: Search, forget_removed: Callable[[], None]) -> None:
        self.store = store
        self._search = search
        self._forget_removed = forget_removed
        self._waiting = 0

    def change(self, work: Callable[[Store, int], tuple[list[int], list[int]]]) -> None:
        """Commit one change: `work` returns the numbers of documents added and removed."""
        with self.store.changing() as generation:
            added, removed = work(self.store, generation)
        for number in removed:
            self._search.remove(number)
        for number in added:
            document = self.store.get_document(number)
            assert document is not None
            self._search.add(document, self.store.get_sentences(number))
            self._waiting += document.sentences
        if self._waiting > MAX_UNCOMMITTED:
            self.finish()

    def finish(self) -> None:
        """Let what finds sentences follow all changes so far."""
        self._waiting = 0
        generation = self.store.generation
        if self._search.generation != generation:
            self._search.commit(generation)
            self._forget_removed()
