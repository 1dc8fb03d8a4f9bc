"""Static word vectors, from a table of word pieces or of whole words.

The table is int8 with one scale per row: 29,500 pieces of width 256 take 7.6 MB.  A word's
vector is the mean of its pieces' rows, scaled to length 1, so that a dot product is a cosine.
A word outside the vocabulary gets a random direction, seeded by its spelling: close to itself,
far from all other words.
"""

import zlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rejoinder.bundle.folder import WEIGHTS, Bundle, open_bundle
from rejoinder.text.wordpiece import WordPiece

KIND = "static-vectors"
SHIPPED_VECTORS = WEIGHTS / KIND
SHARED = "vectors"
"""The setting of a bundle that reads the shipped vectors instead of its own."""
UNKNOWN = "[UNK]"

AT_ONCE = 1 << 13
"""Words that are embedded together: the rows of all pieces of a large vocabulary take gigabytes."""

Matrix = NDArray[np.float32]
Word = str | bytes
"""A word as text, or as its stored word pieces."""


class StaticVectors:
    """A quantised table of word vectors."""

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
        self.pieces = WordPiece(vocabulary, unknown=UNKNOWN) if are_pieces else None
        """The tokenizer; None if the table is of whole words."""
        self._row_ids = {} if are_pieces else {word: row for row, word in enumerate(vocabulary)}

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.rows.shape[1])

    def embed(self, words: Sequence[Word]) -> Matrix:
        """Return one row of length 1 per word, shape (len(words), width)."""
        embedded = np.empty((len(words), self.width), dtype=np.float32)
        for start in range(0, len(words), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            embedded[part] = self._embed(words[part])
        return embedded

    def _embed(self, words: Sequence[Word]) -> Matrix:
        pieces = [self._get_pieces(word) for word in words]
        stored = np.frombuffer(b"".join(pieces), dtype="<i4")
        flat = stored ^ (stored >> 31)  # -1 - id where it is negative
        counts = np.array([len(own) // 4 for own in pieces], dtype=np.int64)
        weighted = self.rows[flat] * self.scales[flat, None]
        sums = np.zeros((len(words), self.width), dtype=np.float32)
        known = np.flatnonzero(counts)
        if len(known):
            sums[known] = np.add.reduceat(weighted, (np.cumsum(counts) - counts)[known])
        lengths = np.linalg.norm(sums, axis=1)
        for at in np.flatnonzero(lengths == 0).tolist():
            sums[at], lengths[at] = self._draw_direction(words[at]), 1
        return np.asarray(sums / lengths[:, None], dtype=np.float32)

    def encode(self, text: str) -> bytes | None:
        """Return a text as stored word pieces; None if the table is of whole words."""
        return None if self.pieces is None else self.pieces.encode(text)

    def can_read(self, tokens: bytes) -> bool:
        """Whether no stored piece is unknown; the vector of such a word depends on its text."""
        if self.pieces is None:
            return False
        return self.pieces.unknown not in np.frombuffer(tokens, dtype="<i4")

    def _get_pieces(self, word: Word) -> bytes:
        """Return the rows of a word's pieces as they are stored; none if it is unknown."""
        if isinstance(word, bytes):
            return word
        row_ids: tuple[int, ...]
        if self.pieces is None:
            row_ids = (self._row_ids[word],) if word in self._row_ids else ()
        else:
            (row_ids,) = self.pieces.tokenize_words([word])
            row_ids = () if row_ids == (self.pieces.unknown,) else row_ids
        return np.array(row_ids, dtype="<i4").tobytes()

    def _draw_direction(self, word: Word) -> Matrix:
        seed = zlib.crc32(str(word).encode("utf-8", "surrogatepass"))
        direction = np.random.default_rng(seed).standard_normal(self.width)
        return np.asarray(direction / np.linalg.norm(direction), dtype=np.float32)


def read_pieces(word: bytes) -> tuple[int, ...]:
    """Return the pieces of a stored word: the first is stored as its id, the others as -1 - id."""
    first, *rest = np.frombuffer(word, dtype="<i4").tolist()
    return (first, *(-1 - piece for piece in rest))


def quantise_rows(matrix: Matrix) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Return int8 rows from -127 to 127, and the scale of each row."""
    scales = np.abs(matrix).max(axis=1) / 127
    divisors = np.where(scales > 0, scales, 1)[:, None]
    return np.round(matrix / divisors).astype(np.int8), scales.astype(np.float16)


def load_vectors(folder: Path = SHIPPED_VECTORS) -> StaticVectors:
    """Open a bundle of static vectors, by default the shipped one.

    The shipped one is opened once per process, so that an index, a scorer and explanations share
    its 7.6 MB and its cache of word pieces.

    Raises:
        BundleError: it is missing, corrupt, too new, or not a bundle of vectors.
    """
    return _load_shipped() if folder == SHIPPED_VECTORS else _open(folder)


@cache
def _load_shipped() -> StaticVectors:
    return _open(SHIPPED_VECTORS)


def _open(folder: Path) -> StaticVectors:
    return read_vectors(open_bundle(folder, kind=KIND))


def read_vectors(bundle: Bundle) -> StaticVectors:
    """Return the vectors that a bundle holds; a shipped one may name the shipped vectors."""
    if bundle.manifest.config.get(SHARED) == KIND:
        return load_vectors()
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
