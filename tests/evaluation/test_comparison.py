import pytest

from rejoinder.errors import InputError
from rejoinder.evaluation import compare
from rejoinder.models.registry import open_scorer
from rejoinder.types import Candidate, Example

EXAMPLES = [
    Example(
        str(number),
        "red cat",
        (Candidate("0", "a dog", position=0), Candidate("1", "a red cat", position=1)),
        (False, True),
    )
    for number in range(20)
]


def test_further_scorers_are_compared_with_the_first() -> None:
    order, overlap = compare(["original-order", open_scorer("word-overlap")], EXAMPLES)

    assert order.differences == {}
    assert overlap.differences["P@1"].mean == 1.0
    assert overlap.differences["P@1"].p_value < 0.001
    assert overlap.differences["MRR"].interval.low == pytest.approx(0.5)
    assert order.intervals["P@1"].high == 0.0


def test_a_comparison_is_plain_json() -> None:
    _, other = compare(["bm25", "jaccard"], EXAMPLES)

    result = other.to_dict()

    assert result["scorer"] == "jaccard"
    assert result["intervals"]["MAP"] == {"low": 1.0, "high": 1.0}
    assert result["differences"]["MAP"] == {
        "mean": 0.0,
        "interval": {"low": 0.0, "high": 0.0},
        "p_value": 1.0,
    }


def test_one_scorer_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="compare needs two scorers or more"):
        compare(["bm25"], EXAMPLES)
