"""Work on several threads; numpy, onnxruntime and the compiled kernel release the GIL."""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from rejoinder.models.scorer import Candidates, Scorer, Scores

Item = TypeVar("Item")
Result = TypeVar("Result")
QuestionCandidates = tuple[str, Candidates]
"""A question with its candidates."""


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], *, threads: int
) -> list[Result]:
    """Return the result of each item, in order; on this thread alone where one is enough."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))


def score_batch(
    scorer: Scorer, batch: Sequence[QuestionCandidates], *, threads: int = 1
) -> list[Scores]:
    """Return the scores of each question's candidates, which do not depend on the batch."""
    return spread(lambda item: scorer.score(*item), batch, threads=threads)


class AsyncScorer:
    """A scorer for asyncio: it works in a thread, so that the event loop is not blocked."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.name = scorer.name

    async def score(self, question: str, candidates: Candidates) -> Scores:
        """Return one score per candidate, in the order given."""
        return await asyncio.to_thread(self._scorer.score, question, candidates)
