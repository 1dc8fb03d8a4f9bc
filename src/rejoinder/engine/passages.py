"""Ranks whole documents by their best sentence, and says where in the text it stands.

What a reranker is given, documents of any length, is not what a scorer reads.  So documents
are split into sentences, all of them are ranked at once, each with its document and its place
there, and a document is as good as its best sentence.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rejoinder.cascade.calibration import to_probability
from rejoinder.models.arguments import check_candidates, check_top
from rejoinder.models.deadline import Deadline
from rejoinder.models.ranking import order
from rejoinder.models.scorer import Scorer
from rejoinder.models.staged import merge_stages
from rejoinder.text.sentences import Sentence, split_sentences
from rejoinder.types import Candidate, Document, Ranking, StageTrace

NOTHING = -1000.0
"""The score of a document without a sentence, or lower where others are as low: relevance 0."""


@dataclass(frozen=True, slots=True)
class Span:
    """A sentence at `text[start:end]` of its document, in code points."""

    sentence: str
    """On one line: line breaks inside it are spaces here."""
    start: int
    end: int
    score: float
    """On one scale with all others of its ranking, whichever stage gave it."""
    relevance: float = field(init=False)
    """The score between 0 and 1; of a selector, its belief that the sentence answers."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relevance", to_probability(self.score))


@dataclass(frozen=True, slots=True)
class RankedDocument:
    """A document by its place in the list that was given, with its sentences, best first.

    A heading is no answer and has no span, unless the document is nothing but headings.
    """

    place: int
    rank: int
    score: float
    """That of the best sentence."""
    relevance: float = field(init=False)
    """The score between 0 and 1."""
    spans: tuple[Span, ...]
    """None where the text is empty."""
    id: str | None = None
    """The id that the caller gave."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "relevance", to_probability(self.score))

    @property
    def best(self) -> Span | None:
        """The sentence that made the score."""
        return self.spans[0] if self.spans else None


@dataclass(frozen=True, slots=True)
class DocumentRanking:
    """The documents of one question, best first."""

    question: str
    scorer: str
    documents: tuple[RankedDocument, ...]
    trace: tuple[StageTrace, ...] = ()
    confidence: float | None = None
    """How likely the first document's best sentence is an answer, where that is known."""
    abstains: bool = False
    """Whether the confidence is below the threshold: no sentence here answers."""


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
) -> DocumentRanking:
    """Order documents by their best sentence; equals keep their input order.

    Args:
        titles: one per text, for scorers that read context.
        ids: one per text, returned with it.
        top: how many documents to return; all by default.
        spans: how many sentences to return of each document; all by default.
        budget_ms: how long it may take, splitting included; the best that is known by then
            is returned.

    Raises:
        InputError: the texts are no list, `top` is below 1, or the budget is negative.
    """
    check_candidates(texts)
    if top is not None:
        check_top(top)
    deadline = None if budget_ms is None else Deadline.after(budget_ms)
    named = titles if titles is not None else [""] * len(texts)
    split = [split_sentences(text) for text in texts]
    candidates = [
        candidate
        for place, (text, title, found) in enumerate(zip(texts, named, split, strict=True))
        for candidate in _to_candidates(str(place), text, title, found)
    ]
    ranking = order(question, candidates, scorer=scorer, deadline=deadline)
    documents = tuple(_group(ranking, split, ids, spans))
    return DocumentRanking(
        question, scorer.name, documents[:top], ranking.trace, ranking.confidence, ranking.abstains
    )


def _to_candidates(
    id_: str, text: str, title: str, found: Sequence[Sentence]
) -> Iterator[Candidate]:
    document = Document(id_, title, [sentence.extract(text) for sentence in found])
    # A short line without a full stop looks like a heading; alone, it is what there is.
    is_only_headings = all(sentence.is_heading for sentence in found)
    for position, sentence in enumerate(found):
        if is_only_headings or not sentence.is_heading:
            words = document.sentences[position]
            yield Candidate(f"{id_}#{position}", words, document, position)


def _group(
    ranking: Ranking,
    split: Sequence[Sequence[Sentence]],
    ids: Sequence[str | None] | None,
    limit: int | None,
) -> Iterator[RankedDocument]:
    """Yield the documents in the order of their best sentences, then those without any."""
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
