"""From retrieved candidates to answers: document order, near-duplicates, the abstention."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rejoinder.text.words import normalise_words, split_words
from rejoinder.types import Answer, Answers, Candidate, Ranking, ScoredCandidate

if TYPE_CHECKING:
    from rejoinder.engine.texts import DocumentRanking

MIN_SHARED = 0.8
"""Sentences are near-duplicates if the Jaccard similarity of their words is at least this."""


def group_by_document(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return the candidates grouped by document, in document order inside each group."""
    groups: dict[str | None, list[Candidate]] = {}
    for candidate in candidates:
        name = candidate.document.id if candidate.document else None
        groups.setdefault(name, []).append(candidate)
    return [
        candidate
        for group in groups.values()
        for candidate in sorted(group, key=lambda item: item.position or 0)
    ]


def drop_near_duplicates(items: Iterable[ScoredCandidate]) -> Iterator[ScoredCandidate]:
    """Yield the candidates that are not near-duplicates of a better one."""
    kept: list[frozenset[str]] = []
    for item in items:
        words = _get_words(item.candidate.text)
        if not any(_is_near(words, other) for other in kept):
            kept.append(words)
            yield item


def is_near_duplicate(text: str, others: Iterable[str]) -> bool:
    """Return whether a text is a near-duplicate of one of the others."""
    words = _get_words(text)
    return any(_is_near(words, _get_words(other)) for other in others)


def _get_words(text: str) -> frozenset[str]:
    return frozenset(normalise_words(text, split_words))


def _is_near(words: frozenset[str], others: frozenset[str]) -> bool:
    union = len(words | others)
    return not union or len(words & others) / union >= MIN_SHARED


def build_answers(
    ranking: "Ranking | DocumentRanking", best: Sequence[Answer], *, retrieved: int, start: float
) -> Answers:
    """Return the best sentences as answers, or as the closest if the ranking abstains.

    Args:
        retrieved: how many sentences were ranked.
        start: the value of `time.perf_counter` when the question came in.
    """
    if best:
        best = [replace(best[0], confidence=ranking.confidence), *best[1:]]
    return Answers(
        question=ranking.question,
        answers=() if ranking.abstains else tuple(best),
        closest=best[0] if ranking.abstains and best else None,
        confidence=ranking.confidence,
        scorer=ranking.scorer,
        retrieved=retrieved,
        milliseconds=1000 * (time.perf_counter() - start),
        trace=ranking.trace,
    )
