"""The `rerankers` package: a ranker."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rejoinder.adapters.reranking import Reranked, need_extra, rerank, to_text
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.models.ranking import check_min_confidence
from rejoinder.models.scorer import Scorer

with need_extra("rerankers"):
    from rerankers.documents import Document
    from rerankers.models.ranker import BaseRanker
    from rerankers.results import RankedResults, Result


class RejoinderRanker(BaseRanker):
    """Ranks documents by their best sentence.

    Returns copies with the `rejoinder_…` metadata of `adapters.reranking`; scores are between
    0 and 1.
    """

    def __init__(
        self,
        model_name_or_path: Scorer | str | Path = DEFAULT,
        verbose: int = 0,  # noqa: ARG002
        *,
        top_n: int | None = None,
        budget_ms: float | None = None,
        min_confidence: float | None = None,
        keep_unanswered: bool = True,
    ) -> None:
        """Load the scorer.

        Args:
            model_name_or_path: a name of `rejoinder models list`, the folder of a bundle, a
                cascade file, or a scorer.
            verbose: ignored; nothing is printed.
            top_n: how many documents to return; all by default.
            budget_ms: the latency budget.
            min_confidence: abstain below this confidence, instead of where the scorer finds
                no answer likely.
            keep_unanswered: return the documents even if the scorer abstains.
        """
        self._scorer = to_scorer(model_name_or_path)
        check_min_confidence(min_confidence, self._scorer)
        self._top_n = top_n
        self._budget_ms = budget_ms
        self._min_confidence = min_confidence
        self._keep_unanswered = keep_unanswered

    def score(self, query: str, doc: str) -> float:
        """Return how well one document answers, between 0 and 1."""
        (item,) = rerank(query, [doc], scorer=self._scorer, budget_ms=self._budget_ms)
        return item.relevance

    def rank(
        self,
        query: str,
        docs: str | Document | Sequence[str | Document],
        doc_ids: Sequence[str | int] | None = None,
        metadata: Sequence[dict[str, Any]] | None = None,
    ) -> RankedResults:
        """Return the best documents, best first."""
        given = _to_documents(docs, doc_ids, metadata)
        reranked = rerank(
            query,
            [document.text or "" for document in given],
            scorer=self._scorer,
            titles=[to_text(document.metadata.get("title")) for document in given],
            top_n=self._top_n,
            budget_ms=self._budget_ms,
            min_confidence=self._min_confidence,
            keep_unanswered=self._keep_unanswered,
        )
        results = [
            Result(_add_metadata(given[item.place], item), score=item.relevance, rank=rank)
            for rank, item in enumerate(reranked, start=1)
        ]
        return RankedResults(results=results, query=query, has_scores=True)


def _to_documents(
    docs: str | Document | Sequence[str | Document],
    doc_ids: Sequence[str | int] | None,
    metadata: Sequence[dict[str, Any]] | None,
) -> list[Document]:
    """Return copies of the documents; missing ids count from 0."""
    listed = [docs] if isinstance(docs, str | Document) else list(docs)
    given = [item if isinstance(item, Document) else Document(item) for item in listed]
    ids = doc_ids if doc_ids is not None else [item.doc_id for item in given]
    metadatas = metadata if metadata is not None else [item.metadata for item in given]
    return [
        Document(item.text, doc_id=place if id_ is None else id_, metadata=dict(own))
        for place, (item, id_, own) in enumerate(zip(given, ids, metadatas, strict=True))
    ]


def _add_metadata(document: Document, item: Reranked) -> Document:
    metadata = {**document.metadata, **item.metadata}
    return Document(document.text, doc_id=document.doc_id, metadata=metadata)
