import numpy as np

from rejoinder.models.ranker.surroundings import relate_surroundings
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.types import Candidate, Document

VECTORS = load_vectors()
PAGE = Document("d", "tea", ("green tea", "it is hot", "a car", ""))


def relate(*candidates: Candidate, question: str = "green tea") -> list[list[float]]:
    found: list[list[float]] = np.round(
        relate_surroundings(question, candidates, VECTORS.embed), 4
    ).tolist()
    return found


def test_the_same_words_are_fully_related_and_nothing_is_not() -> None:
    (middle, last, first) = relate(*(Candidate("", "x", PAGE, at) for at in (1, 3, 0)))

    assert middle[0] == 1.0  # both words of the question stand before it
    assert 0 < middle[1] < 0.5
    assert middle[2] == last[2] == first[2]
    assert 0.5 < middle[2] < 1  # tea is in the title, green is not
    assert (first[0], last[1]) == (0.0, 0.0)


def test_without_a_document_or_a_place_there_is_less_to_relate() -> None:
    alone, unplaced = relate(Candidate("", "x"), Candidate("", "x", PAGE))

    assert alone == [0.0, 0.0, 0.0]
    assert unplaced[:2] == [0.0, 0.0]
    assert unplaced[2] > 0.5


def test_no_words_and_no_candidates() -> None:
    assert relate(question="green tea") == []
    assert relate(Candidate("", "x", PAGE, 1), question="") == [[0.0, 0.0, 0.0]]
