"""Many questions at once, and scoring from asyncio."""

import asyncio
from collections.abc import Sequence

from rejoinder.models.scorer import Candidates, Scorer, Scores
from rejoinder.models.threads import spread

Asked = tuple[str, Candidates]
"""A question with its candidates."""


def score_many(scorer: Scorer, asked: Sequence[Asked], *, threads: int = 1) -> list[Scores]:
    """Return the scores of each question's candidates, spread over threads.

    Scores are those that each question would get alone.
    """

    def score(item: Asked) -> Scores:
        return scorer.score(item[0], item[1])

    return spread(score, asked, threads=threads)


class AsyncScorer:
    """A scorer for asyncio: work happens in a thread, so that the event loop goes on."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.name = scorer.name

    async def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        return await asyncio.to_thread(self._scorer.score, question, candidates)
