"""The protocol of retrievers."""
# ruff: noqa: ARG002 (the defaults read no arguments)

from collections.abc import Sequence
from typing import Protocol

from rejoinder.index.sqlite.context import Surroundings
from rejoinder.models.staged import Deadline
from rejoinder.types import Candidate, ScoredCandidate, Source, Where


class Retriever(Protocol):
    """Finds sentences that may answer a question, and reads the text around them.  Thread-safe.

    A retriever of your own derives from this class and defines `search`; answers then have no
    context.
    """

    @property
    def tokenizer_hash(self) -> str | None:
        """The hash of the tokenizer whose tokens candidates carry; None where they carry none."""
        return None

    def search(
        self,
        question: str,
        k: int,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> Sequence[ScoredCandidate]:
        """Return at most k candidates, best first; of copies, the one that matches best.

        Args:
            where: required metadata of the documents: for each key a value, or one of several.
            deadline: when the question has to be answered.

        Raises:
            StoreError: the retriever does not answer, or not before the deadline.
        """
        ...

    def locate(self, candidate: Candidate) -> Source | None:
        """Return the source of a candidate; None where it is unknown, or was removed."""
        return None

    def read_surroundings(
        self,
        candidates: Sequence[Candidate],
        form: str,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> list[Surroundings]:
        """Return the source, the context and the copies of each candidate, in one request.

        Args:
            form: `sentence`, `paragraph` or `section` (index/sqlite/context.py).
            where: only name copies in documents whose metadata match.
            deadline: after it, sources come without context.
        """
        return [Surroundings(self.locate(candidate)) for candidate in candidates]

    def find_page_copy(
        self,
        candidate: Candidate,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> Candidate | None:
        """Return the same sentence of a document that is no source of a page, if there is one.

        Args:
            deadline: after it, none is found.
        """
        return None

    def weigh_words(self, words: Sequence[str], *, deadline: Deadline | None = None) -> list[float]:
        """Return how rare each word is, from 0 to 1; 1 where words are not counted.

        Args:
            deadline: after it, each word weighs 1.
        """
        return [1.0] * len(words)

    def read_passages(
        self, candidates: Sequence[Candidate], *, deadline: Deadline | None = None
    ) -> list[Candidate]:
        """Return the candidates with their passages, for stages that read passages.

        Args:
            deadline: after it, candidates come without passages.
        """
        return list(candidates)

    def check_ready(self) -> None:
        """Raise a StoreError that says why questions cannot be answered now, if they cannot."""
        return None

    def close(self) -> None:
        """Close all connections."""
        return None
