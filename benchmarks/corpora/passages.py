"""SQLite's FTS5 over passages of eight sentences, as a developer would build it in an hour."""

import re
import sqlite3
from collections.abc import Iterable
from itertools import groupby

from benchmarks.corpora.indexes import Entry
from benchmarks.function_words import FUNCTION_WORDS

SENTENCES = 8


class PassageSearch:
    """A table in memory with one row per passage."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._passages: list[list[str]] = []
        for _, group in groupby(entries, key=lambda entry: entry.document):
            texts = [entry.text for entry in group]
            self._passages += [texts[at : at + SENTENCES] for at in range(0, len(texts), SENTENCES)]
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            "CREATE VIRTUAL TABLE passages USING fts5(text, tokenize = 'porter unicode61')"
        )
        self._database.executemany(
            "INSERT INTO passages(rowid, text) VALUES (?, ?)",
            ((row, " ".join(passage)) for row, passage in enumerate(self._passages)),
        )

    def search(self, question: str, k: int) -> list[list[str]]:
        """Return the sentences of the k best passages, by BM25 of the question's content words."""
        words = re.findall(r"\w+", question.lower())
        content = [word for word in words if word not in FUNCTION_WORDS] or words
        if not content:
            return []
        rows = self._database.execute(
            "SELECT rowid FROM passages WHERE passages MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in content), k),
        )
        return [self._passages[row] for (row,) in rows]
