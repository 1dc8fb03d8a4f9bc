"""The one thing that finds candidates must be able to do."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rejoinder.types import ScoredCandidate


class Retriever(Protocol):
    """Finds the sentences of many documents that may answer a question."""

    def search(
        self, question: str, k: int, *, where: Mapping[str, str | Sequence[str]] | None = None
    ) -> Sequence[ScoredCandidate]:
        """Return at most k candidates, best first; `where` says what documents must be like."""
        ...
