from hypothesis import given
from hypothesis import strategies as st
from tests.datasets.transforms.test_unanswerable import make

from rejoinder.datasets.readers.judged import Judged, to_ordered_example
from rejoinder.datasets.transforms.long_lists import (
    add_negatives,
    extend_every_second,
    extend_lists,
)
from rejoinder.types import Candidate, Example


def make_examples(*lists: list[str]) -> list[Example]:
    return [
        to_ordered_example(f"q{number}", f"Question {number}?", [Judged(t, True) for t in texts])
        for number, texts in enumerate(lists)
    ]


def get_texts(example: Example) -> list[str]:
    return [candidate.text for candidate in example.candidates]


PAGES = make_examples(*([f"Sentence {page}.{line}." for line in range(10)] for page in range(30)))


def test_own_candidates_stay_first_and_unchanged() -> None:
    for before, after in zip(PAGES, add_negatives(PAGES, size=25), strict=True):
        assert after.candidates[:10] == before.candidates
        assert after.labels == (True,) * 10 + (False,) * 15
        assert (after.id, after.question) == (before.id, before.question)


def test_added_candidates_keep_their_own_document_and_position() -> None:
    known = {item.text: item for example in PAGES for item in example.candidates}

    for example in add_negatives(PAGES, size=25):
        assert all(item == known[item.text] for item in example.candidates[10:])


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=5), max_size=6), st.integers(0, 9))
def test_no_text_is_added_twice_or_if_it_is_already_listed(
    lists: list[list[str]], size: int
) -> None:
    distinct = {text for texts in lists for text in texts}

    for texts, example in zip(lists, add_negatives(make_examples(*lists), size=size), strict=True):
        added = get_texts(example)[len(texts) :]
        assert len(set(added)) == len(added)
        assert not set(added) & set(texts)
        # Up to the size, or all that is left.
        assert len(added) == max(0, min(size - len(texts), len(distinct - set(texts))))


def test_a_list_that_is_long_enough_stays_unchanged() -> None:
    assert list(add_negatives(PAGES, size=10)) == PAGES
    assert list(add_negatives(PAGES, size=3)) == PAGES


def test_the_same_seed_adds_the_same_and_another_does_not() -> None:
    first = list(add_negatives(PAGES, size=25, seed=1))

    assert first == list(add_negatives(PAGES, size=25, seed=1))
    assert first != list(add_negatives(PAGES, size=25, seed=2))


def test_negatives_do_not_depend_on_the_order_of_questions() -> None:
    forward = list(add_negatives(PAGES, size=25))
    backward = list(add_negatives(PAGES[::-1], size=25))

    assert forward == backward[::-1]


def test_questions_do_not_share_their_draws() -> None:
    places = {
        tuple(text.split(".")[1] for text in get_texts(example)[10:])
        for example in add_negatives(PAGES, size=25)
    }

    assert len(places) == len(PAGES)


def test_of_two_candidates_with_one_text_the_choice_is_deterministic() -> None:
    first, second, third = make_examples(["same"], ["same"], ["other"])

    (_, _, added), (_, _, added_again) = (
        list(add_negatives([a, b, third], size=2)) for a, b in [(first, second), (second, first)]
    )

    assert added.candidates[1].id == added_again.candidates[1].id == "q0-0"


def test_ids_stay_unique_if_each_list_numbers_its_own() -> None:
    examples = [
        Example(name, "Which?", (Candidate("0", f"Of {name}."),), (True,)) for name in ("a", "b")
    ]

    first, second = add_negatives(examples, size=2)

    assert [item.id for item in first.candidates] == ["0", "b/0"]
    assert [item.id for item in second.candidates] == ["0", "a/0"]


def test_a_long_list_is_the_document_first_and_then_others() -> None:
    other = Example("2", "q", (Candidate("x", "foreign"),), (True,))

    long, filled = extend_lists([make("1", False, True), other], size=4)

    assert [item.text for item in long.candidates] == ["zero", "one", "two", "three"]
    assert long.labels == (False, True, False, False)
    assert [item.position for item in long.candidates] == [0, 1, 2, 3]
    assert len(filled.candidates) == 4
    assert filled.candidates[0].text == "foreign"


def test_every_second_list_is_extended() -> None:
    examples = [make(str(number), False, True) for number in range(4)]

    extended = list(extend_every_second(examples, size=4))

    assert [len(example.candidates) for example in extended] == [2, 4, 2, 4]
