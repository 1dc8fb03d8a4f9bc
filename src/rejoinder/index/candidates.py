"""Reads the places of sentences in SQLite as candidates, and their sources."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from rejoinder.index.sqlite.documents import (
    DocumentStore,
    Place,
    StoredDocument,
    StoredSentences,
    get_number,
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
