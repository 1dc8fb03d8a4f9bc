from collections.abc import Sequence
from functools import partial

import numpy as np
import pytest

from rejoinder.models.kernel import Matrix
from rejoinder.models.lexical.scorers import WordOverlap
from rejoinder.models.ranker.relatedness import (
    RelatednessScorer,
    WeightedSum,
    get_context_features,
    mean_relatedness,
)
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.types import Candidate, Document

VECTORS = load_vectors()
PAGE = Document("d", "tea", ("green tea", "it is hot", "a car", ""))


@pytest.fixture
def related() -> RelatednessScorer:
    # north and east are at a right angle, north-east between them
    rows = np.array([[100, 0], [0, 100], [100, 100]], dtype=np.int8)
    words = ["north", "east", "northeast"]
    return RelatednessScorer(StaticVectors(words, rows, np.ones(3), are_pieces=False))


def test_each_question_word_counts_its_most_related_word(related: RelatednessScorer) -> None:
    scores = related.score("north east", ["north", "northeast", "east north"])

    #                        (1 + 0) / 2, cos 45° twice, (1 + 1) / 2
    np.testing.assert_allclose(scores, [0.5, 0.5**0.5, 1.0], atol=1e-6)


def test_no_words_are_no_error(related: RelatednessScorer) -> None:
    assert related.score("", ["north"]).tolist() == [0]
    assert related.score("north", []).tolist() == []
    assert related.score("north", ["", "north"]).tolist()[1] == pytest.approx(1)


def test_scores_are_added_with_a_weight(related: RelatednessScorer) -> None:
    both = WeightedSum(WordOverlap(), related, 0.5)

    assert both.name == "word-overlap+relatedness"
    assert both.score("north", ["north", "east"]).tolist() == pytest.approx([1.5, 0.0])


def get_features(*candidates: Candidate, question: str = "green tea") -> list[list[float]]:
    relate = partial(mean_relatedness, embed=VECTORS.embed)
    features = get_context_features(question, candidates, relate, "neighbours")
    rounded: list[list[float]] = np.round(features, 4).tolist()
    return rounded


def test_a_context_with_the_same_words_is_fully_related_and_an_empty_one_is_not() -> None:
    (middle, last, first) = get_features(*(Candidate("", "x", PAGE, at) for at in (1, 3, 0)))

    assert middle[0] == 1.0  # both words of the question are in the sentence before it
    assert 0 < middle[1] < 0.5
    assert middle[2] == last[2] == first[2]
    assert 0.5 < middle[2] < 1  # tea is in the title, green is not
    assert (first[0], last[1]) == (0.0, 0.0)


def test_without_a_document_or_a_position_there_is_less_context() -> None:
    alone, unplaced = get_features(Candidate("", "x"), Candidate("", "x", PAGE))

    assert alone == [0.0, 0.0, 0.0]
    assert unplaced[:2] == [0.0, 0.0]
    assert unplaced[2] > 0.5


def test_context_features_of_no_words_and_no_candidates() -> None:
    assert get_features(question="green tea") == []
    assert get_features(Candidate("", "x", PAGE, 1), question="") == [[0.0, 0.0, 0.0]]


def test_a_title_that_many_candidates_share_is_compared_once() -> None:
    compared: list[tuple[str, ...]] = []

    def relate(question: Sequence[str], texts: Sequence[Sequence[str]]) -> Matrix:
        compared.extend(map(tuple, texts))
        return mean_relatedness(question, texts, VECTORS.embed)

    candidates = [
        Candidate(str(at), "x", PAGE, at, headings)
        for headings in (("brewing", "green tea"), ())
        for at in range(3)
    ]
    features = get_context_features("green tea", candidates, relate, "topic")

    assert compared == [("tea",), ("brewing", "green", "tea")]
    assert features[0].tolist() == features[2].tolist()
    assert features[0][1] == pytest.approx(1)
    assert features[3].tolist() == [features[0][0], 0]
