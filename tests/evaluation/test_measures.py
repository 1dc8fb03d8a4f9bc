import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import InputError, UnknownNameError
from rejoinder.evaluation.measures import measure

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


def test_a_question_without_an_answer_counts_as_zero_and_keeps_its_place() -> None:
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


def test_the_largest_place_is_named() -> None:
    assert measure([[True]], ["recall@1000000"]) == {"recall@1000000": [1.0]}
    for k in ("1000001", "9" * 20, "9" * 5000):
        with pytest.raises(InputError, match="P@k takes a k of 1,000,000 at most"):
            measure([[True]], [f"P@{k}"])
