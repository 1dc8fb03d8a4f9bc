"""BM25 over the candidate list, or with the statistics of a corpus.

Robertson & Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond", with
the inverse document frequency of Lucene, log(1 + (N - n + 0.5) / (n + 0.5)), which is
never negative.  A "document" of the formula is one candidate here.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np

from rejoinder.models.scorer import Candidates, Scores
from rejoinder.text.words import WordSplitter, normalise_words, split_words
from rejoinder.types import to_candidates


@dataclass(frozen=True, slots=True)
class CorpusStatistics:
    """How many texts there are, how long they are, and in how many each word occurs."""

    texts: int
    average_length: float
    frequencies: Mapping[str, int]

    @classmethod
    def from_texts(
        cls, texts: Iterable[str], cut: WordSplitter = split_words
    ) -> "CorpusStatistics":
        """Count the words of a corpus, one text at a time."""
        count = length = 0
        frequencies: Counter[str] = Counter()
        for text in texts:
            words = normalise_words(text, cut)
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
        self,
        cut: WordSplitter = split_words,
        *,
        corpus: CorpusStatistics | None = None,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self._cut = cut
        self._corpus = corpus
        self.is_pointwise = corpus is not None
        self._k1 = k1
        self._b = b

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the scores; 0 means that no word is shared."""
        given = to_candidates(candidates)
        texts = [normalise_words(candidate.text, self._cut) for candidate in given]
        asked = set(normalise_words(question, self._cut))
        shared = [[word for word in words if word in asked] for words in texts]
        corpus = self._corpus or _count_list(texts, shared)
        weights = {word: corpus.weigh(word) for word in asked}
        average = corpus.average_length or 1.0
        scores = [
            self._score_one(weights, words, len(text) / average) if words else 0.0
            for words, text in zip(shared, texts, strict=True)
        ]
        return np.array(scores, dtype=np.float64)

    def _score_one(
        self, weights: Mapping[str, float], shared: Sequence[str], relative_length: float
    ) -> float:
        damping = self._k1 * (1 - self._b + self._b * relative_length)
        return sum(
            weights[word] * count * (self._k1 + 1) / (count + damping)
            for word, count in Counter(shared).items()
        )


def _count_list(
    texts: Sequence[Sequence[str]], shared: Iterable[Sequence[str]]
) -> CorpusStatistics:
    """Return the statistics of a list, of the question's words alone: no other is asked for."""
    lengths = sum(map(len, texts))
    having = Counter(word for words in shared for word in set(words))
    return CorpusStatistics(len(texts), lengths / len(texts) if texts else 0.0, having)
