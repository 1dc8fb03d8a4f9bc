"""Writes changes to an index: SQLite first, then the full-text index and the vectors."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from rejoinder.documents.parsed import ParsedDocument
from rejoinder.documents.passages import iterate_passages
from rejoinder.errors import StoreError
from rejoinder.index.fulltext.full_text_index import TantivyIndex
from rejoinder.index.sqlite.documents import DocumentStore, Encode, StoredDocument
from rejoinder.index.vectors.vector_index import VectorIndex

MAX_UNCOMMITTED = 200_000
"""Sentences that are added to the full-text index before it is committed."""


class Writer:
    """Adds and removes documents; the caller holds the index's lock."""

    def __init__(
        self,
        store: DocumentStore,
        full_text: TantivyIndex,
        vectors: VectorIndex,
        encode: Encode | None,
        on_commit: Callable[[], None],
    ) -> None:
        self.store = store
        self._full_text = full_text
        self._vectors = vectors
        self._encode = encode
        self._on_commit = on_commit
        self._uncommitted = 0

    @contextmanager
    def change(self) -> Iterator["Change"]:
        """Yield one change; at the end of the block all of it is on disk, or nothing."""
        change = Change(self.store, self._full_text, self._vectors, self._encode)
        try:
            with self._vectors.changing(), self.store.changing() as generation:
                change.generation = generation
                yield change
        except BaseException:
            with suppress(StoreError):  # uncommitted, so closing it would drop them as well
                for number in change.added:
                    self._full_text.remove(number)
            raise
        for number in change.removed:
            self._full_text.remove(number)
        self._vectors.remove(change.removed)
        self._uncommitted += change.sentences
        if self._uncommitted > MAX_UNCOMMITTED:
            self.commit()

    def commit(self) -> None:
        """Commit derived data, so that all changes so far can be searched."""
        self._uncommitted = 0
        generation = self.store.generation
        if self._full_text.generation != generation:
            self._full_text.commit(generation)
            self._vectors.commit(generation)
            self._on_commit()


class Change:
    """The documents that one transaction adds and removes."""

    def __init__(
        self,
        store: DocumentStore,
        full_text: TantivyIndex,
        vectors: VectorIndex,
        encode: Encode | None,
    ) -> None:
        self._store = store
        self._full_text = full_text
        self._vectors = vectors
        self._encode = encode
        self.generation = 0
        self.added: list[int] = []
        self.removed: list[int] = []
        self.sentences = 0

    def add(self, file: bytes, document: ParsedDocument) -> StoredDocument:
        """Add a document of a file: its blocks are stored while derived data reads them."""
        assert self._encode, "opened for removals only"
        # A question over files that have not changed writes nothing.
        from rejoinder.index.sqlite.document_writer import DocumentWriter

        writer = DocumentWriter.begin(self._store, file, document, self._encode, self.generation)
        self.added.append(writer.document.id)
        adder = self._full_text.begin(writer.document)
        passages = iterate_passages(writer.write(document.blocks))
        for passage in self._vectors.record(writer.document, passages):
            adder.add(passage)
        stored = writer.finish()
        self.sentences += stored.sentences
        return stored

    def replace(self, document: ParsedDocument) -> None:
        """Add a document that has no file; it replaces the one of the same name."""
        file = document.name.encode()
        self.remove_file(file)
        self.add(file, document)

    def remove_file(self, file: bytes) -> int:
        """Remove a file and its documents, and return how many there were."""
        numbers = self._store.remove_file(file, self.generation)
        self.removed += numbers
        return len(numbers)

    def remove_document(self, number: int) -> None:
        """Remove one document."""
        self._store.remove_document(number, self.generation)
        self.removed.append(number)
