from hypothesis import given
from hypothesis import strategies as st

from rejoinder.datasets.readers.judged import (
    Judged,
    shuffle,
    to_ordered_example,
    to_unordered_example,
)
from rejoinder.types import Document

JUDGED = [Judged("First.", False), Judged("Second.", True)]


def test_an_ordered_example_is_one_document() -> None:
    example = to_ordered_example("q", "Which?", JUDGED, title="Page")

    assert {item.document for item in example.candidates} == {
        Document("q", "Page", ("First.", "Second."))
    }
    assert [item.position for item in example.candidates] == [0, 1]
    assert [item.id for item in example.candidates] == ["q-0", "q-1"]
    assert example.labels == (False, True)


def test_an_unordered_example_has_no_positions() -> None:
    example = to_unordered_example("q", "Which?", JUDGED)

    assert [(item.document, item.position) for item in example.candidates] == [(None, None)] * 2
    assert [item.text for item in example.candidates] == ["First.", "Second."]
    assert example.labels == (False, True)


@given(st.lists(st.integers()), st.integers(0, 99), st.integers(0, 99))
def test_shuffling_loses_nothing_and_can_be_repeated(
    items: list[int], seed: int, index: int
) -> None:
    shuffled = shuffle(items, seed=seed, index=index)

    assert sorted(shuffled) == sorted(items)
    assert shuffled == shuffle(items, seed=seed, index=index)


def test_each_question_and_each_seed_has_an_order_of_its_own() -> None:
    items = list(range(100))

    orders = {
        tuple(shuffle(items, seed=seed, index=index)) for seed in range(3) for index in range(3)
    }

    assert len(orders) == 9
    assert tuple(items) not in orders
