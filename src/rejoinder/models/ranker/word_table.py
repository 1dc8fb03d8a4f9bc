"""A cache of word vectors and of the rows that a network precomputes from them.

A network's products with a word's vector are the same in every sentence (Cosinet: the products
with its kernel, 6 kB a word).  The cache is bounded: a full table is replaced by a new one, and
threads that still read the old one keep it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from rejoinder.models.kernel import Ids, Matrix
from rejoinder.models.static_vectors.vectors import StaticVectors, Word

CAPACITY = 16_384
PADDING = 0
PIECE_BYTES = 4
NO_WORD = bytes(PIECE_BYTES)


class WordTable:
    """Word vectors, and the rows precomputed from them; row 0 is padding, all zeros."""

    def __init__(self, capacity: int, width: int, precomputed_width: int, pieces: int) -> None:
        self.vectors = np.zeros((capacity, width), dtype=np.float32)
        self.precomputed = _make_aligned(capacity, precomputed_width)
        self.rows: dict[Word, int] = {"": 0}
        self.by_piece = np.zeros(pieces, dtype=np.int64)  # rows of words of one piece


class WordRows(NamedTuple):
    """The words of some texts, one text after another, as rows of a table."""

    table: WordTable
    rows: Ids  # (N,)
    lengths: Ids  # (texts,), at least 1: a text without words has one row of padding


class WordTables:
    """Maps words to rows of the current table and adds new words; thread-safe."""

    def __init__(
        self,
        vectors: StaticVectors,
        precompute: Callable[[Matrix, Matrix], None] | None = None,
        precomputed_width: int = 0,
        *,
        capacity: int = CAPACITY,
    ) -> None:
        self._source, self._precompute = vectors, precompute
        self._precomputed_width, self._capacity = precomputed_width, capacity
        self._table = self._make_table(capacity)
        self._lock = threading.Lock()

    def get_rows(self, texts: Sequence[Sequence[Word]]) -> WordRows:
        """Return the rows of texts that are split into words."""
        table = self._table
        words = set().union(*texts)
        if not words <= table.rows.keys():
            table = self._add(words)
        by_word = table.rows
        rows = [[by_word[word] for word in text] or [0] for text in texts]
        lengths = np.array([len(text) for text in rows], dtype=np.int64)
        return WordRows(table, np.fromiter(chain.from_iterable(rows), dtype=np.int64), lengths)

    def get_rows_of_tokens(
        self,
        question: Sequence[str],
        texts: Sequence[bytes],
        others: Mapping[int, Sequence[str]] = MappingProxyType({}),
    ) -> WordRows:
        """Return the rows of a question in words, and of texts stored as word pieces.

        Args:
            others: the words of those texts whose pieces are not read, by place.
        """
        tokens = _StoredTokens([b"" if at in others else text for at, text in enumerate(texts)])
        words: set[Word] = {*question, *chain.from_iterable(others.values())}
        table = self._table
        rows = tokens.to_rows(table) if table.rows.keys() >= words else None
        if rows is None:
            table = self._add(words | tokens.get_words())
            rows = tokens.to_rows(table)
            assert rows is not None, "every word was added"

        def look_up(words: Sequence[str]) -> Ids:
            return np.array([table.rows[word] for word in words] or [0], dtype=np.int64)

        parts = [rows]
        if others:
            parts = np.split(rows, np.cumsum(tokens.lengths)[:-1])
            for place, own in others.items():
                parts[place] = look_up(own)
            tokens.lengths[[*others]] = [len(parts[place]) for place in others]
        first = look_up(question)
        lengths = np.concatenate([[len(first)], tokens.lengths])
        return WordRows(table, np.concatenate([first, *parts]), lengths)

    def _make_table(self, capacity: int) -> WordTable:
        pieces = len(self._source.vocabulary) if self._source.are_pieces else 0
        return WordTable(capacity, self._source.width, self._precomputed_width, pieces)

    def _add(self, words: set[Word]) -> WordTable:
        with self._lock:
            table = self._table
            missing = [word for word in words if word not in table.rows]
            if len(table.rows) + len(missing) > len(table.vectors):
                missing = list(words)
                # A list with more words than the capacity gets a table of its own size.
                table = self._make_table(max(self._capacity, len(missing) + 1))
            if missing:
                self._fill(table, missing)
            self._table = table
            return table

    def _fill(self, table: WordTable, words: list[Word]) -> None:
        first = len(table.rows)
        vectors = self._source.embed(words)
        table.vectors[first : first + len(words)] = vectors
        if self._precompute is not None:
            # Straight into the table: memory for a copy would cost as much as the products.
            self._precompute(vectors, table.precomputed[first : first + len(words)])
        # Publish the words only now: other threads must find complete rows.
        rows = range(first, first + len(words))
        single = [
            (word, row)
            for word, row in zip(words, rows, strict=True)
            if isinstance(word, bytes) and len(word) == PIECE_BYTES
        ]
        table.rows.update(zip(words, rows, strict=True))
        pieces = np.frombuffer(b"".join([word for word, _ in single]), dtype="<i4")
        table.by_piece[pieces] = [row for _, row in single]


class _StoredTokens:
    """Stored word pieces, split into words without a loop: most words are one piece."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        # A text without words is one piece of padding.
        stored = b"".join(text or NO_WORD for text in texts)
        flat = np.frombuffer(stored, dtype="<i4")
        ends = np.cumsum([len(text) // PIECE_BYTES or 1 for text in texts])
        starts = np.flatnonzero(flat >= 0)
        sizes = np.diff(starts, append=len(flat))
        self._first_pieces = flat[starts]
        self._long_positions = np.flatnonzero(sizes > 1)  # of words of several pieces
        begins = starts[self._long_positions] * PIECE_BYTES
        stops = begins + sizes[self._long_positions] * PIECE_BYTES
        self._long_words = [
            stored[begin:stop] for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True)
        ]
        words_until = np.searchsorted(starts, ends, side="left")
        self.lengths = np.diff(words_until, prepend=0)  # (texts,)

    def get_words(self) -> set[Word]:
        """Return the distinct words."""
        pieces = set(np.delete(self._first_pieces, self._long_positions).tolist()) - {PADDING}
        return {piece.to_bytes(PIECE_BYTES, "little") for piece in pieces} | set(self._long_words)

    def to_rows(self, table: WordTable) -> Ids | None:
        """Return the row of each word, or None if the table lacks one."""
        rows = table.by_piece[self._first_pieces]
        long_rows = list(map(table.rows.get, self._long_words))
        if None in long_rows:
            return None
        rows[self._long_positions] = long_rows
        is_missing = (rows == 0) & (self._first_pieces != PADDING)
        return None if is_missing.any() else rows


def _make_aligned(rows: int, width: int) -> Matrix:
    """Return zeros that begin at a cache line."""
    line = 64 // 4
    room = np.zeros(rows * width + line, dtype=np.float32)
    start = -(room.ctypes.data // 4) % line
    return room[start : start + rows * width].reshape(rows, width)
