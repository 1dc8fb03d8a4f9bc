"""Scorers that count words and read the order; nothing is learnt.

`RR`, `WO` and `WO+RR` are the baselines of Bonadiman & Moschitti 2020, "A Study on
Efficiency, Accuracy and Document Structure for Answer Sentence Selection": the original
order, the number of distinct words shared with the question, and both.
"""

from zlib import crc32

import numpy as np

from rejoinder.models.scorer import Candidates, Scores
from rejoinder.models.segments import find_orders
from rejoinder.text.words import WordSplitter, normalise_words, split_words
from rejoinder.types import to_candidates


class OriginalOrder:
    """RR: the reciprocal of a candidate's place in its segment, 1 for the first."""

    name = "original-order"

    def score(self, question: str, candidates: Candidates) -> Scores:  # noqa: ARG002
        """Return the reciprocal places; candidates without an order all get 1."""
        return np.asarray(1.0 / (1.0 + find_orders(to_candidates(candidates))), dtype=np.float64)


class WordOverlap:
    """WO: how many distinct words of the question a candidate contains."""

    name = "word-overlap"
    is_pointwise = True

    def __init__(self, cut: WordSplitter = split_words) -> None:
        self._cut = cut

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the counts."""
        asked = _word_set(question, self._cut)
        counts = [
            len(asked & _word_set(candidate.text, self._cut))
            for candidate in to_candidates(candidates)
        ]
        return np.array(counts, dtype=np.float64)


class WordOverlapThenOrder:
    """WO+RR: word overlap, and among equals the one that stands earlier in its document."""

    name = "word-overlap+order"

    def __init__(self, cut: WordSplitter = split_words) -> None:
        self._overlap = WordOverlap(cut)
        self._order = OriginalOrder()

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the counts plus a fraction below 1 for the order."""
        order = self._order.score(question, candidates)
        return self._overlap.score(question, candidates) + order / 2


class Jaccard:
    """Shared distinct words over all distinct words of question and candidate."""

    name = "jaccard"
    is_pointwise = True

    def __init__(self, cut: WordSplitter = split_words) -> None:
        self._cut = cut

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return the similarities, between 0 and 1."""
        asked = _word_set(question, self._cut)
        return np.array(
            [
                _jaccard(asked, _word_set(candidate.text, self._cut))
                for candidate in to_candidates(candidates)
            ],
            dtype=np.float64,
        )


class Random:
    """A number from a generator that is seeded by the question and the seed."""

    name = "random"

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed

    def score(self, question: str, candidates: Candidates) -> Scores:
        """Return numbers between 0 and 1, the same on every call."""
        drawn_for = crc32(question.encode("utf-8", "surrogatepass"))
        return np.random.default_rng([self._seed, drawn_for]).random(len(candidates))


def _word_set(text: str, cut: WordSplitter) -> frozenset[str]:
    return frozenset(normalise_words(text, cut))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0
