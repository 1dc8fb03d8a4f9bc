"""Reads the documents and sentences of SQLite as `Document`, `Candidate` and `Source`."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import overload

from rejoinder.index.sqlite.documents import (
    DocumentStore,
    Place,
    StoredDocument,
)
from rejoinder.types import (
    Candidate,
    Document,
    RetrievalScores,
    ScoredCandidate,
    Source,
    Where,
)

MAX_COPIES = 20
"""Other places of a sentence that are listed."""


class StoredSentences(Sequence[str]):
    """The sentences of one document in order, fetched on first access.

    Equal to others of the same document.
    """

    def __init__(self, store: DocumentStore, number: int, count: int) -> None:
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
            sentence = self._store.get_sentence(self.number, place)
            return sentence.text if sentence else ""
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
        texts = {row.position: row.text for row in self._store.get_sentences(self.number)}
        # A document that was removed meanwhile keeps its positions, with empty texts.
        return tuple(texts.get(position, "") for position in range(self._count))


def get_number(document: Document | None) -> int:
    """Return the number of a document of an index; -1 for any other document."""
    if document is None or not isinstance(document.sentences, StoredSentences):
        return -1
    return document.sentences.number


def read_distinct(
    store: DocumentStore, found: Mapping[Place, RetrievalScores], k: int
) -> list[ScoredCandidate]:
    """Return the first k sentences of different text; more are not read."""
    results: dict[str, ScoredCandidate] = {}
    places = list(found)
    for start in range(0, len(places), k):
        for place, candidate in find_candidates(store, places[start : start + k]):
            if candidate.text not in results and len(results) < k:
                scored = replace(candidate, retrieval=found[place])
                rank = len(results) + 1
                results[candidate.text] = ScoredCandidate(scored, found[place].merged, rank)
        if len(results) == k:
            break
    return list(results.values())


def find_candidates(
    store: DocumentStore, places: Collection[Place]
) -> Iterator[tuple[Place, Candidate]]:
    """Yield the sentences at these places that are still there, in the same order."""
    documents = _find_documents(store, places)
    sentences = store.find_sentences(places)
    for place in places:
        document, row = documents.get(place[0]), sentences.get(place)
        if document and row:
            id_ = f"{document.id}#{row.position}"
            yield place, Candidate(id_, row.text, document, row.position, row.tokens)


def locate(store: DocumentStore, document: Document | None, position: int | None) -> Source | None:
    """Return the source of a sentence; None where it was removed, or is not of this index."""
    number = get_number(document)
    row = store.get_sentence(number, position) if number >= 0 and position is not None else None
    if document is None or row is None:
        return None
    path, anchor = store.get_section(number, row.block)
    headings = path[1:] if path[:1] == (document.title,) else path
    return Source(
        document.id,
        document.title,
        row.line,
        row.start,
        row.end,
        row.page,
        headings,
        anchor,
    )


def locate_copies(store: DocumentStore, candidate: Candidate, where: Where | None) -> list[Source]:
    """Return the other places where a candidate occurs word for word, the first of many."""
    own = (get_number(candidate.document), candidate.position)
    copies = store.find_copies(candidate.text, where=where, limit=MAX_COPIES + 1)
    places = [place for place in copies if place != own][:MAX_COPIES]
    documents = _find_documents(store, places)
    sources = (locate(store, documents.get(number), position) for number, position in places)
    return [source for source in sources if source]


def to_document(store: DocumentStore, stored: StoredDocument) -> Document:
    """Return a stored document, whose sentences are read lazily."""
    sentences = StoredSentences(store, stored.id, stored.sentences)
    return Document(stored.name, stored.title, sentences, metadata=stored.metadata)


def _find_documents(store: DocumentStore, places: Collection[Place]) -> dict[int, Document]:
    rows = store.find_documents("id", {number for number, _ in places})
    return {row.id: to_document(store, row) for row in rows}
