"""The words that a scorer has met: each gets a row once, and with it all that depends on it alone.

What a network computes from a word's vector is the same for every sentence, so it is kept
(Cosinet: the products with its kernel, 6 kB a word).  The table is bounded; when it is
full, a new one is begun, and whoever still reads the old one keeps it.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from rejoinder.models.ranker.pairs import Ids, Matrix
from rejoinder.models.static_vectors.vectors import StaticVectors, Word, read_pieces

CAPACITY = 16_384
PADDING = 0
PIECE_BYTES = 4
NO_WORD = bytes(PIECE_BYTES)

Derive = Callable[[Matrix], Matrix]


class WordTable:
    """Rows of vectors and of what is derived from them; row 0 is no word, and zeros."""

    def __init__(self, capacity: int, width: int, derived_width: int, pieces: int) -> None:
        self.vectors = np.zeros((capacity, width), dtype=np.float32)
        self.derived = _make_aligned(capacity, derived_width)
        self.rows: dict[Word, int] = {"": 0}
        self.by_piece = np.zeros(pieces, dtype=np.int64)  # rows of words of one piece

    def has_room_for(self, count: int) -> bool:
        """Whether so many words more fit in."""
        return len(self.rows) + count <= len(self.vectors)


class WordRows(NamedTuple):
    """The words of some texts, one text after another, as rows of a table."""

    table: WordTable
    rows: Ids  # (N,)
    lengths: Ids  # (texts,), at least 1: a text without words is the row of no word


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
        self._table = self._make_table(capacity)
        self._lock = threading.Lock()

    def look_up(self, texts: Sequence[Sequence[Word]]) -> WordRows:
        """Return the rows of texts that are cut into words."""
        table = self._table
        wanted = set().union(*texts)
        if not wanted <= table.rows.keys():
            table = self._add(wanted)
        rows = table.rows
        found = [[rows[word] for word in text] or [0] for text in texts]
        lengths = np.array([len(text) for text in found], dtype=np.int64)
        return WordRows(table, np.fromiter(chain.from_iterable(found), dtype=np.int64), lengths)

    def look_up_tokens(self, question: Sequence[str], texts: Sequence[bytes]) -> WordRows:
        """Return the rows of a question in words, and of texts that are stored as word pieces."""
        tokens = _Tokens(texts)
        table = self._table
        rows = tokens.to_rows(table) if table.rows.keys() >= set(question) else None
        if rows is None:
            table = self._add({*question, *tokens.find_words()})
            rows = tokens.to_rows(table)
            assert rows is not None, "every word was added"
        asked = [table.rows[word] for word in question] or [0]
        lengths = np.concatenate([[len(asked)], tokens.lengths])
        return WordRows(table, np.concatenate([np.array(asked, dtype=np.int64), rows]), lengths)

    def _make_table(self, capacity: int) -> WordTable:
        pieces = len(self._source.vocabulary) if self._source.are_pieces else 0
        return WordTable(capacity, self._source.width, self._derived_width, pieces)

    def _add(self, wanted: set[Word]) -> WordTable:
        with self._lock:
            table = self._table
            missing = sorted(wanted - table.rows.keys(), key=str)
            if not table.has_room_for(len(missing)):
                missing = sorted(wanted, key=str)
                # A list of very many words gets a table of its own size.
                table = self._make_table(max(self._capacity, len(missing) + 1))
            if missing:
                self._fill(table, missing)
            self._table = table
            return table

    def _fill(self, table: WordTable, words: list[Word]) -> None:
        first = len(table.rows)
        vectors = self._source.embed(words)
        table.vectors[first : first + len(words)] = vectors
        if self._derive is not None:
            table.derived[first : first + len(words)] = self._derive(vectors)
        # Only now may others find the words: their rows are complete.
        table.rows = {**table.rows, **{word: first + at for at, word in enumerate(words)}}
        for at, word in enumerate(words):
            if isinstance(word, bytes) and len(word) == PIECE_BYTES:
                table.by_piece[read_pieces(word)[0]] = first + at


class _Tokens:
    """Texts as stored word pieces, cut into words without looking at each: most are one piece."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        # A text without words is one piece of padding, which is no word.
        stored = b"".join(text or NO_WORD for text in texts)
        flat = np.frombuffer(stored, dtype="<i4")
        ends = np.cumsum([len(text) // PIECE_BYTES or 1 for text in texts])
        starts = np.flatnonzero(flat >= 0)
        sizes = np.diff(starts, append=len(flat))
        self._first = flat[starts]
        self._places = np.flatnonzero(sizes > 1)  # of words of several pieces
        begins = starts[self._places] * PIECE_BYTES
        stops = begins + sizes[self._places] * PIECE_BYTES
        self._several = [
            stored[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)
        ]
        words_until = np.searchsorted(starts, ends, side="left")
        self.lengths = np.diff(words_until, prepend=0)  # (texts,)

    def find_words(self) -> set[Word]:
        """Return the distinct words."""
        is_one = np.ones(len(self._first), dtype=bool)
        is_one[self._places] = False
        pieces = np.unique(self._first[is_one])
        return {piece.tobytes() for piece in pieces if piece != PADDING} | set(self._several)

    def to_rows(self, table: WordTable) -> Ids | None:
        """Return the row of each word; None where the table lacks one."""
        rows = table.by_piece[self._first]
        several = list(map(table.rows.get, self._several))
        if None in several:
            return None
        rows[self._places] = several
        is_missing = (rows == 0) & (self._first != PADDING)
        return None if is_missing.any() else rows


def _make_aligned(rows: int, width: int) -> Matrix:
    """Return zeros whose first number begins a line of the cache."""
    line = 64 // 4
    room = np.zeros(rows * width + line, dtype=np.float32)
    start = -(room.ctypes.data // 4) % line
    return room[start : start + rows * width].reshape(rows, width)
