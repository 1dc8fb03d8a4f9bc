"""rejoinder in Haystack: a ranker component."""

import asyncio
from dataclasses import replace
from typing import Any

from rejoinder.adapters.extras import needing
from rejoinder.adapters.reranking import rerank, to_scorer, to_text
from rejoinder.cascade.loading import DEFAULT
from rejoinder.models.scorer import Scorer

with needing("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class RejoinderRanker:
    """Puts the documents first whose best sentence answers; says which sentence it is.

    Documents come back as copies with a score between 0 and 1 and the `rejoinder_…` keys of
    `adapters.reranking` in their metadata.  Of documents with the same id the first counts.
    """

    def __init__(
        self,
        scorer: str = DEFAULT,
        top_k: int | None = None,
        budget_ms: float | None = None,
        keep_unanswered: bool = True,
    ) -> None:
        """Take what can be written down in a pipeline's file; nothing is loaded yet.

        Args:
            scorer: a name of `rejoinder models list`, a bundle's folder or a cascade's file.
            top_k: how many to return; all if not said.
            budget_ms: how long it may take.
            keep_unanswered: also return documents where the scorer says that none answers.
        """
        _check(top_k)
        self.scorer = scorer
        self.top_k = top_k
        self.budget_ms = budget_ms
        self.keep_unanswered = keep_unanswered
        self._loaded: Scorer | None = None

    def warm_up(self) -> None:
        """Load the scorer, once."""
        if self._loaded is None:
            self._loaded = to_scorer(self.scorer)

    def to_dict(self) -> dict[str, Any]:
        """Return what a pipeline writes down."""
        written: dict[str, Any] = default_to_dict(
            self,
            scorer=self.scorer,
            top_k=self.top_k,
            budget_ms=self.budget_ms,
            keep_unanswered=self.keep_unanswered,
        )
        return written

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RejoinderRanker":
        """Return the ranker that a pipeline wrote down."""
        read: RejoinderRanker = default_from_dict(cls, data)
        return read

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the best documents, best first."""
        _check(top_k)
        self.warm_up()
        assert self._loaded is not None
        by_id: dict[str, Document] = {}
        for document in documents:
            by_id.setdefault(document.id, document)
        given = list(by_id.values())
        found = rerank(
            query,
            [document.content or "" for document in given],
            scorer=self._loaded,
            titles=[to_text(document.meta.get("title")) for document in given],
            top_n=self.top_k if top_k is None else top_k,
            budget_ms=self.budget_ms,
            keep_unanswered=self.keep_unanswered,
        )
        best = [
            replace(
                given[item.place],
                score=item.relevance,
                meta={**given[item.place].meta, **item.metadata},
            )
            for item in found
        ]
        return {"documents": best}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Do the same without blocking an event loop."""
        return await asyncio.to_thread(self.run, query, documents, top_k)


def _check(top_k: int | None) -> None:
    if top_k is not None and top_k <= 0:
        raise ValueError(f"top_k must be > 0, but got {top_k}")
