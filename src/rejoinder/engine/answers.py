"""From retrieved candidates to answers: document order, near-duplicates, abstention."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, TypedDict

from rejoinder.text.language import describe_language
from rejoinder.text.words import normalise_words, split_words
from rejoinder.types import Answer, Answers, Candidate, Ranking, ScoredCandidate, Source, Where

if TYPE_CHECKING:
    from rejoinder.engine.texts import DocumentRanking

MIN_SHARED = 0.8
"""Sentences are near-duplicates if the Jaccard similarity of their words is at least this."""

MAX_GROUPED = 32
"""Candidates whose near-duplicates are collected."""

BESIDE = {"sentence": 0, "paragraph": 12, "section": 60}
"""Sentences between two answers of which one is probably shown by the context of the other."""

MAX_BESIDE = 4
"""For each answer, at most so many contexts are read at once."""

FoundAnswer = tuple[ScoredCandidate, list[Candidate]]
"""A candidate and its near-duplicates."""


class TextOptions(TypedDict, total=False):
    """The options of `answer_text`; `Engine.answer` describes them."""

    top: int
    budget_ms: float | None
    min_confidence: float | None
    context: str


class AnswerOptions(TextOptions, total=False):
    """The options of `Engine.answer`, which describes them."""

    where: Where | None
    explain: bool


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


def group_near_duplicates(items: Sequence[ScoredCandidate]) -> Iterator[FoundAnswer]:
    """Yield each candidate that is no near-duplicate of a better one, and its near-duplicates.

    Near-duplicates are collected among the first candidates that the last stage scored; later
    ones are only left out, because few of a long ranking are ever read.
    """
    scored = sum(item.stage == items[0].stage for item in items[:MAX_GROUPED])
    groups: list[tuple[frozenset[str], ScoredCandidate, list[Candidate]]] = []
    for item in items[:scored]:
        words = _get_words(item.candidate.text)
        duplicates = next((own for known, _, own in groups if _is_near(words, known)), None)
        if duplicates is None:
            groups.append((words, item, []))
        else:
            duplicates.append(item.candidate)
    yield from ((item, duplicates) for _, item, duplicates in groups)
    kept = [words for words, _, _ in groups]
    for item in items[scored:]:
        words = _get_words(item.candidate.text)
        if not any(_is_near(words, other) for other in kept):
            kept.append(words)
            yield item, []


def take_distinct(answers: Iterable[Answer], top: int) -> list[Answer]:
    """Return the first `top` answers in their order, with ranks from 1.

    An answer that the context of a better one shows is taken only if there are too few others.
    """
    distinct: list[tuple[int, Answer]] = []
    shown: list[tuple[int, Answer]] = []
    for place, answer in enumerate(answers):
        is_shown = any(_shows(other, answer.source) for _, other in distinct)
        (shown if is_shown else distinct).append((place, answer))
        if len(distinct) == top:
            break
    taken = sorted([*distinct, *shown][:top], key=itemgetter(0))
    return [replace(answer, rank=rank) for rank, (_, answer) in enumerate(taken, start=1)]


def take_group(found: Iterator[FoundAnswer], top: int, form: str) -> list[FoundAnswer]:
    """Return the next answers whose context is read at once: `top`, and those beside them.

    An answer beside a better one probably takes no place, because the context of that one shows it;
    a search engine is then not asked again for the context of another.
    """
    group: list[FoundAnswer] = []
    apart: list[Candidate] = []
    for item, same in islice(found, MAX_BESIDE * top):
        group.append((item, same))
        if not any(_is_beside(item.candidate, other, BESIDE[form]) for other in apart):
            apart.append(item.candidate)
        if len(apart) == top:
            break
    return group


def _is_beside(candidate: Candidate, other: Candidate, reach: int) -> bool:
    """Return whether two sentences are at most so many positions apart in a document."""
    if candidate.document is None or other.document is None:
        return False
    if candidate.position is None or other.position is None:
        return False
    is_near = abs(candidate.position - other.position) <= reach
    return is_near and candidate.document.id == other.document.id


def _shows(answer: Answer, source: Source) -> bool:
    """Return whether the context of an answer holds the sentence of a source."""
    return source.document == answer.source.document and any(
        block.start <= source.start < block.end for block in answer.context
    )


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
    ranking: "Ranking | DocumentRanking",
    best: Sequence[Answer],
    *,
    retrieved: int,
    start: float,
) -> Answers:
    """Return the best sentences as answers.

    Args:
        retrieved: how many sentences were ranked.
        start: the value of `time.perf_counter` when the question came in.
    """
    if best:
        best = [replace(best[0], confidence=ranking.confidence), *best[1:]]
    return Answers(
        question=ranking.question,
        answers=tuple(best),
        abstains=ranking.abstains or not best,
        confidence=ranking.confidence,
        scorer=ranking.scorer,
        retrieved=retrieved,
        milliseconds=1000 * (time.perf_counter() - start),
        trace=ranking.trace,
        note=describe_language(ranking.question, best[0].sentence if best else ""),
    )
