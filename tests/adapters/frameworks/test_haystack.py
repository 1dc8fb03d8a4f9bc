import asyncio

import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import rejoinder.adapters.haystack
from rejoinder.adapters.haystack import RejoinderCompressor, RejoinderRanker
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

DOCUMENTS = [
    Document(id="b", content=BEES),
    Document(id="t", content=TEA, meta={"title": "Tea"}),
]


def test_the_document_with_the_answer_comes_first() -> None:
    first, second = RejoinderRanker("word-overlap").run(QUESTION, DOCUMENTS)["documents"]

    assert (first.id, first.content) == ("t", TEA)
    assert first.score == pytest.approx(0.982, abs=1e-3)
    assert first.meta == {"title": "Tea", **EVERYTHING}
    assert second.id == "b"
    assert DOCUMENTS[1].meta == {"title": "Tea"}
    assert DOCUMENTS[1].score is None


def test_it_works_in_a_pipeline_that_was_written_down() -> None:
    store = InMemoryDocumentStore()
    store.write_documents(DOCUMENTS)
    pipeline = Pipeline()
    pipeline.add_component("retriever", InMemoryBM25Retriever(store))
    pipeline.add_component("ranker", RejoinderRanker(top_k=1, budget_ms=60_000))
    pipeline.connect("retriever.documents", "ranker.documents")
    question = "At which temperature is tea made?"

    asked = {"retriever": {"query": question}, "ranker": {"query": question}}
    (first,) = pipeline.run(asked)["ranker"]["documents"]

    assert first.meta["rejoinder_sentence"] == ANSWER
    allowed = ["rejoinder.adapters.haystack"]
    read = Pipeline.loads(pipeline.dumps(), allowed_modules=allowed)
    ranker = read.get_component("ranker")
    assert ranker.to_dict() == RejoinderRanker(top_k=1, budget_ms=60_000).to_dict()


def test_it_works_without_blocking() -> None:
    found = asyncio.run(RejoinderRanker("bm25").run_async(QUESTION, DOCUMENTS, top_k=1))

    assert [document.id for document in found["documents"]] == ["t"]


def test_it_may_return_nothing_where_nothing_answers(
    calibrated: Cascade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejoinder.adapters.haystack, "to_scorer", lambda _: calibrated)

    keeps = RejoinderRanker().run("xylophones?", DOCUMENTS)["documents"]
    drops = RejoinderRanker(keep_unanswered=False).run("xylophones?", DOCUMENTS)["documents"]

    assert (len(keeps), len(drops)) == (2, 0)


def test_min_confidence_decides_and_the_metadata_say_that_the_scorer_abstains(
    calibrated: Cascade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejoinder.adapters.haystack, "to_scorer", lambda _: calibrated)
    settings = RejoinderRanker(min_confidence=0.9, keep_unanswered=False).to_dict()

    kept = RejoinderRanker(min_confidence=0.9).run(QUESTION, DOCUMENTS)["documents"]
    dropped = RejoinderRanker.from_dict(settings).run(QUESTION, DOCUMENTS)["documents"]

    assert [document.meta["rejoinder_abstains"] for document in kept] == [True, True]
    assert dropped == []


def test_a_confidence_that_the_scorer_does_not_give_is_refused() -> None:
    with pytest.raises(InputError, match="needs a confidence, and bm25 has none"):
        RejoinderRanker("bm25", min_confidence=0.5).warm_up()


def test_doubles_count_once_and_pictures_come_last() -> None:
    given = [Document(id="p", content=None), *DOCUMENTS, *DOCUMENTS]

    found = RejoinderRanker("word-overlap").run(QUESTION, given)["documents"]

    assert [document.id for document in found] == ["t", "b", "p"]
    assert RejoinderRanker("word-overlap").run(QUESTION, []) == {"documents": []}


@pytest.mark.parametrize("top_k", [0, -1])
def test_a_wrong_top_k_is_refused(top_k: int) -> None:
    with pytest.raises(ValueError, match="top_k must be > 0"):
        RejoinderRanker(top_k=top_k)
    with pytest.raises(ValueError, match="top_k must be > 0"):
        RejoinderRanker("bm25").run(QUESTION, DOCUMENTS, top_k=top_k)


def test_documents_are_pruned_and_those_without_an_answer_are_dropped(
    lexical: Cascade, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rejoinder.adapters.haystack, "to_scorer", lambda _: lexical)

    given = [Document(id="p", content=None), *DOCUMENTS]
    (left,) = RejoinderCompressor().run(QUESTION, given)["documents"]

    assert (left.id, left.content) == ("t", PRUNED)
    assert left.meta == {"title": "Tea", **EVERYTHING_PRUNED}
    assert DOCUMENTS[1].content == TEA
    assert RejoinderCompressor().run(QUESTION, []) == {"documents": []}


def test_it_prunes_in_a_pipeline_that_was_written_down() -> None:
    pipeline = Pipeline()
    pipeline.add_component("compressor", RejoinderCompressor(budget_ms=60_000))
    allowed = ["rejoinder.adapters.haystack"]
    read = Pipeline.loads(pipeline.dumps(), allowed_modules=allowed)
    asked = {"query": "At which temperature is tea made?", "documents": DOCUMENTS[1:]}

    (left,) = read.run({"compressor": asked})["compressor"]["documents"]

    assert "75 °C" in left.content
    assert "Milk" not in left.content
    assert asyncio.run(RejoinderCompressor().run_async(**asked)) == {"documents": [left]}


def test_a_compressor_refuses_what_it_cannot_do() -> None:
    with pytest.raises(InputError, match="threshold must be from 0 to 1"):
        RejoinderCompressor(threshold=2)
    with pytest.raises(InputError, match="does not rate single sentences"):
        RejoinderCompressor("bm25").warm_up()
