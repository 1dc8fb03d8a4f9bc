from math import log

import pytest

from rejoinder.models.lexical.bm25 import Bm25, CorpusStatistics
from rejoinder.types import to_candidates


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
