"""What users say of answers, kept with the index.

A mark is about a question and a sentence, word for word, wherever in the index it stands.  It
counts for as long as the sentence stands somewhere: it sleeps when the sentence goes, wakes
when it is back, and goes for good when the index is compacted.
"""

from collections.abc import Iterable
from dataclasses import replace

from rejoinder.errors import InputError
from rejoinder.index.store import Store
from rejoinder.records import Mark


def add_marks(store: Store, marks: Iterable[Mark]) -> list[Mark]:
    """Keep marks, all at once, and return those whose sentences the index does not hold.

    Raises:
        InputError: a question or a sentence is empty or no text.
        StoreError: the index cannot be written.
    """
    given = [(mark, _clean(mark)) for mark in marks]
    standing = store.find_texts({clean.sentence for _, clean in given})
    kept = [clean for _, clean in given if clean.sentence in standing]
    if kept:
        store.put_marks(kept)
    return [mark for mark, clean in given if clean.sentence not in standing]


def remove_mark(store: Store, question: str, sentence: str) -> None:
    """Take a mark back.

    Raises:
        InputError: there is no such mark.
        StoreError: the index cannot be written.
    """
    mark = _clean(Mark(question, sentence, True))
    if not store.remove_mark(mark.question, mark.sentence):
        raise InputError(f"{mark.sentence[:60]!r} is not marked for {mark.question[:60]!r}")


def say_unknown(sentence: str) -> str:
    """Return what to tell of a sentence that the index does not hold."""
    return f"no sentence of the index reads {sentence[:60]!r}; give it whole, as `ask` prints it"


def _clean(mark: Mark) -> Mark:
    """Return a mark in the form in which sentences are stored: single spaces, no others."""
    return replace(
        mark,
        question=_collapse(mark.question, "question"),
        sentence=_collapse(mark.sentence, "sentence"),
    )


def _collapse(text: str, what: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"the {what} is not text: {text[:60]!r}") from error
    if not text.strip():
        raise InputError(f"the {what} is empty")
    return " ".join(text.split())
