"""Merging: scores are scaled, weighted and added; what one source lacks is its last."""

import pytest

from rejoinder.index import merging
from rejoinder.index.merging import MEANING, merge
from rejoinder.types import RetrievalScores

A, B, C, D = (1, 0), (1, 1), (2, 0), (3, 5)


def test_scores_are_scaled_weighted_and_added() -> None:
    merged = merge({A: 10.0, B: 6.0, C: 2.0}, {B: 0.9, C: 0.7, D: 0.5})

    words, meaning = 1 - MEANING, MEANING
    assert {place: scores.merged for place, scores in merged.items()} == pytest.approx(
        {A: words, B: 0.5 * words + meaning, C: 0.5 * meaning, D: 0.0}
    )
    assert list(merged) == [A, B, C, D]
    assert [merged[place].words for place in (A, B, C, D)] == [10, 6, 2, None]
    assert [merged[place].meaning for place in (A, B, C, D)] == [None, 0.9, 0.7, 0.5]


def test_each_weight_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    words, meaning = {A: 2.0, B: 1.0}, {B: 0.8, A: 0.2}

    monkeypatch.setattr(merging, "MEANING", 0.4)
    assert list(merge(words, meaning)) == [A, B]
    monkeypatch.setattr(merging, "MEANING", 0.6)
    assert list(merge(words, meaning)) == [B, A]


def test_sources_are_those_that_found_a_sentence() -> None:
    merged = merge({A: 2.0, B: 0.0}, {B: 0.0, C: -0.5})

    sources = {place: scores.sources for place, scores in merged.items()}
    assert sources == {A: ("words",), B: ("words", "meaning"), C: ("meaning",)}


def test_without_vectors_order_and_scores_are_those_of_words() -> None:
    words = {B: 7.0, A: 7.0, C: 1.0}

    merged = merge(words, {})

    assert list(merged) == [B, A, C]
    assert merged[C] == RetrievalScores(1.0, 1.0, None)


def test_without_words_the_order_is_that_of_meaning() -> None:
    merged = merge({}, {D: 0.9, A: 0.5, B: 0.1})

    assert list(merged) == [D, A, B]
    assert merged[D] == RetrievalScores(MEANING, None, 0.9)
    assert merge({}, {}) == {}


def test_ties_are_in_the_order_of_places() -> None:
    assert list(merge({D: 3.0, B: 3.0, A: 3.0}, {C: 0.4, A: 0.4})) == [A, B, D, C]


def test_equal_scores_count_as_the_best() -> None:
    merged = merge({A: 3.0}, {B: 0.4, C: 0.4})

    assert [scores.merged for scores in merged.values()] == [1 - MEANING, MEANING, MEANING]
