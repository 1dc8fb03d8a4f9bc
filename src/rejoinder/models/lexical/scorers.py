"""Scorers that count words and read the order; nothing is learnt.

`RR`, `WO` and `WO+RR` are the baselines of Bonadiman & Moschitti 2020, "A Study on
Efficiency, Accuracy and Document Structure for Answer Sentence Selection": the original
order, the number of distinct words shared with the question, and both.

BM25 is that of Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and
Beyond", with the inverse document frequency of Lucene, log(1 + (N - n + 0.5) / (n + 0.5)),
which is never negative.  A "document" of the formula is one candidate here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from zlib import crc32

import numpy as np

from rejoinder.models.registry import Family, NamedScorer
from rejoinder.models.scorer import Candidates, Scores, find_orders
from rejoinder.text.words import WordSplitter, normalise_words, split_words
from rejoinder.types import to_candidates

K1, B = 1.2, 0.75
"""BM25: the damping of repeated words, and of long texts."""


class OriginalOrder:
    """RR: the reciprocal of a candidate's place in its segment, 1 for the first."""

    name = "original-order"

    def score(self, question: str, candidates: Candidates) -> Scores:  # noqa: ARG002
        """Return the reciprocal places; candidates without an order all get 1."""
        return np.asarray(1.0 / (1.0 + find_orders(to_candidates(candidates))), dtype=np.float64)


class WordOverlap:
    """WO: the number of distinct words of the question that a candidate contains."""

    name = "word-overlap"
    is_pointwise = True

    def __init__(self, split: WordSplitter = split_words) -> None:
        self._split = split

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        question_words = set(normalise_words(question, self._split))
        scores = [
            self._compare(question_words, set(normalise_words(candidate.text, self._split)))
            for candidate in to_candidates(candidates)
        ]
        return np.array(scores, dtype=np.float64)

    def _compare(self, one: set[str], other: set[str]) -> float:
        return len(one & other)


class Jaccard(WordOverlap):
    """Shared distinct words over all distinct words of question and candidate."""

    name = "jaccard"

    def _compare(self, one: set[str], other: set[str]) -> float:
        union = len(one | other)
        return len(one & other) / union if union else 0.0


class WordOverlapThenOrder:
    """WO+RR: word overlap, with ties broken by the order of the document."""

    name = "word-overlap+order"

    def __init__(self, split: WordSplitter = split_words) -> None:
        self._overlap = WordOverlap(split)
        self._order = OriginalOrder()

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the counts plus a fraction below 1 for the order."""
        order = self._order.score(question, candidates)
        return self._overlap.score(question, candidates) + order / 2


class Random:
    """A random number, seeded by the question and the seed."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return numbers between 0 and 1, the same on every call."""
        checksum = crc32(question.encode("utf-8", "surrogatepass"))
        return np.random.default_rng([self._seed, checksum]).random(len(candidates))


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """How many texts there are, how long they are, and in how many each word occurs."""

    texts: int
    average_length: float
    frequencies: Mapping[str, int]

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], split: WordSplitter = split_words
    ) -> "CorpusStatistics":
        """Count the words of a corpus, one text at a time."""
        count = length = 0
        frequencies: Counter[str] = Counter()
        for text in texts:
            words = normalise_words(text, split)
            count += 1
            length += len(words)
            frequencies.update(set(words))
        return cls(count, length / count if count else 0.0, frequencies)

    def weigh(self, word: str) -> float:
        """Return the inverse document frequency of a word."""
        having = self.frequencies.get(word, 0)
        return log1p((self.texts - having + 0.5) / (having + 0.5))


class Bm25:
    """Sums the weights of shared words, damped by repetition and by length."""

    name = "bm25"

    def __init__(
        self, split: WordSplitter = split_words, *, corpus: CorpusStatistics | None = None
    ) -> None:
        self._split = split
        self._corpus = corpus
        self.is_pointwise = corpus is not None

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the scores; 0 means that no word is shared."""
        given = to_candidates(candidates)
        texts = [normalise_words(candidate.text, self._split) for candidate in given]
        question_words = set(normalise_words(question, self._split))
        shared = [[word for word in words if word in question_words] for words in texts]
        corpus = self._corpus or _count_list(texts, shared)
        weights = {word: corpus.weigh(word) for word in question_words}
        average = corpus.average_length or 1.0
        scores = [
            _add_weights(weights, words, len(text) / average) if words else 0.0
            for words, text in zip(shared, texts, strict=True)
        ]
        return np.array(scores, dtype=np.float64)


def _add_weights(
    weights: Mapping[str, float], shared: Sequence[str], relative_length: float
) -> float:
    damping = K1 * (1 - B + B * relative_length)
    return sum(
        weights[word] * count * (K1 + 1) / (count + damping)
        for word, count in Counter(shared).items()
    )


def _count_list(
    texts: Sequence[Sequence[str]], shared: Iterable[Sequence[str]]
) -> CorpusStatistics:
    """Return the statistics of a list, for the question's words alone."""
    lengths = sum(map(len, texts))
    having = Counter(word for words in shared for word in set(words))
    return CorpusStatistics(len(texts), lengths / len(texts) if texts else 0.0, having)


class RetrievalOrder:
    """The scores of retrieval; BM25 over the list for candidates that were not retrieved.

    Retrieval knows how rare a word is in all documents, and the text around a sentence.
    """

    name = "retrieval-order"

    def __init__(self, split: WordSplitter = split_words) -> None:
        self._bm25 = Bm25(split)

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        given = to_candidates(candidates)
        scores = [item.retrieval_score for item in given if item.retrieval_score is not None]
        if len(scores) < len(given):
            return self._bm25.score(question, given)
        return np.array(scores, dtype=np.float64)


FAMILY = Family(
    "lexical",
    "word counts and order; nothing is learnt",
    scorers={
        "original-order": NamedScorer(
            "the order of the document (RR)", lambda _, __: OriginalOrder(), reads_order=True
        ),
        "word-overlap": NamedScorer(
            "distinct words shared with the question (WO)", lambda split, _: WordOverlap(split)
        ),
        "word-overlap+order": NamedScorer(
            "word overlap, then the order of the document (WO+RR)",
            lambda split, _: WordOverlapThenOrder(split),
            reads_order=True,
        ),
        "jaccard": NamedScorer("shared over all distinct words", lambda split, _: Jaccard(split)),
        "bm25": NamedScorer("BM25 over the candidate list", lambda split, _: Bm25(split)),
        "retrieval-order": NamedScorer(
            "the search that found the candidates, else BM25",
            lambda split, _: RetrievalOrder(split),
        ),
        "random": NamedScorer(
            "a seeded random number", lambda _, seed: Random(seed), is_seeded=True
        ),
    },
)
