from rejoinder.models.scorer import find_orders, find_segments
from rejoinder.types import Candidate, Document

ONE, TWO = Document("one"), Document("two")


def at(document: Document | None, position: int | None) -> Candidate:
    return Candidate("c", "text", document, position)


def test_candidates_of_a_document_are_one_segment_in_its_order() -> None:
    candidates = [at(ONE, 4), at(TWO, 0), at(ONE, 1), at(TWO, 7)]

    assert find_segments(candidates) == [[2, 0], [1, 3]]
    assert find_orders(candidates).tolist() == [1, 0, 0, 1]


def test_candidates_without_a_position_stand_alone() -> None:
    assert find_segments([at(ONE, None), at(None, None), at(ONE, 3)]) == [[0], [1], [2]]
    assert find_orders([at(None, None)] * 3).tolist() == [0, 0, 0]


def test_positions_without_a_document_order_the_list_itself() -> None:
    assert find_segments([at(None, 0), at(None, 1), at(ONE, 0)]) == [[0, 1], [2]]


def test_the_order_of_documents_changes_nothing() -> None:
    first = [at(ONE, 0), at(ONE, 1), at(TWO, 0)]
    then = [first[2], *first[:2]]

    assert find_orders(then).tolist() == [0, 0, 1]


def test_equal_positions_keep_the_list_order() -> None:
    assert find_segments([at(ONE, 2), at(ONE, 2), at(ONE, 0)]) == [[2, 0, 1]]


def test_nothing_has_no_segments() -> None:
    assert find_segments([]) == []
    assert find_orders([]).tolist() == []
