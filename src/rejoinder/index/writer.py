"""Writes changes to an index: SQLite first, then the full-text index."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rejoinder.documents.parsed import ParsedDocument, Sentence
from rejoinder.index.fulltext.full_text_index import TantivyIndex
from rejoinder.index.sqlite.documents import DocumentStore, Encode, StoredDocument

MAX_UNCOMMITTED = 200_000
"""Sentences that are added to the full-text index before it is committed."""


class Writer:
    """Adds and removes documents; the caller holds the index's lock."""

    def __init__(
        self,
        store: DocumentStore,
        full_text: TantivyIndex,
        encode: Encode | None,
        on_commit: Callable[[], None],
    ) -> None:
        self.store = store
        self._full_text = full_text
        self._encode = encode
        self._on_commit = on_commit
        self._uncommitted = 0

    @contextmanager
    def change(self) -> Iterator["Change"]:
        """Yield one change; at the end of the block all of it is on disk, or nothing."""
        with self.store.changing() as generation:
            change = Change(self.store, generation, self._encode)
            yield change
        for number in change.removed:
            self._full_text.remove(number)
        for document, sentences in change.added.values():
            self._full_text.add(document, sentences)
            self._uncommitted += document.sentences
        if self._uncommitted > MAX_UNCOMMITTED:
            self.commit()

    def commit(self) -> None:
        """Commit the full-text index, so that all changes so far can be searched."""
        self._uncommitted = 0
        generation = self.store.generation
        if self._full_text.generation != generation:
            self._full_text.commit(generation)
            self._on_commit()


class Change:
    """The documents that one transaction adds and removes."""

    def __init__(self, store: DocumentStore, generation: int, encode: Encode | None) -> None:
        self._store = store
        self._generation = generation
        self._encode = encode
        self.added: dict[int, tuple[StoredDocument, Sequence[Sentence]]] = {}
        self.removed: list[int] = []

    def add(self, file: bytes, document: ParsedDocument) -> None:
        """Add a document of a file."""
        assert self._encode, "opened for removals only"
        stored = self._store.add_document(file, document, self._encode, self._generation)
        self.added[stored.id] = stored, document.sentences

    def replace(self, document: ParsedDocument) -> None:
        """Add a document that has no file; it replaces the one of the same name."""
        file = document.name.encode()
        self.remove_file(file)
        self.add(file, document)

    def remove_file(self, file: bytes) -> int:
        """Remove a file and its documents, and return how many there were."""
        return self._note_removed(self._store.remove_file(file, self._generation))

    def remove_document(self, number: int) -> None:
        """Remove one document."""
        self._store.remove_document(number, self._generation)
        self._note_removed([number])

    def _note_removed(self, numbers: Sequence[int]) -> int:
        self.removed += numbers
        for number in numbers:
            self.added.pop(number, None)
        return len(numbers)
