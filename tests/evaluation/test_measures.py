import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.evaluation.measures import Protocol, measure
from rejoinder.types import Candidate, Example

RANKINGS = st.lists(st.lists(st.booleans(), min_size=1, max_size=12), min_size=1, max_size=6)


def test_values_worked_by_hand() -> None:
    values = measure([[False, True, True]], ["P@1", "MAP", "MRR", "recall@2", "P@2"])

    assert values == {
        "P@1": [0.0],
        "MAP": [pytest.approx((1 / 2 + 2 / 3) / 2)],
        "MRR": [0.5],
        "recall@2": [0.5],
        "P@2": [0.5],
    }


def test_gain_is_discounted_by_the_logarithm_of_the_rank() -> None:
    # DCG 1/log2(3), ideal 1/log2(2)
    assert measure([[False, True]], ["nDCG@2"])["nDCG@2"] == [pytest.approx(0.6309, abs=1e-4)]


def test_a_question_without_an_answer_counts_as_zero() -> None:
    assert measure([[False], [True], [False, False]], ["MAP"])["MAP"] == [0.0, 1.0, 0.0]


@given(RANKINGS)
def test_values_agree_with_the_definition(rankings: list[list[bool]]) -> None:
    values = measure(rankings, ["P@1", "MAP", "MRR"])

    for place, labels in enumerate(rankings):
        ranks = [rank for rank, label in enumerate(labels, start=1) if label]
        precisions = [found / rank for found, rank in enumerate(ranks, start=1)]
        assert values["P@1"][place] == float(labels[0])
        assert values["MRR"][place] == pytest.approx(1 / ranks[0] if ranks else 0)
        assert values["MAP"][place] == pytest.approx(sum(precisions) / len(ranks) if ranks else 0)


@pytest.mark.parametrize("name", ["mrr10", "P@0", "nDCG", "recall@x", ""])
def test_an_unknown_measure_lists_the_known(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"unknown measure .* known: P@k, MAP, MRR"):
        measure([[True]], [name])


def test_the_largest_cutoff_is_named() -> None:
    assert measure([[True]], ["recall@1000000"]) == {"recall@1000000": [1.0]}
    for k in ("1000001", "9" * 20, "9" * 5000):
        with pytest.raises(InputError, match="P@k takes a k of 1,000,000 at most"):
            measure([[True]], [f"P@{k}"])


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
