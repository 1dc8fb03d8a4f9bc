"""LlamaIndex: node postprocessors that rerank and that prune."""

from collections.abc import Mapping
from typing import Any

from rejoinder.adapters.pruning import prune
from rejoinder.adapters.reranking import need_extra, rerank, to_text
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.engine.highlight import get_sentence_calibration
from rejoinder.models.ranking import check_min_confidence
from rejoinder.models.scorer import Scorer

with need_extra("llama-index"):
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, QueryBundle

_dispatcher = get_dispatcher(__name__)


class RejoinderRerank(BaseNodePostprocessor):
    """Ranks nodes by their best sentence.

    Returns copies with a score between 0 and 1 and the `rejoinder_…` metadata of
    `adapters.reranking`, which is hidden from language models and embeddings.
    """

    scorer: Any = DEFAULT
    """A name of `rejoinder models list`, the folder of a bundle, a cascade file, or a scorer."""
    top_n: int | None = Field(default=None, ge=1)
    budget_ms: float | None = Field(default=None, ge=0)
    min_confidence: float | None = Field(default=None, ge=0, le=1)
    """Abstain below this confidence; by default, if the scorer finds no answer likely."""
    keep_unanswered: bool = True
    """Return the nodes even if the scorer abstains."""
    _scorer: Scorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the scorer."""
        super().model_post_init(context)
        self._scorer = to_scorer(self.scorer)
        check_min_confidence(self.min_confidence, self._scorer)

    @classmethod
    def class_name(cls) -> str:
        """Return the name for serialisation."""
        return "RejoinderRerank"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("reranking needs the question: pass query_bundle or query_str")
        if not nodes:
            return []
        _dispatcher.event(
            ReRankStartEvent(
                query=query_bundle,
                nodes=nodes,
                top_n=self.top_n or len(nodes),
                model_name=self._scorer.name,
            )
        )
        reranked = rerank(
            query_bundle.query_str,
            # Only the text, because offsets count in it.
            [node.node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes],
            scorer=self._scorer,
            titles=[to_text(node.node.metadata.get("title")) for node in nodes],
            top_n=self.top_n,
            budget_ms=self.budget_ms,
            min_confidence=self.min_confidence,
            keep_unanswered=self.keep_unanswered,
        )
        best = [
            NodeWithScore(
                node=nodes[item.place].node.model_copy(
                    update=_add(nodes[item.place].node, item.metadata)
                ),
                score=item.relevance,
            )
            for item in reranked
        ]
        _dispatcher.event(ReRankEndEvent(nodes=best))
        return best


class RejoinderCompressor(BaseNodePostprocessor):
    """Prunes nodes to the sentences that may answer, with their headings and lead-ins.

    Returns copies in the given order and with their scores, with the `rejoinder_…` metadata of
    `adapters.pruning`, which is hidden from language models and embeddings; a node of which nothing
    is left is dropped.
    """

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

    @classmethod
    def class_name(cls) -> str:
        """Return the name for serialisation."""
        return "RejoinderCompressor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("pruning needs the question: pass query_bundle or query_str")
        pruned = prune(
            query_bundle.query_str,
            [node.node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes],
            scorer=self._scorer,
            titles=[to_text(node.node.metadata.get("title")) for node in nodes],
            threshold=self.threshold,
            budget_ms=self.budget_ms,
        )
        left = []
        for item in pruned:
            given = nodes[item.place]
            copy = given.node.model_copy(update=_add(given.node, item.metadata))
            copy.set_content(item.text)
            left.append(NodeWithScore(node=copy, score=given.score))
        return left


def _add(node: BaseNode, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a node with more metadata, which only programs see."""
    return {
        "metadata": {**node.metadata, **metadata},
        "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, *metadata],
        "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, *metadata],
    }
