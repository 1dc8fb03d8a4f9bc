"""Answers questions: finds sentences by their words, ranks them, and says where they stand."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rejoinder.cascade.loading import DEFAULT, load
from rejoinder.engine.binding import bind_scorer
from rejoinder.engine.duplicates import drop_duplicates
from rejoinder.engine.order import group_by_document
from rejoinder.errors import InputError
from rejoinder.index.feedback import add_marks, get_marks, remove_mark, say_unknown
from rejoinder.index.fulltext.search import Where
from rejoinder.index.index import Index
from rejoinder.models.arguments import (
    check_question,
    check_scorer,
    check_top,
    check_where,
)
from rejoinder.models.deadline import Deadline
from rejoinder.models.lexical.scorers import RetrievalOrder
from rejoinder.models.ranking import order
from rejoinder.models.scorer import Scorer
from rejoinder.retrieval.retriever import Retriever
from rejoinder.types import Answer, Answers, Candidate, Mark, Ranking, ScoredCandidate, Source

RETRIEVED = 100
"""How many sentences are ranked."""


class Engine:
    """Answers out of an index; several threads may ask at once.

    Without a scorer, the order of retrieval is the ranking.
    """

    def __init__(
        self,
        index: Index,
        scorer: Scorer | None = None,
        *,
        retriever: Retriever | None = None,
        retrieved: int = RETRIEVED,
    ) -> None:
        if scorer is not None:
            check_scorer(scorer)
        self.index = index
        self._scorer = None if scorer is None else bind_scorer(scorer, index)
        self._retriever = retriever or index
        self._retrieved = retrieved

    def answer(
        self,
        question: str,
        *,
        top: int = 1,
        budget_ms: float | None = None,
        where: Where | None = None,
    ) -> Answers:
        """Return the best sentences, best first, or the abstention with what came closest.

        Args:
            budget_ms: how long it may take.  When finding sentences has used it up, they are
                given in the order in which they were found.
            where: what a document's metadata must say, a value or one of several.

        Raises:
            InputError: the question is empty, `top` is below 1, the budget is negative, or
                `where` says nothing about metadata.
        """
        check_question(question)
        check_top(top)
        check_where(where)
        start = time.perf_counter()
        deadline = None if budget_ms is None else Deadline.after(budget_ms)
        found = self._retriever.search(question, self._retrieved, where=where)
        is_late = deadline is not None and deadline.left_ms <= 0
        scorer = self._scorer if self._scorer and not is_late else RetrievalOrder()
        candidates = self._prepare(found, scorer)
        ranking = order(question, candidates, scorer=scorer, deadline=deadline)
        return self._to_answers(ranking, top, len(found), start)

    async def aanswer(
        self,
        question: str,
        *,
        top: int = 1,
        budget_ms: float | None = None,
        where: Where | None = None,
    ) -> Answers:
        """Do the same without blocking an event loop."""
        return await asyncio.to_thread(
            self.answer, question, top=top, budget_ms=budget_ms, where=where
        )

    def mark(self, question: str, answer: Answer | str, *, right: bool | None = True) -> None:
        """Keep what a user says of an answer, for `rejoinder train --feedback`.

        Args:
            answer: one that was given, or its sentence.
            right: whether it answers the question; None takes back what was said.

        Raises:
            InputError: the question is empty, the index does not hold the sentence, there is
                nothing to take back, or `answer` or `right` is something else.
            StoreError: the index cannot be written.
        """
        if not isinstance(answer, Answer | str):
            raise InputError("mark takes one of the answers, or its sentence")
        if right not in (True, False, None):
            raise InputError(f"right must be True, False or None, found {right!r:.60}")
        sentence = answer if isinstance(answer, str) else answer.sentence
        if right is None:
            remove_mark(self.index.store, question, sentence)
        elif add_marks(self.index.store, [Mark(question, sentence, right)]):
            raise InputError(say_unknown(sentence))

    def get_marks(self) -> list[Mark]:
        """Return what was said of answers whose sentences still stand, in order."""
        return [stored.mark for stored in get_marks(self.index.store)]

    def close(self) -> None:
        """Close the index."""
        self.index.close()

    def _prepare(self, found: Sequence[ScoredCandidate], scorer: Scorer) -> list[Candidate]:
        """Return the candidates by document, in document order, with tokens it can read."""
        reads_tokens = getattr(scorer, "tokenizer", None) == self.index.tokenizer
        candidates = [replace(item.candidate, retrieval_score=item.score) for item in found]
        if not reads_tokens:
            candidates = [replace(candidate, tokens=None) for candidate in candidates]
        return group_by_document(candidates)

    def _to_answers(self, ranking: Ranking, top: int, retrieved: int, start: float) -> Answers:
        confidence, abstains = ranking.confidence, ranking.abstains
        best: list[Answer] = []
        for item in drop_duplicates(ranking.items):
            if len(best) == (1 if abstains else top):
                break
            best.append(self._to_answer(item, len(best) + 1))
        if best:
            best[0] = replace(best[0], confidence=confidence)
        return Answers(
            question=ranking.question,
            answers=() if abstains else tuple(best),
            closest=best[0] if abstains and best else None,
            confidence=confidence,
            scorer=ranking.scorer,
            retrieved=retrieved,
            milliseconds=1000 * (time.perf_counter() - start),
            trace=ranking.trace,
        )

    def _to_answer(self, item: ScoredCandidate, rank_: int) -> Answer:
        candidate = item.candidate
        before, after = _look_around(candidate)
        source = self.index.locate(candidate) or _describe(candidate)
        return Answer(candidate.text, source, item.score, rank_, before=before, after=after)


def open(folder: Path | str, *, scorer: Scorer | str | Path = DEFAULT) -> Engine:
    """Open an index and answer questions out of it.

    Args:
        folder: what `rejoinder index add --index` has made.
        scorer: ranks what is found: a scorer, a name of `rejoinder models list`, a bundle's
            folder, or a cascade's file.

    Raises:
        StoreError: there is no index, or it cannot be read.
    """
    chosen = load(scorer) if isinstance(scorer, str | Path) else scorer
    return Engine(Index(Path(folder)), chosen)


def _look_around(candidate: Candidate) -> tuple[str, str]:
    if candidate.document is None or candidate.position is None:
        return "", ""
    sentences, place = candidate.document.sentences, candidate.position
    before = sentences[place - 1] if place > 0 else ""
    after = sentences[place + 1] if place + 1 < len(sentences) else ""
    return before, after


def _describe(candidate: Candidate) -> Source:
    """Return what a candidate from elsewhere says of itself."""
    document = candidate.document
    name, title = (document.id, document.title) if document else ("", "")
    return Source(name, title, None, 0, len(candidate.text))
