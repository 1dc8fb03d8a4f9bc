"""Finds damage in an index: in SQLite, and in the data derived from it."""

from contextlib import suppress

from rejoinder.errors import StoreError
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.sidecar.sidecars import Sidecars
from rejoinder.index.sqlite.documents import DocumentStore, StoredDocument
from rejoinder.index.vectors.vector_index import VectorIndex


def find_problems(
    store: DocumentStore, full_text: FullTextIndex, vectors: VectorIndex, sidecars: Sidecars
) -> list[str]:
    """Return all problems: damaged or missing documents, stale or corrupt derived data."""
    problems = store.find_damage()
    problems.extend(sidecars.find_damage())
    for document in store.get_documents():
        if problem := _check_document(store, document):
            problems.append(f"{document.name}: {problem}; remove its file and add it again")
    try:
        full_text.refresh()
    except StoreError as error:
        return [*problems, str(error)]
    expected = store.count_candidates()
    return [*problems, *_check_full_text(full_text, expected), *vectors.find_damage(expected)]


def _check_document(store: DocumentStore, document: StoredDocument) -> str:
    """Return the problem of a corrupt document; empty where it is intact."""
    text = store.get_text(document.id)
    rows = store.get_sentences(document.id)
    if [row.position for row in rows] != list(range(document.sentences)):
        return f"{len(rows)} of {document.sentences} sentences are there"
    with suppress(TypeError, AttributeError):  # values of other types: the checksum tells
        if any(_get_letters(text[row.start : row.end]) != _get_letters(row.text) for row in rows):
            return "the offsets of a sentence do not match the text"
    return "" if store.has_valid_checksum(document.id) else "checksum mismatch"


def _check_full_text(full_text: FullTextIndex, expected: int) -> list[str]:
    """Return the problems of the full-text index, which should hold so many sentences."""
    current = full_text.current
    if corrupt := current.find_damage():
        return corrupt
    if full_text.is_stale:
        return ["the full-text index is stale; it is brought up to date once no process writes"]
    if current.sentence_count != expected:
        return [
            f"the full-text index holds {current.sentence_count} of {expected} sentences;"
            " rebuild it with 'rejoinder index compact'"
        ]
    return []


def _get_letters(text: str) -> str:
    """Return text without the characters that reading adds and drops at line ends."""
    return "".join(text.split()).replace("-", "")
