"""Haystack: components that rank and that prune."""

import asyncio
from dataclasses import replace
from typing import Any

from rejoinder.adapters.pruning import prune
from rejoinder.adapters.reranking import need_extra, rerank, to_text
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.engine.highlight import check_threshold, get_sentence_calibration
from rejoinder.models.ranking import check_min_confidence
from rejoinder.models.scorer import Scorer

with need_extra("haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


@component
class RejoinderRanker:
    """Ranks documents by their best sentence.

    Returns copies with a score between 0 and 1 and the `rejoinder_…` metadata of
    `adapters.reranking`.  Later documents with a repeated id are dropped.
    """

    def __init__(
        self,
        scorer: str = DEFAULT,
        top_k: int | None = None,
        budget_ms: float | None = None,
        keep_unanswered: bool = True,
        min_confidence: float | None = None,
    ) -> None:
        """Store the settings, which a pipeline can serialise; `warm_up` loads the scorer.

        Args:
            scorer: a name of `rejoinder models list`, the folder of a bundle or a cascade file.
            top_k: how many documents to return; all by default.
            budget_ms: the latency budget.
            keep_unanswered: return the documents even if the scorer abstains.
            min_confidence: abstain below this confidence, instead of where the scorer finds
                no answer likely.
        """
        _check(top_k)
        self.scorer = scorer
        self.top_k = top_k
        self.budget_ms = budget_ms
        self.keep_unanswered = keep_unanswered
        self.min_confidence = min_confidence
        self._loaded: Scorer | None = None

    def warm_up(self) -> None:
        """Load the scorer, once."""
        if self._loaded is None:
            loaded = to_scorer(self.scorer)
            check_min_confidence(self.min_confidence, loaded)
            self._loaded = loaded

    def to_dict(self) -> dict[str, Any]:
        """Serialise the settings."""
        settings: dict[str, Any] = default_to_dict(
            self,
            scorer=self.scorer,
            top_k=self.top_k,
            budget_ms=self.budget_ms,
            keep_unanswered=self.keep_unanswered,
            min_confidence=self.min_confidence,
        )
        return settings

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RejoinderRanker":
        """Deserialise a ranker."""
        ranker: RejoinderRanker = default_from_dict(cls, data)
        return ranker

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
        reranked = rerank(
            query,
            [document.content or "" for document in given],
            scorer=self._loaded,
            titles=[to_text(document.meta.get("title")) for document in given],
            top_n=self.top_k if top_k is None else top_k,
            budget_ms=self.budget_ms,
            min_confidence=self.min_confidence,
            keep_unanswered=self.keep_unanswered,
        )
        best = [
            replace(
                given[item.place],
                score=item.relevance,
                meta={**given[item.place].meta, **item.metadata},
            )
            for item in reranked
        ]
        return {"documents": best}

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, documents: list[Document], top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return the same as `run`, without blocking the event loop."""
        return await asyncio.to_thread(self.run, query, documents, top_k)


@component
class RejoinderCompressor:
    """Prunes documents to the sentences that may answer, with their headings and lead-ins.

    Returns copies in the given order, with the `rejoinder_…` metadata of `adapters.pruning`; a
    document of which nothing is left is dropped.
    """

    def __init__(
        self,
        scorer: str = DEFAULT,
        threshold: float | None = None,
        budget_ms: float | None = None,
    ) -> None:
        """Store the settings, which a pipeline can serialise; `warm_up` loads the scorer.

        Args:
            scorer: a name of `rejoinder models list` or a cascade file; it must rate sentences.
            threshold: keep sentences from this probability on; by default hardly any answer is
                lost.
            budget_ms: the latency budget.
        """
        check_threshold(threshold)
        self.scorer = scorer
        self.threshold = threshold
        self.budget_ms = budget_ms
        self._loaded: Scorer | None = None

    def warm_up(self) -> None:
        """Load the scorer, once."""
        if self._loaded is None:
            loaded = to_scorer(self.scorer)
            get_sentence_calibration(loaded)
            self._loaded = loaded

    def to_dict(self) -> dict[str, Any]:
        """Serialise the settings."""
        settings: dict[str, Any] = default_to_dict(
            self, scorer=self.scorer, threshold=self.threshold, budget_ms=self.budget_ms
        )
        return settings

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "RejoinderCompressor":
        """Deserialise a compressor."""
        compressor: RejoinderCompressor = default_from_dict(cls, data)
        return compressor

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
        """Return the pruned documents, in their order."""
        self.warm_up()
        assert self._loaded is not None
        pruned = prune(
            query,
            [document.content or "" for document in documents],
            scorer=self._loaded,
            titles=[to_text(document.meta.get("title")) for document in documents],
            threshold=self.threshold,
            budget_ms=self.budget_ms,
        )
        left = [
            replace(
                documents[item.place],
                content=item.text,
                meta={**documents[item.place].meta, **item.metadata},
            )
            for item in pruned
        ]
        return {"documents": left}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, documents: list[Document]) -> dict[str, list[Document]]:
        """Return the same as `run`, without blocking the event loop."""
        return await asyncio.to_thread(self.run, query, documents)


def _check(top_k: int | None) -> None:
    if top_k is not None and top_k <= 0:
        raise ValueError(f"top_k must be > 0, but got {top_k}")
