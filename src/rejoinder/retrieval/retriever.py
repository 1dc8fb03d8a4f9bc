"""The protocol of retrievers."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from rejoinder.types import ScoredCandidate


class Retriever(Protocol):
    """Finds sentences that may answer a question."""

    def search(
        self, question: str, k: int, *, where: Mapping[str, str | Sequence[str]] | None = None
    ) -> Sequence[ScoredCandidate]:
        """Return at most k candidates, best first.

        Args:
            where: required metadata of the documents: for each key a value, or one of several.
        """
        ...
