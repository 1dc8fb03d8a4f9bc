"""What users say of answers, kept with the index.

A mark is about a question and a sentence, word for word, wherever in the index it stands.  It
counts for as long as the sentence stands somewhere: it sleeps when the sentence goes, wakes
when it is back, and goes for good when the index is compacted.
"""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from rejoinder.errors import InputError
from rejoinder.index.sqlite.database import Database
from rejoinder.types import Mark


class StoredMark(NamedTuple):
    """A mark, and the first place where its sentence stands."""

    mark: Mark
    document: int
    position: int


def add_marks(database: Database, marks: Iterable[Mark]) -> list[Mark]:
    """Keep marks, all at once, and return those whose sentences the index does not hold.

    Raises:
        InputError: a question or a sentence is empty or no text.
        StoreError: the index cannot be written.
    """
    given = [(mark, _clean(mark)) for mark in marks]
    standing = _find_standing(database, {clean.sentence for _, clean in given})
    kept = [clean for _, clean in given if clean.sentence in standing]
    if kept:
        # Of the same question and sentence, the last one counts.
        with database.writing():
            database.run_many(
                "INSERT OR REPLACE INTO feedback(question, sentence, is_right) VALUES (?, ?, ?)",
                ((mark.question, mark.sentence, int(mark.right)) for mark in kept),
            )
    return [mark for mark, clean in given if clean.sentence not in standing]


def remove_mark(database: Database, question: str, sentence: str) -> None:
    """Take a mark back.

    Raises:
        InputError: there is no such mark.
        StoreError: the index cannot be written.
    """
    mark = _clean(Mark(question, sentence, True))
    removed = database.query(
        "DELETE FROM feedback WHERE question = ? AND sentence = ? RETURNING id",
        (mark.question, mark.sentence),
    )
    if not removed:
        raise InputError(f"{mark.sentence[:60]!r} is not marked for {mark.question[:60]!r}")


def get_marks(database: Database) -> list[StoredMark]:
    """Return the marks whose sentences still stand, in the order of marking."""
    # CROSS JOIN: sentences are read once, and each looked up among the marks.
    rows = database.query(
        "SELECT feedback.id, question, sentence, is_right, document, position"
        " FROM sentences CROSS JOIN feedback ON feedback.sentence = sentences.text"
        " WHERE NOT is_heading"
    )
    found: dict[int, StoredMark] = {}
    for id_, question, sentence, is_right, document, position in rows:
        mark = Mark(question, sentence, bool(is_right))
        found.setdefault(id_, StoredMark(mark, document, position))
    return [found[id_] for id_ in sorted(found)]


def forget_sleeping(database: Database) -> None:
    """Drop the marks whose sentences are gone: they hold removed text."""
    database.query(
        "DELETE FROM feedback WHERE sentence NOT IN (SELECT text FROM sentences"
        " WHERE text IN (SELECT sentence FROM feedback))"
    )


def say_unknown(sentence: str) -> str:
    """Return what to tell of a sentence that the index does not hold."""
    return f"no sentence of the index reads {sentence[:60]!r}; give it whole, as `ask` prints it"


def _find_standing(database: Database, texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that a sentence of the index reads word for word.

    Reads all sentences once, however many texts there are.
    """
    rows = database.query(
        "SELECT DISTINCT text FROM sentences"
        " WHERE text IN (SELECT value FROM json_each(?)) AND NOT is_heading",
        (json.dumps(list(texts)),),
    )
    return frozenset(row[0] for row in rows)


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
