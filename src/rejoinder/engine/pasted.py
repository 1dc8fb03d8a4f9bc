"""Answers out of a text that is in no index."""

import time
from bisect import bisect_left
from collections.abc import Sequence

from rejoinder.engine.passages import Span, rank_documents
from rejoinder.models.arguments import check_question, check_top
from rejoinder.models.scorer import Scorer
from rejoinder.types import Answer, Answers, Source


def answer_text(
    question: str,
    text: str,
    *,
    scorer: Scorer,
    top: int = 1,
    budget_ms: float | None = None,
) -> Answers:
    """Return the best sentences of a text, best first, or the abstention with the closest.

    Raises:
        InputError: the question is empty, `top` is below 1, or the budget is negative.
    """
    check_question(question)
    check_top(top)
    start = time.perf_counter()
    ranking = rank_documents(question, [text], scorer=scorer, budget_ms=budget_ms)
    spans = ranking.documents[0].spans
    wanted = spans[: 1 if ranking.abstains else top]
    in_order = sorted(spans, key=lambda span: span.start)
    best = [
        _to_answer(
            text, span, in_order, rank=rank, confidence=ranking.confidence if rank == 1 else None
        )
        for rank, span in enumerate(wanted, start=1)
    ]
    return Answers(
        question=question,
        answers=() if ranking.abstains else tuple(best),
        closest=best[0] if ranking.abstains and best else None,
        confidence=ranking.confidence,
        scorer=ranking.scorer,
        retrieved=len(spans),
        milliseconds=1000 * (time.perf_counter() - start),
        trace=ranking.trace,
    )


def _to_answer(
    text: str, span: Span, in_order: Sequence[Span], *, rank: int, confidence: float | None
) -> Answer:
    place = bisect_left(in_order, span.start, key=lambda item: item.start)
    line = text.count("\n", 0, span.start) + 1
    return Answer(
        span.sentence,
        Source("", "", line, span.start, span.end),
        span.score,
        rank,
        confidence,
        before=in_order[place - 1].sentence if place else "",
        after=in_order[place + 1].sentence if place + 1 < len(in_order) else "",
    )
