from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from rejoinder.models.lexical.scorers import (
    Bm25,
    CorpusStatistics,
    Jaccard,
    OriginalOrder,
    Random,
    RetrievalOrder,
    WordOverlap,
    WordOverlapThenOrder,
)
from rejoinder.models.registry import list_named, open_scorer
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


@pytest.mark.parametrize("name", list_named())
@pytest.mark.parametrize("text", ["", "?!", "\ud800", "猫", "x" * 100_000])
def test_odd_text_gets_a_finite_score(name: str, text: str) -> None:
    scores = open_scorer(name).score(text, to_candidates([text, "a red cat"]))

    assert np.isfinite(scores).all()
    assert len(scores) == 2


@pytest.mark.parametrize("name", list_named())
def test_no_candidates_give_no_scores(name: str) -> None:
    assert open_scorer(name).score(QUESTION, []).tolist() == []


@pytest.mark.parametrize("name", [name for name in list_named() if name != "random"])
def test_the_order_of_documents_never_changes_a_score(name: str) -> None:
    documents = [Document("one"), Document("two")]
    candidates = [
        Candidate(f"{document.id}{place}", text, document, place)
        for document in documents
        for place, text in enumerate(["the cat", "red", "is it red"])
    ]

    there = open_scorer(name).score(QUESTION, candidates)
    back = open_scorer(name).score(QUESTION, [*candidates[3:], *candidates[:3]])

    np.testing.assert_allclose(there, [*back[3:], *back[:3]])


@pytest.mark.parametrize("name", list_named())
def test_plain_strings_score_like_candidates_without_an_order(name: str) -> None:
    scorer = open_scorer(name)

    np.testing.assert_array_equal(
        scorer.score(QUESTION, TEXTS), scorer.score(QUESTION, to_candidates(TEXTS))
    )


def test_one_word_worked_by_hand() -> None:
    # Two candidates of 2 and 4 words, average 3; "cat" is in one of 2.
    scores = Bm25().score("cat", to_candidates(["cat cat", "a b c d"]))

    idf = log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    damping = 1.2 * (1 - 0.75 + 0.75 * 2 / 3)
    assert scores.tolist() == pytest.approx([idf * 2 * 2.2 / (2 + damping), 0])


def test_a_rare_word_weighs_more_than_a_frequent_one() -> None:
    scores = Bm25().score("the cat", to_candidates(["the dog", "the cow", "one cat"]))

    assert scores[2] > scores[0] == scores[1] > 0


def test_a_longer_candidate_gets_less_for_the_same_word() -> None:
    short, long = Bm25().score("cat", to_candidates(["cat here", "cat " + "and " * 20]))

    assert short > long


def test_repeating_a_word_of_the_question_changes_nothing() -> None:
    candidates = to_candidates(["a cat", "a dog"])

    assert Bm25().score("cat cat", candidates).tolist() == Bm25().score("cat", candidates).tolist()


def test_corpus_statistics_replace_those_of_the_list() -> None:
    corpus = CorpusStatistics.from_texts(["the cat", "the dog", "the cow", "the owl"])
    candidates = to_candidates(["the x", "cat x"])

    in_list = Bm25().score("the cat", candidates)
    in_corpus = Bm25(corpus=corpus).score("the cat", candidates)

    assert in_list[0] == in_list[1]
    assert in_corpus[0] < in_corpus[1]


def test_statistics_count_texts_words_and_lengths() -> None:
    corpus = CorpusStatistics.from_texts(["a b a", "B"])

    assert corpus == CorpusStatistics(2, 2.0, {"a": 1, "b": 2})


def test_an_empty_corpus_is_no_division_by_zero() -> None:
    assert Bm25().score("cat", to_candidates(["", "!"])).tolist() == [0, 0]
    assert CorpusStatistics.from_texts([]).average_length == 0


def test_scores_are_those_of_the_search() -> None:
    found = [Candidate("0", "cat", retrieval_score=0.5), Candidate("1", "dog", retrieval_score=7.0)]

    assert RetrievalOrder().score("cat", found).tolist() == [0.5, 7.0]


def test_candidates_that_were_not_retrieved_are_scored_by_bm25() -> None:
    mixed = [Candidate("0", "a cat", retrieval_score=0.5), Candidate("1", "a dog")]

    assert RetrievalOrder().score("cat", mixed).tolist() == Bm25().score("cat", mixed).tolist()
    assert RetrievalOrder().score("cat", ["a cat", "a dog"]).argmax() == 0
    assert RetrievalOrder().score("cat", []).tolist() == []
