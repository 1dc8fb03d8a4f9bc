import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import UnknownNameError
from rejoinder.evaluation.protocol import Protocol
from rejoinder.types import Candidate, Example


def labelled(*labels: bool) -> Example:
    candidates = tuple(Candidate(str(place), "text") for place in range(len(labels)))
    return Example("q", "question", candidates, labels)


@pytest.mark.parametrize(
    ("questions", "unanswered", "all_correct", "both", "empty"),
    [
        ("answered", False, True, True, False),
        ("mixed", False, False, True, False),
        ("all", True, True, True, False),
    ],
)
def test_which_questions_count(
    questions: str, unanswered: bool, all_correct: bool, both: bool, empty: bool
) -> None:
    protocol = Protocol(questions)

    assert protocol.counts(labelled(False, False)) is unanswered
    assert protocol.counts(labelled(True, True)) is all_correct
    assert protocol.counts(labelled(True, False)) is both
    assert protocol.counts(labelled()) is empty


def test_stable_ties_keep_the_original_order() -> None:
    assert Protocol().order(np.array([1.0, 2.0, 1.0, 2.0]), [True, False, False, True]) == [
        *(1, 3, 0, 2)
    ]


def test_pessimistic_ties_put_the_wrong_first() -> None:
    order = Protocol(ties="pessimistic").order(
        np.array([1.0, 2.0, 1.0, 2.0]), [True, True, False, False]
    )

    assert order == [3, 1, 2, 0]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1))
def test_pessimistic_is_never_better_than_stable(items: list[tuple[int, bool]]) -> None:
    scores = np.array([score for score, _ in items], dtype=np.float64)
    labels = [label for _, label in items]

    def first_answer(ties: str) -> int:
        order = Protocol(ties=ties).order(scores, labels)
        return next((rank for rank, place in enumerate(order) if labels[place]), len(labels))

    assert first_answer("pessimistic") >= first_answer("stable")


def test_unknown_rules_are_named() -> None:
    with pytest.raises(
        UnknownNameError, match="unknown protocol 'answred'; did you mean 'answered'"
    ):
        Protocol("answred")
    with pytest.raises(UnknownNameError, match="unknown tie rule 'random'"):
        Protocol(ties="random")
