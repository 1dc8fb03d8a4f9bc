"""rejoinder in LangChain: a document compressor that reranks, and a retriever over an index."""

from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.adapters.extras import needing
from rejoinder.adapters.reranking import rerank, to_scorer, to_text
from rejoinder.cascade.loading import DEFAULT
from rejoinder.engine.engine import Engine
from rejoinder.models.scorer import Scorer
from rejoinder.types import Answer

with needing("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr


class RejoinderRerank(BaseDocumentCompressor):
    """Puts the documents first whose best sentence answers; says which sentence it is.

    Documents come back as copies with `relevance_score` (between 0 and 1) and the
    `rejoinder_…` keys of `adapters.reranking` in their metadata.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    scorer: Any = DEFAULT
    """A name of `rejoinder models list`, a bundle's folder, a cascade's file, or a scorer."""
    top_n: int | None = Field(default=None, ge=1)
    budget_ms: float | None = Field(default=None, ge=0)
    keep_unanswered: bool = True
    _scorer: Scorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the scorer."""
        super().model_post_init(context)
        self._scorer = to_scorer(self.scorer)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002
    ) -> Sequence[Document]:
        """Return the best documents, best first."""
        found = rerank(
            query,
            [document.page_content for document in documents],
            scorer=self._scorer,
            titles=[to_text(document.metadata.get("title")) for document in documents],
            top_n=self.top_n,
            budget_ms=self.budget_ms,
            keep_unanswered=self.keep_unanswered,
        )
        return [
            documents[item.place].model_copy(
                update={
                    "metadata": {
                        **documents[item.place].metadata,
                        "relevance_score": item.relevance,
                        **item.metadata,
                    }
                }
            )
            for item in found
        ]


class RejoinderRetriever(BaseRetriever):
    """Finds the sentences of an index that answer: one document each, with its source.

    Where the scorer says that no sentence answers, there is none.
    """

    engine: Engine
    """What `rejoinder.open(folder)` returns."""
    k: int = Field(default=4, ge=1)
    budget_ms: float | None = Field(default=None, ge=0)
    where: Mapping[str, str | Sequence[str]] | None = None
    """What a document's metadata must say."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        found = self.engine.answer(
            query, top=self.k if k is None else k, budget_ms=self.budget_ms, where=self.where
        )
        return [_to_document(answer) for answer in found.answers]


def _to_document(answer: Answer) -> Document:
    source = answer.source
    return Document(
        id=f"{source.document}#{source.start}",
        page_content=answer.sentence,
        metadata={
            "source": source.document,
            "title": source.title,
            "line": source.line,
            "page": source.page,
            "before": answer.before,
            "after": answer.after,
            "rejoinder_sentence": answer.sentence,
            "rejoinder_start": source.start,
            "rejoinder_end": source.end,
            "rejoinder_score": answer.score,
            "rejoinder_confidence": answer.confidence,
        },
    )
