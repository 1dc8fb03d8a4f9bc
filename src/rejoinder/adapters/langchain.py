"""LangChain: document compressors that rerank and that prune, and a retriever over an index."""

from collections.abc import Mapping, Sequence
from typing import Any

from rejoinder.adapters.pruning import prune
from rejoinder.adapters.reranking import need_extra, rerank, to_text
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.engine.engine import Engine
from rejoinder.engine.highlight import get_sentence_calibration
from rejoinder.models.ranking import check_min_confidence
from rejoinder.models.scorer import Scorer
from rejoinder.types import Answer

with need_extra("langchain"):
    from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, Field, PrivateAttr


class RejoinderRerank(BaseDocumentCompressor):
    """Ranks documents by their best sentence.

    Returns copies with `relevance_score` (between 0 and 1) and the `rejoinder_…` metadata of
    `adapters.reranking`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    scorer: Any = DEFAULT
    """A name of `rejoinder models list`, the folder of a bundle, a cascade file, or a scorer."""
    top_n: int | None = Field(default=None, ge=1)
    budget_ms: float | None = Field(default=None, ge=0)
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    """Abstain below this confidence; by default, if the scorer finds no answer likely."""
    keep_unanswered: bool = True
    """Return the documents even if the scorer abstains."""
    _scorer: Scorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the scorer."""
        super().model_post_init(context)
        self._scorer = to_scorer(self.scorer)
        check_min_confidence(self.min_confidence, self._scorer)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002
    ) -> Sequence[Document]:
        """Return the best documents, best first."""
        reranked = rerank(
            query,
            [document.page_content for document in documents],
            scorer=self._scorer,
            titles=[to_text(document.metadata.get("title")) for document in documents],
            top_n=self.top_n,
            budget_ms=self.budget_ms,
            min_confidence=self.min_confidence,
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
            for item in reranked
        ]


class RejoinderCompressor(BaseDocumentCompressor):
    """Prunes documents to the sentences that may answer, with their headings and lead-ins.

    Returns copies in the given order, with the `rejoinder_…` metadata of `adapters.pruning`; a
    document of which nothing is left is dropped.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    scorer: Any = DEFAULT
    """A name of `rejoinder models list`, a cascade file, or a scorer that rates sentences."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """Keep sentences from this probability on; by default hardly any answer is lost."""
    budget_ms: float | None = Field(default=None, ge=0)
    _scorer: Scorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the scorer."""
        super().model_post_init(context)
        self._scorer = to_scorer(self.scorer)
        get_sentence_calibration(self._scorer)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks | None = None,  # noqa: ARG002
    ) -> Sequence[Document]:
        """Return the pruned documents, in their order."""
        pruned = prune(
            query,
            [document.page_content for document in documents],
            scorer=self._scorer,
            titles=[to_text(document.metadata.get("title")) for document in documents],
            threshold=self.threshold,
            budget_ms=self.budget_ms,
        )
        return [
            documents[item.place].model_copy(
                update={
                    "page_content": item.text,
                    "metadata": {**documents[item.place].metadata, **item.metadata},
                }
            )
            for item in pruned
        ]


class RejoinderRetriever(BaseRetriever):
    """Retrieves the sentences of an index that answer: one document per sentence.

    If the scorer abstains, it retrieves nothing, unless `keep_unanswered` is set: then the metadata
    `rejoinder_abstains` says that the sentences are the closest, and not likely to answer.
    """

    engine: Engine
    """The engine from `rejoinder.open(folder)`."""
    k: int = Field(default=4, ge=1)
    budget_ms: float | None = Field(default=None, ge=0)
    where: Mapping[str, str | Sequence[str]] | None = None
    """Only search documents whose metadata match."""
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    """Abstain below this confidence; by default, if the scorer finds no answer likely."""
    keep_unanswered: bool = False
    """Retrieve the closest sentences even if the scorer abstains."""

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002
        k: int | None = None,
    ) -> list[Document]:
        answers = self.engine.answer(
            query,
            top=self.k if k is None else k,
            budget_ms=self.budget_ms,
            where=self.where,
            min_confidence=self.min_confidence,
        )
        if answers.abstains and not self.keep_unanswered:
            return []
        return [_to_document(answer, abstains=answers.abstains) for answer in answers.answers]


def _to_document(answer: Answer, *, abstains: bool) -> Document:
    source = answer.source
    return Document(
        id=f"{source.document}#{source.start}",
        page_content=answer.sentence,
        metadata={
            "source": source.document,
            "title": source.title,
            "line": source.line,
            "page": source.page,
            "headings": list(source.headings),
            "url": source.url,
            "context": "\n\n".join(block.text for block in answer.context),
            "rejoinder_sentence": answer.sentence,
            "rejoinder_start": source.start,
            "rejoinder_end": source.end,
            "rejoinder_score": answer.score,
            "rejoinder_confidence": answer.confidence,
            "rejoinder_abstains": abstains,
        },
    )
