"""LlamaIndex: a node postprocessor that reranks."""

from typing import Any

from rejoinder.adapters.reranking import Reranked, need_extra, rerank, to_text
from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.models.scorer import Scorer

with need_extra("llama-index"):
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.instrumentation import get_dispatcher
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle

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
    keep_unanswered: bool = True
    _scorer: Scorer = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Load the scorer."""
        super().model_post_init(context)
        self._scorer = to_scorer(self.scorer)

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
            keep_unanswered=self.keep_unanswered,
        )
        best = [_to_node(nodes[item.place], item) for item in reranked]
        _dispatcher.event(ReRankEndEvent(nodes=best))
        return best


def _to_node(given: NodeWithScore, item: Reranked) -> NodeWithScore:
    node = given.node
    copy = node.model_copy(
        update={
            "metadata": {**node.metadata, **item.metadata},
            "excluded_llm_metadata_keys": [*node.excluded_llm_metadata_keys, *item.metadata],
            "excluded_embed_metadata_keys": [*node.excluded_embed_metadata_keys, *item.metadata],
        }
    )
    return NodeWithScore(node=copy, score=item.relevance)
