"""Texts that are not in an index: rank documents by their best sentence, answer from one text.

Rerankers get documents of any length, but scorers read sentences.  So documents are split
into sentences, all sentences are ranked at once, each with its document and position, and a
document gets the score of its best sentence.
"""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.cascade.calibration import to_probability
from rejoinder.engine.answers import build_answers, take_distinct
from rejoinder.index.sqlite.context import check_form, cut_block
from rejoinder.models.ranking import (
    check_candidates,
    check_min_confidence,
    check_question,
    check_top,
    order,
)
from rejoinder.models.scorer import Scorer
from rejoinder.models.staged import Deadline, merge_stages
from rejoinder.text.sentences import SentenceSpan, split_sentences
from rejoinder.types import (
    Answer,
    Answers,
    Candidate,
    ContextBlock,
    Document,
    Ranking,
    Source,
    StageTrace,
)

NOTHING = -1000.0
"""The score of a document without sentences, or lower if others are as low: relevance 0."""


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence at `text[start:end]` of its document, in code points."""

    sentence: str
    """On one line: line breaks are replaced by spaces."""
    start: int
    end: int
    score: float
    """Comparable with all other spans of the ranking, whichever stage scored them."""
    relevance: float = field(init=False)
    """The score between 0 and 1; for a selector, the probability that the sentence answers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relevance", to_probability(self.score))


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document by its index in the given list, with its sentences, best first.

    Headings have no spans, unless the document has nothing else.
    """

    place: int
    rank: int
    score: float
    """The score of the best sentence."""
    relevance: float = field(init=False)
    """The score between 0 and 1."""
    spans: tuple[Span, ...]
    """Empty for an empty text."""
    id: str | None = None
    """The id that the caller gave."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relevance", to_probability(self.score))

    @property
    def best(self) -> Span | None:
        """The sentence whose score the document has."""
        return self.spans[0] if self.spans else None


@dataclass(frozen=True, slots=True)
class DocumentRanking:
    """The documents of one question, best first."""

    question: str
    scorer: str
    documents: tuple[RankedDocument, ...]
    trace: tuple[StageTrace, ...] = ()
    confidence: float | None = None
    """Probability that the best sentence of the first document answers, where known."""
    abstains: bool = False
    """Whether no sentence is likely to answer."""


def rank_documents(
    question: str,
    texts: Sequence[str],
    *,
    scorer: Scorer,
    titles: Sequence[str] | None = None,
    ids: Sequence[str | None] | None = None,
    top: int | None = None,
    spans: int | None = None,
    budget_ms: float | None = None,
    min_confidence: float | None = None,
) -> DocumentRanking:
    """Order documents by their best sentence; ties keep their input order.

    Args:
        titles: one per text, for scorers that read context.
        ids: one per text, returned with it.
        top: how many documents to return; all by default.
        spans: how many sentences to return of each document; all by default.
        budget_ms: the latency budget, sentence splitting included.
        min_confidence: abstain below this confidence, instead of where the scorer finds
            no answer likely.

    Raises:
        InputError: the texts are not a list, `top` is below 1, the budget is negative, or the
            scorer has no confidence to compare.
    """
    check_candidates(texts)
    check_min_confidence(min_confidence, scorer)
    if top is not None:
        check_top(top)
    deadline = None if budget_ms is None else Deadline.after(budget_ms)
    named = titles if titles is not None else [""] * len(texts)
    split = [split_sentences(text) for text in texts]
    candidates = [
        candidate
        for place, (text, title, sentences) in enumerate(zip(texts, named, split, strict=True))
        for candidate in _to_candidates(str(place), text, title, sentences)
    ]
    ranking = order(
        question, candidates, scorer=scorer, deadline=deadline, min_confidence=min_confidence
    )
    documents = tuple(_group(ranking, split, ids, spans))
    return DocumentRanking(
        question, scorer.name, documents[:top], ranking.trace, ranking.confidence, ranking.abstains
    )


def _to_candidates(
    id_: str, text: str, title: str, sentences: Sequence[SentenceSpan]
) -> Iterator[Candidate]:
    document = Document(id_, title, [sentence.extract(text) for sentence in sentences])
    # A short line without a full stop looks like a heading; a document may have nothing else.
    is_only_headings = all(sentence.is_heading for sentence in sentences)
    for position, sentence in enumerate(sentences):
        if is_only_headings or not sentence.is_heading:
            yield Candidate(f"{id_}#{position}", document.sentences[position], document, position)


def _group(
    ranking: Ranking,
    split: Sequence[Sequence[SentenceSpan]],
    ids: Sequence[str | None] | None,
    limit: int | None,
) -> Iterator[RankedDocument]:
    """Yield the documents in the order of their best sentences, empty ones last."""
    scores = merge_stages(
        np.array([item.score for item in ranking.items], dtype=np.float64),
        np.array([item.stage for item in ranking.items], dtype=np.int64),
    )
    best: dict[int, float] = {}
    spans: dict[int, list[Span]] = {}
    for item, score in zip(ranking.items, scores.tolist(), strict=True):
        candidate = item.candidate
        assert candidate.document is not None
        assert candidate.position is not None
        place = int(candidate.document.id)
        best.setdefault(place, score)
        own = spans.setdefault(place, [])
        if limit is None or len(own) < limit:
            sentence = split[place][candidate.position]
            own.append(Span(candidate.text, sentence.start, sentence.end, score))
    nothing = min([NOTHING, *(scores - 1).tolist()])
    empty = [place for place in range(len(split)) if place not in spans]
    for rank_, place in enumerate([*spans, *empty], start=1):
        id_ = ids[place] if ids else None
        score = best.get(place, nothing)
        yield RankedDocument(place, rank_, score, tuple(spans.get(place, ())), id_)


def answer_text(
    question: str,
    text: str,
    *,
    scorer: Scorer,
    top: int = 1,
    budget_ms: float | None = None,
    min_confidence: float | None = None,
    context: str = "paragraph",
) -> Answers:
    """Return the best sentences of a text, best first, as `Engine.answer` does.

    Paragraphs end at empty lines; a section is the whole text.

    Raises:
        InputError: the question is empty, `top` is below 1, the budget is negative, or the
            scorer has no confidence to compare with `min_confidence`.
        UnknownNameError: there is no such context.
    """
    check_question(question)
    check_top(top)
    check_form(context)
    start = time.perf_counter()
    ranking = rank_documents(
        question, [text], scorer=scorer, budget_ms=budget_ms, min_confidence=min_confidence
    )
    spans = ranking.documents[0].spans
    best = take_distinct((_to_answer(text, span, context) for span in spans), top)
    return build_answers(ranking, best, retrieved=len(spans), start=start)


def _to_answer(text: str, span: Span, form: str) -> Answer:
    line = text.count("\n", 0, span.start) + 1
    return Answer(
        span.sentence,
        Source("", "", line, span.start, span.end),
        span.score,
        0,  # `take_distinct` counts
        context=_find_context(text, span, form),
    )


def _find_context(text: str, span: Span, form: str) -> tuple[ContextBlock, ...]:
    if form == "sentence":
        return ()
    start, end = 0, len(text)
    if form == "paragraph":
        breaks = [match.span() for match in _EMPTY_LINE.finditer(text)]
        start = max((after for _, after in breaks if after <= span.start), default=start)
        end = min((before for before, _ in breaks if before >= span.end), default=end)
    return (cut_block("paragraph", text[start:end], start, span.start, span.end),)


_EMPTY_LINE = re.compile(r"\n\s*\n")
