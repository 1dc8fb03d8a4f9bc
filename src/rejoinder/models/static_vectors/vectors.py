"""One frozen vector per word, from a table of word pieces or of whole words.

Stored as int8 with one scale per row: 29,500 pieces of width 256 take 7.6 MB.  A word is
the mean of its pieces, scaled to length 1, so that a dot product is a cosine.  A word
that the table does not know gets a direction of its own, drawn from its spelling:
close to itself, far from everything else.
"""

import zlib
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.bundle.folder import WEIGHTS, Bundle, open_bundle
from rejoinder.text.wordpiece import WordPiece

KIND = "static-vectors"
SHIPPED_VECTORS = WEIGHTS / KIND
UNKNOWN = "[UNK]"

Matrix = NDArray[np.float32]
Word = str | bytes
"""A word as it is spelled, or as the pieces that it was cut into, as they are stored."""


class StaticVectors:
    """A table of int8 rows, and how a word finds its rows."""

    def __init__(
        self,
        vocabulary: Sequence[str],
        rows: NDArray[np.int8],
        scales: NDArray[np.floating],
        *,
        are_pieces: bool,
    ) -> None:
        self.vocabulary = tuple(vocabulary)
        self.rows = rows
        self.scales = scales.astype(np.float32)
        self.are_pieces = are_pieces
        self._pieces = WordPiece(vocabulary, unknown=UNKNOWN) if are_pieces else None
        self._places = {} if are_pieces else {word: place for place, word in enumerate(vocabulary)}

    @property
    def width(self) -> int:
        """The length of a vector."""
        return int(self.rows.shape[1])

    def embed(self, words: Sequence[Word]) -> Matrix:
        """Return one row of length 1 per word, shape (len(words), width)."""
        found = self._look_up(words)
        pieces = np.fromiter(chain.from_iterable(found), dtype=np.int64)
        ends = np.cumsum([len(rows) for rows in found])
        weighted = self.rows[pieces] * self.scales[pieces, None]
        sums = np.zeros((len(words), self.width), dtype=np.float32)
        known = [place for place, rows in enumerate(found) if rows]
        if known:
            sums[known] = np.add.reduceat(weighted, [ends[at] - len(found[at]) for at in known])
        lengths = np.linalg.norm(sums, axis=1)
        for place in np.flatnonzero(lengths == 0).tolist():
            sums[place], lengths[place] = self._spell(words[place]), 1
        return np.asarray(sums / lengths[:, None], dtype=np.float32)

    @property
    def pieces(self) -> WordPiece | None:
        """How words are cut; None where the table is of whole words."""
        return self._pieces

    def encode(self, text: str) -> bytes | None:
        """Return a text in the form in which it is stored; None where words are not cut."""
        return None if self._pieces is None else self._pieces.encode(text)

    def can_read(self, tokens: bytes) -> bool:
        """Whether stored pieces tell all about their words: the unknown piece does not."""
        if self._pieces is None:
            return False
        return self._pieces.unknown not in np.frombuffer(tokens, dtype="<i4")

    def _look_up(self, words: Sequence[Word]) -> list[tuple[int, ...]]:
        return [
            read_pieces(word) if isinstance(word, bytes) else self._find(word) for word in words
        ]

    def _find(self, word: str) -> tuple[int, ...]:
        if self._pieces is None:
            return (self._places[word],) if word in self._places else ()
        (rows,) = self._pieces.tokenize_words([word])
        return () if rows == (self._pieces.unknown,) else rows

    def _spell(self, word: Word) -> Matrix:
        seed = zlib.crc32(str(word).encode("utf-8", "surrogatepass"))
        direction = np.random.default_rng(seed).standard_normal(self.width)
        return np.asarray(direction / np.linalg.norm(direction), dtype=np.float32)


def read_pieces(word: bytes) -> tuple[int, ...]:
    """Return the pieces of a stored word: its first is an id, the others are -1 - id."""
    first, *rest = np.frombuffer(word, dtype="<i4").tolist()
    return (first, *(-1 - piece for piece in rest))


def quantise(matrix: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Return rows of whole numbers from -127 to 127, and the scale of each row."""
    scales = np.abs(matrix).max(axis=1) / 127
    divisors = np.where(scales > 0, scales, 1)[:, None]
    return np.round(matrix / divisors).astype(np.int8), scales.astype(np.float16)


def load_vectors(folder: Path = SHIPPED_VECTORS) -> StaticVectors:
    """Open a bundle of static vectors: the shipped one where none is named.

    Raises:
        BundleError: it is missing, torn, too new, or no bundle of vectors.
    """
    return read_vectors(open_bundle(folder, kind=KIND))


def read_vectors(bundle: Bundle) -> StaticVectors:
    """Return the vectors that a bundle holds."""
    tensors = bundle.read_tensors("vectors.safetensors")
    vocabulary = bundle.read_text("vocabulary.txt").split("\n")[:-1]
    if missing := {"rows", "scales"} - tensors.keys():
        raise bundle.refuse(f"no {' and no '.join(sorted(missing))} in vectors.safetensors")
    rows = tensors["rows"].astype(np.int8, copy=False)
    if rows.ndim != 2 or len(vocabulary) != len(rows):
        raise bundle.refuse(f"{len(vocabulary)} words but {len(rows)} vectors")
    scales = tensors["scales"].astype(np.float32)
    if scales.shape != (len(rows),):
        raise bundle.refuse(f"{len(rows)} vectors but {scales.size} scales")
    are_pieces = bool(bundle.manifest.config.get("are_pieces"))
    if are_pieces and UNKNOWN not in vocabulary:
        raise bundle.refuse(f"no {UNKNOWN} among the word pieces")
    return StaticVectors(vocabulary, rows, scales, are_pieces=are_pieces)


def to_files(vectors: StaticVectors) -> dict[str, bytes]:
    """Return the files that `read_vectors` reads."""
    from safetensors.numpy import save

    scales = vectors.scales.astype(np.float16)
    return {
        "vectors.safetensors": save({"rows": vectors.rows, "scales": scales}),
        "vocabulary.txt": "".join(f"{word}\n" for word in vectors.vocabulary).encode(),
    }
