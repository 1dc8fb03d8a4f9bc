"""Reads the documents and sentences of SQLite as `Document`, `Candidate` and `Source`."""

import json
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import overload
from urllib.parse import quote

from rejoinder.index.file_reader import compare_file
from rejoinder.index.sqlite.documents import (
    DocumentStore,
    FoundSentence,
    Place,
    StoredDocument,
    split_path,
)
from rejoinder.types import (
    Candidate,
    Document,
    RetrievalScores,
    ScoredCandidate,
    Source,
    Where,
)

URL = "url"
"""The metadata key for the address that a document came with."""
MAX_COPIES = 20
"""Other places of a sentence that are listed."""
_PAGE_SOURCE = re.compile(r"(?:^|[/:])_sources/")
"""In the id of a document: Sphinx publishes the source of each page in this folder."""


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
        if isinstance(place, int):
            return self._texts[place] if place < 0 else self._read(place, place + 1)[0]
        start, stop, step = place.indices(self._count)
        is_part = step == 1 and stop - start < self._count
        return self._read(start, stop) if is_part else self._texts[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

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
        return self._read(0, self._count)

    def _read(self, start: int, stop: int) -> tuple[str, ...]:
        # A document that was removed meanwhile keeps its positions, with empty texts.
        return self._store.get_texts(self.number, range(self._count)[start:stop])


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
    documents: dict[int, Document] = {}
    with store.decoding(), store.reading_sentences(found) as rows:
        for row in rows:
            if row.text not in results:
                scores = found[row.number, row.position]
                candidate = _to_candidate(store, row, documents, scores)
                results[row.text] = ScoredCandidate(candidate, scores.merged, len(results) + 1)
                if len(results) == k:
                    break
    return list(results.values())


def get_candidate(store: DocumentStore, place: Place) -> Candidate | None:
    """Return the sentence at a place; None where it was removed."""
    with store.decoding(), store.reading_sentences([place]) as rows:
        return next((_to_candidate(store, row, {}) for row in rows), None)


def read_passages(store: DocumentStore, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return candidates with the passages that they are in, all read at once.

    A candidate that is not of this index, or that was removed, is returned as it is.
    """
    from rejoinder.index.sqlite.passages import get_passages  # the default reads none

    places = [(get_number(item.document), item.position) for item in candidates]
    known = [(number, position) for number, position in places if position is not None]
    with store.decoding():
        passages = get_passages(store, [place for place in known if place[0] >= 0])
    found = (
        passages.get((number, position)) if position is not None else None
        for number, position in places
    )
    return [
        item if passage is None else replace(item, passage=passage)
        for item, passage in zip(candidates, found, strict=True)
    ]


def _to_candidate(
    store: DocumentStore,
    row: FoundSentence,
    documents: dict[int, Document],
    scores: RetrievalScores | None = None,
) -> Candidate:
    """Return a sentence that was found; `documents` has those of earlier ones, by number."""
    document = documents.get(row.number)
    if document is None:
        metadata = json.loads(row.metadata)
        stored = StoredDocument(row.number, row.name, row.title, metadata, row.sentences)
        document = documents[row.number] = to_document(store, stored)
    return Candidate(
        f"{document.id}#{row.position}",
        row.text,
        document,
        row.position,
        drop_title(split_path(row.path), row.title),
        row.tokens,
        None if scores is None else scores.merged,
        scores,
    )


def locate(store: DocumentStore, document: Document | None, position: int | None) -> Source | None:
    """Return the source of a sentence; None where it was removed, or is not of this index."""
    number = get_number(document)
    found = store.locate(number, position) if number >= 0 and position is not None else None
    if document is None or found is None:
        return None
    return Source(
        document.id,
        document.title,
        found.line,
        found.start,
        found.end,
        found.page,
        drop_title(found.path, document.title),
        found.anchor,
        number,
        make_url(document.metadata.get(URL, ""), found.file, found.page, found.anchor),
        compare_file(found.file, found.state) if found.state else None,
    )


def make_url(given: str, file: bytes, page: int | None = None, anchor: str = "") -> str:
    """Return a URL that opens a place of a document; empty if it has neither URL nor file.

    Args:
        given: the URL that the document came with; only http and https are believed.

    >>> make_url("https://example.org/tea", b"", anchor="green")
    'https://example.org/tea#green'
    """
    fragment = f"page={page}" if page else quote(anchor)
    if given.startswith(("http://", "https://")):
        return given if "#" in given or not fragment else f"{given}#{fragment}"
    path = Path(os.fsdecode(file))
    if not path.is_absolute():  # an upload, or a document without a file
        return ""
    return path.as_uri() + (f"#{fragment}" if fragment and _has_places(path) else "")


def _has_places(path: Path) -> bool:
    """Return whether browsers open such a file at a fragment of its URL."""
    return path.suffix.lower() in {".html", ".htm", ".xhtml", ".pdf"}


def drop_title(path: tuple[str, ...], title: str) -> tuple[str, ...]:
    """Return a heading path without the title of its document, where it begins with that."""
    return path[1:] if path[:1] == (title,) else path


def locate_copies(store: DocumentStore, candidate: Candidate, where: Where | None) -> list[Source]:
    """Return the other places where a candidate occurs word for word, the first of many."""
    own = (get_number(candidate.document), candidate.position)
    copies = store.find_copies(candidate.text, where=where, limit=MAX_COPIES + 1)
    places = [place for place in copies if place != own][:MAX_COPIES]
    documents = _find_documents(store, places) if places else {}
    sources = (locate(store, documents.get(number), position) for number, position in places)
    return [source for source in sources if source]


def is_page_source(candidate: Candidate) -> bool:
    """Return whether a candidate is from the source of a page that is published beside it."""
    return candidate.document is not None and bool(_PAGE_SOURCE.search(candidate.document.id))


def find_page_copy(
    store: DocumentStore, candidate: Candidate, where: Where | None
) -> Candidate | None:
    """Return the same sentence of a document that is no source of a page, if there is one."""
    for place in store.find_copies(candidate.text, where=where, limit=MAX_COPIES + 1):
        copy = get_candidate(store, place)
        if copy and not is_page_source(copy):
            return copy
    return None


def to_document(store: DocumentStore, stored: StoredDocument) -> Document:
    """Return a stored document, whose sentences are read lazily."""
    sentences = StoredSentences(store, stored.id, stored.sentences)
    return Document(stored.name, stored.title, sentences, metadata=stored.metadata)


def _find_documents(store: DocumentStore, places: Collection[Place]) -> dict[int, Document]:
    rows = store.find_documents("id", {number for number, _ in places})
    return {row.id: to_document(store, row) for row in rows}
