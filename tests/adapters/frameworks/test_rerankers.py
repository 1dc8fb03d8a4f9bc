import asyncio

import pytest
from rerankers import Document

from rejoinder.adapters.rerankers import RejoinderRanker
from rejoinder.cascade.cascade import Cascade
from rejoinder.errors import InputError
from tests.adapters.texts import ANSWER, BEES, EVERYTHING, QUESTION, TEA


def test_the_document_with_the_answer_comes_first() -> None:
    found = RejoinderRanker("word-overlap").rank(QUESTION, [BEES, TEA], doc_ids=["b", "t"])

    (first,) = found.top_k(1)
    assert (first.doc_id, first.text, first.rank) == ("t", TEA, 1)
    assert first.score == pytest.approx(0.982, abs=1e-3)
    assert first.document.metadata == EVERYTHING
    assert found.get_score_by_docid("b") == 0.5  # nothing shared: 1 / (1 + exp(0))
    assert [result.rank for result in found] == [1, 2]


def test_documents_are_taken_as_they_are_and_stay_so() -> None:
    tea = Document(TEA, doc_id=7, metadata={"title": "Tea"})

    found = RejoinderRanker("word-overlap").rank(QUESTION, [Document(BEES, doc_id=3), tea])

    assert [result.doc_id for result in found] == [7, 3]
    assert found[0].document.metadata == {"title": "Tea", **EVERYTHING}
    assert tea.metadata == {"title": "Tea"}


def test_ids_and_metadata_may_come_beside_the_texts() -> None:
    ranker = RejoinderRanker("word-overlap")

    assert ranker.rank(QUESTION, TEA)[0].doc_id == 0
    assert ranker.rank(QUESTION, Document(TEA, doc_id="t"))[0].doc_id == "t"
    assert ranker.rank(QUESTION, [TEA], metadata=[{"team": "red"}])[0].team == "red"
    assert ranker.rank(QUESTION, []).results_count() == 0
    with pytest.raises(ValueError, match="zip"):
        ranker.rank(QUESTION, [TEA, BEES], doc_ids=["t"])


def test_the_shipped_scorer_finds_it_too_without_blocking() -> None:
    ranker = RejoinderRanker(top_n=1, budget_ms=60_000)

    found = asyncio.run(ranker.rank_async("At which temperature is tea made?", [BEES, TEA]))

    assert [result.rejoinder_sentence for result in found] == [ANSWER]


def test_one_document_has_a_score() -> None:
    ranker = RejoinderRanker("word-overlap")

    assert ranker.score(QUESTION, TEA) > ranker.score(QUESTION, BEES)


def test_it_may_return_nothing_where_nothing_answers(calibrated: Cascade) -> None:
    keeps = RejoinderRanker(calibrated)
    drops = RejoinderRanker(calibrated, keep_unanswered=False)

    assert keeps.rank("xylophones?", [TEA]).results_count() == 1
    assert drops.rank("xylophones?", [TEA]).results_count() == 0


def test_min_confidence_decides_and_the_metadata_say_that_the_scorer_abstains(
    calibrated: Cascade,
) -> None:
    strict = RejoinderRanker(calibrated, min_confidence=0.9)
    drops = RejoinderRanker(calibrated, min_confidence=0.9, keep_unanswered=False)

    assert [result.rejoinder_abstains for result in strict.rank(QUESTION, [TEA, BEES])] == [
        True,
        True,
    ]
    assert drops.rank(QUESTION, [TEA, BEES]).results_count() == 0
    with pytest.raises(InputError, match="needs a confidence, and bm25 has none"):
        RejoinderRanker("bm25", min_confidence=0.5)
