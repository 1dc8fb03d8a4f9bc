"""Marks: users' judgements of answers, stored with the index.

A mark belongs to a question and the text of a sentence, wherever in the index it occurs.  It
is ignored while no document holds the sentence, counts again when one does, and is deleted when
the index is compacted without it.
"""

import json
from collections.abc import Iterable
from typing import NamedTuple

from rejoinder.errors import InputError
from rejoinder.index.sqlite.database import Database
from rejoinder.types import Mark


class StoredMark(NamedTuple):
    """A mark, and the first place of its sentence."""

    mark: Mark
    document: int
    position: int


def add_marks(database: Database, marks: Iterable[Mark]) -> list[Mark]:
    """Store marks, all or none, and return those whose sentences the index does not hold."""
    given = [(mark, _clean(mark)) for mark in marks]
    known = _find_known(database, {clean.sentence for _, clean in given})
    kept = [clean for _, clean in given if clean.sentence in known]
    if kept:
        with database.transaction():  # the last mark of a question and sentence counts
            database.run_many(
                "INSERT OR REPLACE INTO feedback(question, sentence, is_right) VALUES (?, ?, ?)",
                ((mark.question, mark.sentence, int(mark.right)) for mark in kept),
            )
    return [mark for mark, clean in given if clean.sentence not in known]


def remove_mark(database: Database, question: str, sentence: str) -> None:
    """Remove a mark; refuse where there is none."""
    mark = _clean(Mark(question, sentence, True))
    removed = database.query(
        "DELETE FROM feedback WHERE question = ? AND sentence = ? RETURNING id",
        (mark.question, mark.sentence),
    )
    if not removed:
        raise InputError(f"{mark.sentence[:60]!r} is not marked for {mark.question[:60]!r}")


def get_marks(database: Database) -> list[StoredMark]:
    """Return the marks whose sentences the index holds, in the order of marking."""
    # CROSS JOIN: scan the sentences once, and look each up among the marks.
    rows = database.query(
        "SELECT feedback.id, question, sentence, is_right, document, position"
        " FROM sentences CROSS JOIN feedback ON feedback.sentence = sentences.text"
        " WHERE NOT is_heading"
    )
    marks: dict[int, StoredMark] = {}
    for id_, question, sentence, is_right, document, position in rows:
        mark = Mark(question, sentence, bool(is_right))
        marks.setdefault(id_, StoredMark(mark, document, position))
    return [marks[id_] for id_ in sorted(marks)]


def drop_orphans(database: Database) -> None:
    """Delete the marks whose sentences are gone: they hold removed text."""
    database.query(
        "DELETE FROM feedback WHERE sentence NOT IN (SELECT text FROM sentences"
        " WHERE text IN (SELECT sentence FROM feedback))"
    )


def describe_unknown(sentence: str) -> str:
    """Return the error message for a sentence that the index does not hold."""
    return f"the index has no sentence {sentence[:60]!r}; give all of it, as `ask` prints it"


def _find_known(database: Database, texts: Iterable[str]) -> frozenset[str]:
    """Return the texts that are sentences of the index, in one scan over all sentences."""
    rows = database.query(
        "SELECT DISTINCT text FROM sentences"
        " WHERE text IN (SELECT value FROM json_each(?)) AND NOT is_heading",
        (json.dumps(list(texts)),),
    )
    return frozenset(row[0] for row in rows)


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
    return " ".join(text.split())
