"""The words that a scorer has met: each gets a row once, and with it all that depends on it alone.

What a network computes from a word's vector is the same for every sentence, so it is kept
(Cosinet: the products with its kernel, 6 kB a word).  The table is bounded; when it is
full, a new one is begun, and whoever still reads the old one keeps it.
"""

import threading
from collections.abc import Callable, Sequence

import numpy as np

from rejoinder.runtime.networks.pairs import Ids, Matrix
from rejoinder.runtime.static_vectors import StaticVectors

CAPACITY = 16_384

Derive = Callable[[Matrix], Matrix]


class WordTable:
    """Rows of vectors and of what is derived from them; row 0 is no word, and zeros."""

    def __init__(self, capacity: int, width: int, derived_width: int) -> None:
        self.vectors = np.zeros((capacity, width), dtype=np.float32)
        self.derived = np.zeros((capacity, derived_width), dtype=np.float32)
        self.rows: dict[str, int] = {"": 0}

    def has_room_for(self, count: int) -> bool:
        """Whether so many words more fit in."""
        return len(self.rows) + count <= len(self.vectors)


class WordTables:
    """Looks words up in the current table, adding those that are new; safe from many threads."""

    def __init__(
        self,
        vectors: StaticVectors,
        *,
        derive: Derive | None = None,
        derived_width: int = 0,
        capacity: int = CAPACITY,
    ) -> None:
        self._source = vectors
        self._derive = derive
        self._derived_width = derived_width
        self._capacity = capacity
        self._table = WordTable(capacity, vectors.width, derived_width)
        self._lock = threading.Lock()

    def look_up(self, texts: Sequence[Sequence[str]]) -> tuple[WordTable, list[Ids]]:
        """Return a table that has all words of the texts, and the rows of each text.

        A text without words is the one row of no word.
        """
        table = self._table
        wanted = set().union(*texts)
        if not wanted <= table.rows.keys():
            table = self._add(wanted)
        rows = table.rows
        return table, [
            np.array([rows[word] for word in text] or [0], dtype=np.int64) for text in texts
        ]

    def _add(self, wanted: set[str]) -> WordTable:
        with self._lock:
            table = self._table
            missing = sorted(wanted - table.rows.keys())
            if not table.has_room_for(len(missing)):
                missing = sorted(wanted)
                # A list of very many words gets a table of its own size.
                capacity = max(self._capacity, len(missing) + 1)
                table = WordTable(capacity, self._source.width, self._derived_width)
            if missing:
                self._fill(table, missing)
            self._table = table
            return table

    def _fill(self, table: WordTable, words: list[str]) -> None:
        first = len(table.rows)
        vectors = self._source.embed(words)
        table.vectors[first : first + len(words)] = vectors
        if self._derive is not None:
            table.derived[first : first + len(words)] = self._derive(vectors)
        # Only now may others find the words: their rows are complete.
        table.rows = {**table.rows, **{word: first + at for at, word in enumerate(words)}}
