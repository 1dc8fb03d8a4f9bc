"""A static sentence encoder: a sum of word piece vectors, without a network.

A sentence's vector is the sum of its word pieces' rows, and of the rows of its headings, its title
and the sentences around it with smaller weights, scaled to length 1.  A question's is the sum of
its own rows, each with a gain: words that only ask ("how", "what") weigh less in a question.  The
table is int8 with one scale per row.
"""

from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from hashlib import sha256
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.bundle.folder import Bundle
from rejoinder.documents.parsed import Sentence
from rejoinder.documents.passages import Passage
from rejoinder.models.sentence_encoder.encoder import Matrix, Vector
from rejoinder.text.wordpiece import WordPiece

KIND = "static-encoder"
FILE, VOCABULARY = "weights.safetensors", "vocabulary.txt"
WIDTHS = range(64, 4097, 64)
MAX_CACHED_TEXTS = 1_000
"""Titles and headings whose sums are cached."""
MIN_COSINE = 0.3
"""It hides a right sentence among the 200 nearest from 1 of 1,021 dev questions."""

Ids = NDArray[np.signedinteger]


class PartWeights(NamedTuple):
    """Weights of the texts around a sentence; its own words have weight 1."""

    title: float
    heading: float
    """The innermost heading."""
    outer: float
    """Each heading above it."""
    neighbour: float


class StaticEncoder:
    """Encodes texts with a table of word pieces; safe from many threads."""

    def __init__(self, bundle: Bundle) -> None:
        self.folder = bundle.folder
        tensors = bundle.read_tensors(FILE)
        vocabulary = bundle.read_text(VOCABULARY).split("\n")[:-1]
        try:
            if tensors["rows"].dtype != np.int8:
                raise TypeError("rows are not int8")
            self._rows = tensors["rows"].astype(np.int8, copy=False)
            self._scales = tensors["scales"].astype(np.float32)
            self._gains = tensors["gains"].astype(np.float32)
            self.width = int(self._rows.shape[1])
            weights = bundle.manifest.config["weights"]
            self._weights = PartWeights(**{name: float(weights[name]) for name in weights})
            self.min_cosine = float(bundle.manifest.config["min_cosine"])
            self._pieces = WordPiece(vocabulary)
        except (KeyError, TypeError, IndexError, ValueError, OverflowError) as error:
            raise bundle.refuse(
                f"a tensor, weight or word piece is missing or wrong: {error}"
            ) from error
        count = len(vocabulary)
        shapes = (self._rows.shape, self._scales.shape, self._gains.shape)
        if shapes != ((count, self.width), (count,), (count,)) or self.width not in WIDTHS:
            raise bundle.refuse(f"{count} word pieces, but tensors of shapes {shapes}")
        if not all(0 <= number <= 10 for number in (*self._weights, self.min_cosine)):
            raise bundle.refuse(f"not between 0 and 10: {self._weights}, {self.min_cosine}")
        checksums = [bundle.manifest.files.get(name) for name in (FILE, VOCABULARY)]
        self.hash = sha256(repr((checksums, *self._weights)).encode()).hexdigest()[:16]
        self._encode_heading = lru_cache(MAX_CACHED_TEXTS)(self._sum_text)

    @property
    def tokenizer(self) -> str:
        """The hash of the tokenizer whose stored tokens it reads, in place of a text."""
        return self._pieces.hash

    def encode_question(self, question: str) -> Vector:
        """Return the vector of a question, of length 1; zeros where it has no known word."""
        ids = self._tokenize(question)
        if (ids == self._pieces.unknown).all():
            return np.zeros(self.width, np.float32)
        summed = (self._scales[ids] * self._gains[ids]) @ self._rows[ids].astype(np.float32)
        return _normalise(summed[None])[0]

    def encode_passages(self, title: str, passages: Sequence[Passage]) -> Matrix:
        """Return the vectors of the sentences of one document, shape (passages, width)."""
        if not passages:
            return np.empty((0, self.width), np.float32)
        near = [passage.before + passage.after for passage in passages]
        own = [passage.sentence for passage in passages]
        # The windows of neighbours overlap: each sentence is summed once.
        row = {item: at for at, item in enumerate(dict.fromkeys(chain(own, *near)))}
        sums = self._sum_sentences(row)
        vectors = sums[[row[sentence] for sentence in own]]
        vectors += self._weights.neighbour * _sum_groups(
            sums, [[row[sentence] for sentence in sentences] for sentences in near]
        )
        headings = {passage.headings: None for passage in passages}
        number = {path: place for place, path in enumerate(headings)}
        above = np.stack([self._sum_headings(title, path) for path in headings])
        vectors += above[[number[passage.headings] for passage in passages]]
        return _normalise(vectors)

    def _sum_headings(self, title: str, headings: tuple[str, ...]) -> Vector:
        *outer, heading = [text for text in headings if text != title] or [""]
        weights = self._weights
        total = weights.title * self._encode_heading(title)
        total = total + weights.heading * self._encode_heading(heading)
        for text in outer:
            total += weights.outer * self._encode_heading(text)
        return total

    def _sum_text(self, text: str) -> Vector:
        return np.asarray(self._table[self._tokenize(text)].sum(axis=0), dtype=np.float32)

    def _sum_sentences(self, sentences: Iterable[Sentence]) -> Matrix:
        ids = [self._read(sentence) for sentence in sentences]
        return _sum_groups(self._table, ids)

    def _read(self, sentence: Sentence) -> Ids:
        """Return the word pieces of a sentence; stored tokens mark those that continue a word."""
        if sentence.tokens is None:
            return self._tokenize(sentence.text)
        ids = np.frombuffer(sentence.tokens, dtype="<i4")
        return ids ^ (ids >> 31)  # -1 - id where it is negative

    def _tokenize(self, text: str) -> Ids:
        words = self._pieces.tokenize(text)
        return np.fromiter((piece for word in words for piece in word), dtype=np.int64)

    @cached_property
    def _table(self) -> Matrix:
        """The table in float32, made on first use: a question does not need it."""
        return self._rows * self._scales[:, None]


def _sum_groups(rows: Matrix, groups: Sequence[Sequence[int] | Ids]) -> Matrix:
    """Return the sum of each group of rows; zeros for an empty group."""
    sums = np.zeros((len(groups), rows.shape[1]), dtype=np.float32)
    for total, group in zip(sums, groups, strict=True):
        if len(group):
            # A fifth of the time that np.add.reduceat takes over all groups.
            np.add.reduce(rows.take(group, axis=0), axis=0, out=total)
    return sums


def _normalise(vectors: Matrix) -> Matrix:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
