"""Tells sentences that say the same, so that they count as one answer."""

from collections.abc import Iterable, Iterator

from rejoinder.text.words import normalise_words, split_words
from rejoinder.types import ScoredCandidate

MIN_SHARED = 0.8
"""Sentences are near-duplicates from this share of words in common."""


def drop_duplicates(items: Iterable[ScoredCandidate]) -> Iterator[ScoredCandidate]:
    """Yield the candidates whose words are not nearly those of a better one."""
    kept: list[frozenset[str]] = []
    for item in items:
        words = _list_words(item.candidate.text)
        if not any(_share(words, other) >= MIN_SHARED for other in kept):
            kept.append(words)
            yield item


def is_near(text: str, others: Iterable[str]) -> bool:
    """Return whether a text says nearly the same as one of the others."""
    words = _list_words(text)
    return any(_share(words, _list_words(other)) >= MIN_SHARED for other in others)


def _list_words(text: str) -> frozenset[str]:
    return frozenset(normalise_words(text, split_words))


def _share(words: frozenset[str], others: frozenset[str]) -> float:
    either = len(words | others)
    return len(words & others) / either if either else 1.0
