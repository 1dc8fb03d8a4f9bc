import pytest

from rejoinder.adapters.reranking import rerank, to_text
from rejoinder.cascade.cascade import Cascade
from rejoinder.errors import InputError
from rejoinder.models.lexical.scorers import WordOverlap
from tests.adapters.texts import BEES, EVERYTHING, QUESTION, RAIN, TEA


def test_metadata_has_the_best_sentence_and_its_offsets() -> None:
    first, second = rerank(QUESTION, [BEES, TEA], scorer=WordOverlap())

    assert (first.place, first.metadata) == (1, EVERYTHING)
    assert first.relevance == pytest.approx(0.982, abs=1e-3)  # 1 / (1 + exp(-4))
    assert second.place == 0


def test_a_document_without_text_is_last() -> None:
    *_, last = rerank(QUESTION, ["", RAIN], scorer=WordOverlap())

    assert (last.place, last.relevance) == (0, 0.0)
    assert last.metadata["rejoinder_sentence"] == ""
    assert (last.metadata["rejoinder_start"], last.metadata["rejoinder_end"]) == (0, 0)


def test_only_the_first_has_a_confidence(calibrated: Cascade) -> None:
    first, second = rerank(QUESTION, [TEA, BEES], scorer=calibrated)

    assert first.metadata["rejoinder_confidence"] == pytest.approx(0.818, abs=1e-3)  # 4 - 2.5
    assert second.metadata["rejoinder_confidence"] is None


def test_if_the_scorer_abstains_documents_are_kept_unless_asked_otherwise(
    calibrated: Cascade,
) -> None:
    assert len(rerank("xylophones?", [TEA, BEES], scorer=calibrated)) == 2
    assert rerank("xylophones?", [TEA, BEES], scorer=calibrated, keep_unanswered=False) == []
    assert len(rerank(QUESTION, [TEA, BEES], scorer=calibrated, keep_unanswered=False)) == 2


def test_min_confidence_decides_what_abstains_and_every_document_says_so(
    calibrated: Cascade,
) -> None:
    texts = [TEA, BEES]

    def flags(question: str, min_confidence: float | None = None) -> list[bool]:
        found = rerank(question, texts, scorer=calibrated, min_confidence=min_confidence)
        return [item.metadata["rejoinder_abstains"] for item in found]

    assert (flags(QUESTION), flags("xylophones?")) == ([False, False], [True, True])
    assert flags(QUESTION, 0.9) == [True, True]  # its confidence is 0.818
    assert flags("xylophones?", 0.0) == [False, False]
    dropped = rerank(QUESTION, texts, scorer=calibrated, min_confidence=0.9, keep_unanswered=False)
    assert dropped == []
    with pytest.raises(InputError, match="needs a confidence, and word-overlap has none"):
        rerank(QUESTION, texts, scorer=WordOverlap(), min_confidence=0.5)


def test_top_n_and_a_budget_limit() -> None:
    texts = [RAIN, BEES, TEA]

    assert [item.place for item in rerank(QUESTION, texts, scorer=WordOverlap(), top_n=1)] == [2]
    assert len(rerank(QUESTION, texts, scorer=WordOverlap(), budget_ms=0)) == 3


def test_a_value_that_is_not_text_is_empty() -> None:
    assert (to_text("Tea"), to_text(None), to_text(7)) == ("Tea", "", "")
