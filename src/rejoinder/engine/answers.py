"""From retrieved candidates to answers: document order, near-duplicates, abstention."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rejoinder.errors import InputError
from rejoinder.models.scorer import Scorer
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


def check_min_confidence(min_confidence: float | None, scorer: Scorer | None) -> None:
    """Raise InputError if it is not a probability, or if the scorer gives no confidence."""
    if min_confidence is None:
        return
    if not 0 <= min_confidence <= 1:
        raise InputError(f"min_confidence must be from 0 to 1, found {min_confidence}")
    if getattr(scorer, "calibration", None) is None:
        name = scorer.name if scorer else "retrieval order"
        raise InputError(
            f"min_confidence needs a confidence, and {name} has none; use a cascade that"
            " 'rejoinder calibrate' has calibrated"
        )


def build_answers(
    ranking: "Ranking | DocumentRanking",
    best: Sequence[Answer],
    *,
    retrieved: int,
    start: float,
    min_confidence: float | None = None,
) -> Answers:
    """Return the best sentences as answers.

    Args:
        retrieved: how many sentences were ranked.
        start: the value of `time.perf_counter` when the question came in.
        min_confidence: abstain below it, instead of below the scorer's own threshold.
    """
    abstains = ranking.abstains
    if min_confidence is not None:
        abstains = ranking.confidence is not None and ranking.confidence < min_confidence
    if best:
        best = [replace(best[0], confidence=ranking.confidence), *best[1:]]
    return Answers(
        question=ranking.question,
        answers=tuple(best),
        abstains=abstains or not best,
        confidence=ranking.confidence,
        scorer=ranking.scorer,
        retrieved=retrieved,
        milliseconds=1000 * (time.perf_counter() - start),
        trace=ranking.trace,
    )
