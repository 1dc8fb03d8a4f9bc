"""Merges the results of full-text search and of vector search into one list.

The scores of each list are scaled to 0 … 1, from its last to its first, and added with weights.  A
sentence that a list lacks gets the score of its last one.  On development data this puts more
right sentences among the first 20 than reciprocal rank fusion, which ignores by how much one
sentence is better than the next (docs/retrieval.md).
"""

from collections.abc import Mapping
from typing import TypeVar

from rejoinder.index.sqlite.documents import Place
from rejoinder.types import RetrievalScores

Key = TypeVar("Key", Place, str)
"""What identifies a sentence: its place, or its id in a search engine."""

MEANING = 0.3
"""The weight of vector search; full-text search has the rest.  Chosen on development data."""


def merge(words: Mapping[Key, float], meaning: Mapping[Key, float]) -> dict[Key, RetrievalScores]:
    """Return the scores of all places that either search found, best first.

    Without vectors, order and scores are those of full-text search.

    Args:
        words: the BM25 score of each place, best first.
        meaning: the cosine of each place, best first.

    >>> merged = merge({(1, 0): 9.0, (1, 1): 5.0}, {(1, 1): 0.8, (2, 0): 0.6})
    >>> [(place, round(scores.merged, 2)) for place, scores in merged.items()]
    [((1, 0), 0.7), ((1, 1), 0.3), ((2, 0), 0.0)]
    """
    if not meaning:
        return {place: RetrievalScores(score, score, None) for place, score in words.items()}
    merged = _scale(words, 1 - MEANING)
    for place, score in _scale(meaning, MEANING).items():
        merged[place] = merged.get(place, 0.0) + score
    # Two sorts by plain values are faster than one by pairs; the second keeps the order of ties.
    ranked = sorted(sorted(merged), key=merged.__getitem__, reverse=True)
    return {
        place: RetrievalScores(merged[place], words.get(place), meaning.get(place))
        for place in ranked
    }


def _scale(scores: Mapping[Key, float], weight: float) -> dict[Key, float]:
    low, high = min(scores.values(), default=0.0), max(scores.values(), default=0.0)
    if high == low:
        return dict.fromkeys(scores, weight)
    return {place: weight * ((score - low) / (high - low)) for place, score in scores.items()}
