"""Which sentences of a page are most like a question with its candidate.

Han et al. 2021, "Modeling Context in Answer Sentence Selection Systems on a Latency Budget",
equations 1 and 2: the share of the pair's n-grams that a sentence has, or the cosine of the
two as vectors.  A page is prepared once; a rating does not depend on other ratings, to the last
bit.

Axes: C candidates, S sentences of the page, D width of a vector.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.encoders.tokens import TextTokens
from rejoinder.models.onnx_session import CPU, OnnxNetwork, Runtime, to_feed
from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.text.tokenizer import Tokenizer
from rejoinder.text.wordpiece import WordPiece, pretokenize

MAX_WORDS = 512
"""Words of a sentence beyond this many are not read."""
WORD_BITS = 21
"""Bits of a word's number: three of them fit into 63 bits."""
MAX_BATCH = 1000
"""Texts whose vectors are summed together."""
ENCODER = "encoder.onnx"
"""The file of a bundle that holds its sentence encoder."""
MAX_TOKENS = 128
"""Tokens that a sentence encoder reads of a text."""

Ratings = NDArray[np.float64]
Vectors = NDArray[np.float32]
_Numbers = NDArray[np.int64]


class PreparedPage(Protocol):
    """The sentences of a document, prepared to be rated."""

    def rate(self, question: str, candidates: Sequence[str]) -> Ratings:
        """Return how alike each sentence is to the question with each candidate, (C, S)."""
        ...


class Similarity(Protocol):
    """A measure of how alike sentences are."""

    def prepare(self, sentences: Sequence[str]) -> PreparedPage:
        """Prepare the sentences, independently of any question."""
        ...


class Ngrams:
    """The share of the distinct one- to three-grams of question and candidate."""

    def prepare(self, sentences: Sequence[str]) -> PreparedPage:
        """Return the page as lists of sentences by n-gram."""
        return _NgramPage(sentences)


class Cosine(ABC):
    """The cosine of vectors of length 1; question and candidate make one vector together."""

    width: int
    """The length D of a vector."""

    @abstractmethod
    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, (texts, D); zeros for a text without known words."""

    @abstractmethod
    def embed_pairs(self, question: str, candidates: Sequence[str]) -> Vectors:
        """Return one row for the question with each candidate, (C, D)."""

    def prepare(self, sentences: Sequence[str]) -> "VectorPage":
        """Return the page as vectors."""
        return VectorPage(self, self.embed(sentences))


class VectorPage:
    """Sentences as vectors."""

    def __init__(self, embedder: Cosine, vectors: Vectors) -> None:
        self._embedder = embedder
        self.vectors = vectors  # (S, D)

    def rate(self, question: str, candidates: Sequence[str]) -> Ratings:
        """Return the cosines, (C, S)."""
        rated = np.empty((len(candidates), len(self.vectors)))
        # One by one: the rounding of a matrix product depends on its other rows.
        for row, pair in enumerate(self._embedder.embed_pairs(question, candidates)):
            rated[row] = self.vectors @ pair
        return rated


class StaticTexts(Cosine):
    """Texts as sums of static vectors: a pair is the sum of its two sides."""

    def __init__(self, vectors: StaticVectors) -> None:
        self._vectors = vectors
        self._pieces = vectors.pieces or WordPiece(vectors.vocabulary)
        self.width = vectors.width

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, (texts, D)."""
        return _to_length_1(self._add_up(texts))

    def embed_pairs(self, question: str, candidates: Sequence[str]) -> Vectors:
        """Return one row for the question with each candidate, (C, D)."""
        return _to_length_1(self._add_up(candidates) + self._add_up([question]))

    def _add_up(self, texts: Sequence[str]) -> Vectors:
        sums = np.zeros((len(texts), self.width), dtype=np.float32)
        for start in range(0, len(texts), MAX_BATCH):
            tokens = [self._tokenize(text) for text in texts[start : start + MAX_BATCH]]
            known = [place for place, pieces in enumerate(tokens) if pieces]
            if known:
                rows = np.fromiter(chain.from_iterable(tokens), dtype=np.int64)
                firsts = np.cumsum([0, *(len(tokens[place]) for place in known[:-1])])
                weighted = self._vectors.rows[rows] * self._vectors.scales[rows, None]
                sums[[start + place for place in known]] = np.add.reduceat(weighted, firsts)
        return sums

    def _tokenize(self, text: str) -> list[int]:
        words = pretokenize(text)[:MAX_WORDS]
        unknown = self._pieces.unknown
        pieces = chain.from_iterable(self._pieces.tokenize_words(words))
        return [piece for piece in pieces if piece != unknown]


class EncodedTexts(Cosine):
    """Texts as mean states of a transformer in onnxruntime: one pass each, a pair in one too."""

    def __init__(
        self, network: bytes, tokenizer: Tokenizer, folder: Path, runtime: Runtime = CPU
    ) -> None:
        self._tokens = TextTokens(tokenizer, max_tokens=MAX_TOKENS)
        self._network = OnnxNetwork(network, folder, runtime, name=ENCODER)
        self.width = int(self._network.session.get_outputs()[0].shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, (texts, D); zeros for a text without words."""
        vectors = np.zeros((len(texts), self.width), dtype=np.float32)
        places = [place for place, text in enumerate(texts) if text.strip()]
        vectors[places] = self._encode_all([texts[place] for place in places])
        return vectors

    def embed_pairs(self, question: str, candidates: Sequence[str]) -> Vectors:
        """Return one row for the question with each candidate, (C, D)."""
        return self._encode_all([f"{question} {candidate}" for candidate in candidates])

    def _encode_all(self, texts: Sequence[str]) -> Vectors:
        rows = self._network.run_all([to_feed(self._tokens.encode(text)) for text in texts])
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.width)


def _to_length_1(sums: Vectors) -> Vectors:
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)


class _NgramPage:
    """The sentences that contain each n-gram."""

    def __init__(self, sentences: Sequence[str]) -> None:
        self._count = len(sentences)
        self._numbers: dict[str, int] = {}
        words = [self._number(text, self._numbers) for text in sentences]
        ngrams, owners = _find_ngrams(words)
        order = np.argsort(ngrams, kind="stable")
        self._sentences = owners[order]
        self._ngrams, self._starts = np.unique(ngrams[order], return_index=True)
        self._sizes = np.diff(self._starts, append=len(order))

    def rate(self, question: str, candidates: Sequence[str]) -> Ratings:
        """Return the share of each pair's n-grams that each sentence has, (C, S)."""
        numbers = dict(self._numbers)  # words that are not on the page get numbers too
        of_question, _ = _find_ngrams([self._number(question, numbers)])
        given, owners = _find_ngrams([self._number(text, numbers) for text in candidates])
        count = len(candidates)
        wanted = np.concatenate([given, np.tile(of_question, count)])
        by = np.concatenate([owners, np.repeat(np.arange(count), len(of_question))])
        wanted, by = _drop_repeated(wanted, by)
        totals = np.bincount(by, minlength=count)
        shared = self._count_shared(wanted, by, count)
        return np.asarray(shared / np.maximum(totals, 1)[:, None])

    def _count_shared(self, wanted: _Numbers, by: _Numbers, count: int) -> Ratings:
        if not len(self._ngrams):
            return np.zeros((count, self._count))
        places = np.minimum(np.searchsorted(self._ngrams, wanted), len(self._ngrams) - 1)
        is_known = self._ngrams[places] == wanted
        places, by = places[is_known], by[is_known]
        sizes = self._sizes[places]
        # The lists of all n-grams, one after another: where each begins, and steps of 1.
        steps = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        found = self._sentences[np.repeat(self._starts[places], sizes) + steps]
        cells = np.repeat(by, sizes) * self._count + found
        counts = np.bincount(cells, minlength=count * self._count)
        return np.asarray(counts.reshape(count, self._count), dtype=np.float64)

    @staticmethod
    def _number(text: str, numbers: dict[str, int]) -> list[int]:
        words = (word for word in pretokenize(text)[:MAX_WORDS] if word.isalnum())
        return [numbers.setdefault(word, len(numbers) + 1) for word in words]


def _find_ngrams(texts: Sequence[Sequence[int]]) -> tuple[_Numbers, _Numbers]:
    """Return the distinct n-grams of each text as numbers, and whose they are."""
    words = np.fromiter(chain.from_iterable(texts), dtype=np.int64) & ((1 << WORD_BITS) - 1)
    owners = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    pairs = list(_join_neighbours(words, owners))
    return _drop_repeated(
        np.concatenate([ngrams for ngrams, _ in pairs]), np.concatenate([by for _, by in pairs])
    )


def _join_neighbours(words: _Numbers, owners: _Numbers) -> Iterator[tuple[_Numbers, _Numbers]]:
    """Yield one-, two- and three-grams; none reaches from one text into the next."""
    ngrams = words
    yield ngrams, owners
    for length in (2, 3):
        ngrams = (ngrams[:-1] << WORD_BITS) | words[length - 1 :]
        inside = owners[: len(ngrams)] == owners[length - 1 :]
        yield ngrams[inside], owners[: len(ngrams)][inside]


def _drop_repeated(ngrams: _Numbers, owners: _Numbers) -> tuple[_Numbers, _Numbers]:
    order = np.lexsort((ngrams, owners))
    ngrams, owners = ngrams[order], owners[order]
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (ngrams[1:] != ngrams[:-1]) | (owners[1:] != owners[:-1])
    return ngrams[is_first], owners[is_first]
