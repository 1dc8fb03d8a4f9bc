"""Finds sentences that may answer a question, in an index or a search server of the user's own."""

from collections.abc import Sequence
from typing import Protocol

from rejoinder.types import ScoredCandidate, Where


class Retriever(Protocol):
    """Finds sentences that may answer a question."""

    def search(
        self, question: str, k: int, *, where: Where | None = None
    ) -> Sequence[ScoredCandidate]:
        """Return at most k candidates, best first.

        Args:
            where: required metadata of the documents: for each key a value, or one of several.
        """
        ...
