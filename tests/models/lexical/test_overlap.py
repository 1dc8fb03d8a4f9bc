from collections.abc import Sequence

import numpy as np
import pytest

from rejoinder.models.lexical.overlap import (
    Jaccard,
    OriginalOrder,
    Random,
    WordOverlap,
    WordOverlapThenOrder,
)
from rejoinder.models.registry import SCORERS, load
from rejoinder.types import Candidate, Document, to_candidates

QUESTION = "Where is the red cat?"
TEXTS = ["A dog.", "The RED cat, the red cat!", "the", ""]


def in_order(texts: Sequence[str]) -> Sequence[Candidate]:
    return to_candidates(texts, in_order=True)


def test_original_order_is_the_reciprocal_rank() -> None:
    scores = OriginalOrder().score(QUESTION, in_order(TEXTS))

    assert scores.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])


def test_original_order_says_nothing_about_candidates_without_order() -> None:
    assert OriginalOrder().score(QUESTION, to_candidates(TEXTS)).tolist() == [1, 1, 1, 1]


def test_word_overlap_counts_distinct_shared_words() -> None:
    # the, red, cat; the
    assert WordOverlap().score(QUESTION, to_candidates(TEXTS)).tolist() == [0, 3, 1, 0]


def test_order_breaks_ties_of_word_overlap_but_never_beats_a_word() -> None:
    scores = WordOverlapThenOrder().score("red cat", in_order(["a", "red", "cat", "b"]))

    assert np.argsort(-scores, kind="stable").tolist() == [1, 2, 0, 3]
    assert scores[0] < scores[2]


def test_word_overlap_then_order_is_word_overlap_where_there_is_no_order() -> None:
    scores = WordOverlapThenOrder().score("red cat", to_candidates(["red", "cat", "b"]))

    assert scores[0] == scores[1] > scores[2]


def test_jaccard_divides_by_all_distinct_words() -> None:
    # {red, cat} and {red, dog, cat}: 2 / 3
    scores = Jaccard().score("red cat", to_candidates(["red dog cat", "red cat", "", "x"]))

    assert scores.tolist() == pytest.approx([2 / 3, 1, 0, 0])


def test_jaccard_of_nothing_with_nothing_is_zero() -> None:
    assert Jaccard().score("?", to_candidates(["!"])).tolist() == [0]


def test_random_repeats_itself_and_depends_on_seed_and_question() -> None:
    candidates = to_candidates(TEXTS)

    one = Random(1).score(QUESTION, candidates)

    assert one.tolist() == Random(1).score(QUESTION, candidates).tolist()
    assert one.tolist() != Random(2).score(QUESTION, candidates).tolist()
    assert one.tolist() != Random(1).score("other", candidates).tolist()


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("text", ["", "?!", "\ud800", "猫", "x" * 100_000])
def test_odd_text_gets_a_finite_score(name: str, text: str) -> None:
    scores = load(name).score(text, to_candidates([text, "a red cat"]))

    assert np.isfinite(scores).all()
    assert len(scores) == 2


@pytest.mark.parametrize("name", SCORERS)
def test_no_candidates_give_no_scores(name: str) -> None:
    assert load(name).score(QUESTION, []).tolist() == []


@pytest.mark.parametrize("name", [name for name in SCORERS if name != "random"])
def test_the_order_of_documents_never_changes_a_score(name: str) -> None:
    documents = [Document("one"), Document("two")]
    candidates = [
        Candidate(f"{document.id}{place}", text, document, place)
        for document in documents
        for place, text in enumerate(["the cat", "red", "is it red"])
    ]

    there = load(name).score(QUESTION, candidates)
    back = load(name).score(QUESTION, [*candidates[3:], *candidates[:3]])

    np.testing.assert_allclose(there, [*back[3:], *back[:3]])


@pytest.mark.parametrize("name", SCORERS)
def test_plain_strings_score_like_candidates_without_an_order(name: str) -> None:
    scorer = load(name)

    np.testing.assert_array_equal(
        scorer.score(QUESTION, TEXTS), scorer.score(QUESTION, to_candidates(TEXTS))
    )
