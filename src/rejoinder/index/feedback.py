"""Marks: users' judgements of answers, stored with the index.

A mark belongs to a question and the text of a sentence, wherever in the index it occurs.  It
is ignored while no document holds the sentence, counts again when one does, and is deleted when
the index is compacted without it.
"""

from collections.abc import Iterable
from typing import NamedTuple

from rejoinder.documents.blocks import fold
from rejoinder.errors import InputError
from rejoinder.index.sqlite.documents import DocumentStore
from rejoinder.types import Mark


class StoredMark(NamedTuple):
    """A mark, and the first place of its sentence."""

    mark: Mark
    document: int
    position: int


def add_marks(store: DocumentStore, marks: Iterable[Mark]) -> list[Mark]:
    """Store marks, all or none, and return those whose sentences the index does not hold."""
    given = [(mark, _clean(mark)) for mark in marks]
    known = _find_known(store, {clean.sentence for _, clean in given})
    kept = [clean for _, clean in given if clean.sentence in known]
    if kept:
        with store.transaction():  # the last mark of a question and sentence counts
            store.run_many(
                "INSERT OR REPLACE INTO feedback(question, sentence, is_right) VALUES (?, ?, ?)",
                ((mark.question, mark.sentence, int(mark.right)) for mark in kept),
            )
    return [mark for mark, clean in given if clean.sentence not in known]


def remove_mark(store: DocumentStore, question: str, sentence: str) -> None:
    """Remove a mark; refuse where there is none."""
    mark = _clean(Mark(question, sentence, True))
    removed = store.query(
        "DELETE FROM feedback WHERE question = ? AND sentence = ? RETURNING id",
        (mark.question, mark.sentence),
    )
    if not removed:
        raise InputError(f"{mark.sentence[:60]!r} is not marked for {mark.question[:60]!r}")


def get_marks(store: DocumentStore) -> list[StoredMark]:
    """Return the marks whose sentences the index holds, in the order of marking."""
    rows = store.query("SELECT question, sentence, is_right FROM feedback ORDER BY id")
    marks = []
    for question, sentence, is_right in rows:
        if places := store.find_copies(sentence):
            marks.append(StoredMark(Mark(question, sentence, bool(is_right)), *places[0]))
    return marks


def drop_orphans(store: DocumentStore) -> None:
    """Delete the marks whose sentences are gone: they hold removed text."""
    rows = store.query("SELECT id, sentence FROM feedback")
    orphans = [(id_,) for id_, sentence in rows if not store.find_copies(sentence)]
    store.run_many("DELETE FROM feedback WHERE id = ?", orphans)


def describe_unknown(sentence: str) -> str:
    """Return the error message for a sentence that the index does not hold."""
    return f"the index has no sentence {sentence[:60]!r}; give all of it, as `ask` prints it"


def _find_known(store: DocumentStore, texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that are sentences of the index."""
    return frozenset(text for text in texts if store.find_copies(text))


def _clean(mark: Mark) -> Mark:
    """Return a mark with single spaces, as sentences are stored."""
    question, sentence = _collapse(mark.question, "question"), _collapse(mark.sentence, "sentence")
    return Mark(question, sentence, mark.right)


def _collapse(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the {what} is not text: {text[:60]!r}") from error
    if not text.strip():
        raise InputError(f"the {what} is empty")
    return fold(text)
