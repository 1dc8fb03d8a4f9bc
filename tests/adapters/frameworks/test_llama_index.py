import asyncio
from typing import Any

import pytest
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.schema import ImageNode, MetadataMode, NodeWithScore, QueryBundle, TextNode
from pydantic import ValidationError

from rejoinder.adapters.llama_index import RejoinderCompressor, RejoinderRerank
from rejoinder.cascade.cascade import Cascade
from rejoinder.errors import InputError
from tests.adapters.texts import (
    ANSWER,
    BEES,
    EVERYTHING,
    EVERYTHING_PRUNED,
    PRUNED,
    QUESTION,
    TEA,
)

NODES = [
    NodeWithScore(node=TextNode(id_="b", text=BEES), score=0.9),
    NodeWithScore(node=TextNode(id_="t", text=TEA, metadata={"title": "On tea"}), score=0.1),
]


class Events(BaseEventHandler):
    seen: list[Any] = []  # noqa: RUF012

    def handle(self, event: Any, **_: Any) -> None:
        self.seen.append(event)


def test_the_node_with_the_answer_comes_first() -> None:
    first, second = RejoinderRerank(scorer="word-overlap").postprocess_nodes(
        NODES, query_str=QUESTION
    )

    assert (first.node.node_id, first.text) == ("t", TEA)
    assert first.score == pytest.approx(0.982, abs=1e-3)
    assert first.metadata == {"title": "On tea", **EVERYTHING}
    assert second.node.node_id == "b"


def test_what_was_given_is_as_it_was() -> None:
    RejoinderRerank(scorer="word-overlap").postprocess_nodes(NODES, QueryBundle(QUESTION))

    assert NODES[1].metadata == {"title": "On tea"}
    assert NODES[1].score == 0.1


def test_neither_language_models_nor_embeddings_read_our_metadata() -> None:
    first, *_ = RejoinderRerank(scorer="word-overlap").postprocess_nodes(NODES, query_str=QUESTION)

    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        shown = first.node.get_content(metadata_mode=mode)
        assert "On tea" in shown
        assert "rejoinder_" not in shown


def test_the_shipped_scorer_finds_it_too_without_blocking() -> None:
    reranker = RejoinderRerank(top_n=1, budget_ms=60_000)

    (first,) = asyncio.run(
        reranker.apostprocess_nodes(NODES, query_str="At which temperature is tea made?")
    )

    assert first.metadata["rejoinder_sentence"] == ANSWER


def test_it_may_return_nothing_where_nothing_answers(calibrated: Cascade) -> None:
    keeps = RejoinderRerank(scorer=calibrated)
    drops = RejoinderRerank(scorer=calibrated, keep_unanswered=False)

    assert len(keeps.postprocess_nodes(NODES, query_str="xylophones?")) == 2
    assert drops.postprocess_nodes(NODES, query_str="xylophones?") == []


def test_min_confidence_decides_and_the_metadata_say_that_the_scorer_abstains(
    calibrated: Cascade,
) -> None:
    strict = RejoinderRerank(scorer=calibrated, min_confidence=0.9)
    drops = RejoinderRerank(scorer=calibrated, min_confidence=0.9, keep_unanswered=False)

    kept = strict.postprocess_nodes(NODES, query_str=QUESTION)

    assert [node.metadata["rejoinder_abstains"] for node in kept] == [True, True]
    assert drops.postprocess_nodes(NODES, query_str=QUESTION) == []
    with pytest.raises(InputError, match="needs a confidence, and bm25 has none"):
        RejoinderRerank(scorer="bm25", min_confidence=0.5)


def test_observers_are_told() -> None:
    events = Events()
    get_dispatcher().add_event_handler(events)

    RejoinderRerank(scorer="word-overlap", top_n=1).postprocess_nodes(NODES, query_str=QUESTION)

    start, end = events.seen
    assert (start.class_name(), start.top_n, start.model_name) == (
        "ReRankStartEvent",
        1,
        "word-overlap",
    )
    assert (end.class_name(), len(end.nodes)) == ("ReRankEndEvent", 1)


def test_no_nodes_no_question_no_text() -> None:
    reranker = RejoinderRerank(scorer="word-overlap")

    assert reranker.postprocess_nodes([], query_str=QUESTION) == []
    with pytest.raises(ValueError, match="reranking needs the question"):
        reranker.postprocess_nodes(NODES)
    picture = NodeWithScore(node=ImageNode(image_url="http://localhost/x.png"))
    assert reranker.postprocess_nodes([picture, *NODES], query_str=QUESTION)[-1].score == 0.0


def test_it_can_be_written_down() -> None:
    written = RejoinderRerank(scorer="bm25", top_n=2).to_dict()

    assert written["class_name"] == "RejoinderRerank"
    read = RejoinderRerank.from_dict(written)
    assert (read.scorer, read.top_n) == ("bm25", 2)
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        RejoinderRerank(top_n=0)


def test_nodes_are_pruned_and_those_without_an_answer_are_dropped(lexical: Cascade) -> None:
    picture = NodeWithScore(node=ImageNode(image_url="http://localhost/x.png"))

    (left,) = RejoinderCompressor(scorer=lexical).postprocess_nodes(
        [picture, *NODES], query_str=QUESTION
    )

    assert (left.node.node_id, left.text, left.score) == ("t", PRUNED, 0.1)
    assert left.metadata == {"title": "On tea", **EVERYTHING_PRUNED}
    assert "rejoinder_" not in left.node.get_content(metadata_mode=MetadataMode.LLM)
    assert NODES[1].text == TEA
    assert NODES[1].metadata == {"title": "On tea"}


def test_the_shipped_scorer_prunes_without_blocking() -> None:
    compressor = RejoinderCompressor(budget_ms=60_000)

    found = asyncio.run(
        compressor.apostprocess_nodes(NODES[1:], query_str="At which temperature is tea made?")
    )

    assert "75 °C" in found[0].text
    assert "Milk" not in found[0].text


def test_a_compressor_is_written_down_and_refuses_what_it_cannot_do() -> None:
    read = RejoinderCompressor.from_dict(RejoinderCompressor(threshold=0.3).to_dict())

    assert (read.class_name(), read.threshold) == ("RejoinderCompressor", 0.3)
    assert read.postprocess_nodes([], query_str=QUESTION) == []
    with pytest.raises(ValueError, match="pruning needs the question"):
        read.postprocess_nodes(NODES)
    with pytest.raises(ValidationError, match="less than or equal to 1"):
        RejoinderCompressor(threshold=2)
    with pytest.raises(InputError, match="does not rate single sentences"):
        RejoinderCompressor(scorer="bm25")
