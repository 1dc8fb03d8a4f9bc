import pytest

from rejoinder.adapters.reranking import rerank, to_scorer, to_text
from rejoinder.cascade.cascade import Cascade
from rejoinder.errors import UnknownNameError
from rejoinder.models.lexical.scorers import WordOverlap
from tests.adapters.texts import BEES, EVERYTHING, QUESTION, RAIN, TEA


def test_metadata_says_which_sentence_and_where() -> None:
    first, second = rerank(QUESTION, [BEES, TEA], scorer=WordOverlap())

    assert (first.place, first.metadata) == (1, EVERYTHING)
    assert first.relevance == pytest.approx(0.982, abs=1e-3)  # 1 / (1 + exp(-4))
    assert second.place == 0


def test_a_document_without_text_is_last_and_says_so() -> None:
    *_, last = rerank(QUESTION, ["", RAIN], scorer=WordOverlap())

    assert (last.place, last.relevance) == (0, 0.0)
    assert last.metadata["rejoinder_sentence"] == ""
    assert (last.metadata["rejoinder_start"], last.metadata["rejoinder_end"]) == (0, 0)


def test_only_the_first_has_a_confidence(calibrated: Cascade) -> None:
    first, second = rerank(QUESTION, [TEA, BEES], scorer=calibrated)

    assert first.metadata["rejoinder_confidence"] == pytest.approx(0.818, abs=1e-3)  # 4 - 2.5
    assert second.metadata["rejoinder_confidence"] is None


def test_without_an_answer_documents_stay_unless_they_should_not(calibrated: Cascade) -> None:
    assert len(rerank("xylophones?", [TEA, BEES], scorer=calibrated)) == 2
    assert rerank("xylophones?", [TEA, BEES], scorer=calibrated, keep_unanswered=False) == []
    assert len(rerank(QUESTION, [TEA, BEES], scorer=calibrated, keep_unanswered=False)) == 2


def test_top_n_and_a_budget_limit() -> None:
    texts = [RAIN, BEES, TEA]

    assert [item.place for item in rerank(QUESTION, texts, scorer=WordOverlap(), top_n=1)] == [2]
    assert len(rerank(QUESTION, texts, scorer=WordOverlap(), budget_ms=0)) == 3


def test_a_scorer_is_taken_by_its_name_or_as_it_is() -> None:
    scorer = WordOverlap()

    assert to_scorer(scorer) is scorer
    assert to_scorer("bm25").name == "bm25"
    with pytest.raises(UnknownNameError, match="unknown scorer 'bm52'; did you mean 'bm25'"):
        to_scorer("bm52")


def test_what_is_no_text_is_none() -> None:
    assert (to_text("Tea"), to_text(None), to_text(7)) == ("Tea", "", "")
