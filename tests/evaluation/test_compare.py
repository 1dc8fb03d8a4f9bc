import pytest

from rejoinder.evaluation.compare import compare
from rejoinder.evaluation.evaluate import evaluate
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


def test_further_scorers_are_held_against_the_first() -> None:
    order, overlap = compare(
        [evaluate(open_scorer(name), EXAMPLES) for name in ("original-order", "word-overlap")]
    )

    assert order.differences == {}
    assert overlap.differences["P@1"].mean == 1.0
    assert overlap.differences["P@1"].p_value < 0.001
    assert overlap.differences["MRR"].interval.low == pytest.approx(0.5)
    assert order.intervals["P@1"].high == 0.0


def test_a_comparison_is_plain_json() -> None:
    _, other = compare([evaluate(open_scorer(name), EXAMPLES) for name in ("bm25", "jaccard")])

    found = other.to_dict()

    assert found["scorer"] == "jaccard"
    assert found["intervals"]["MAP"] == {"low": 1.0, "high": 1.0}
    assert found["differences"]["MAP"] == {
        "mean": 0.0,
        "interval": {"low": 0.0, "high": 0.0},
        "p_value": 1.0,
    }


def test_different_questions_cannot_be_compared() -> None:
    reports = [evaluate(open_scorer("bm25"), EXAMPLES), evaluate(open_scorer("bm25"), EXAMPLES[1:])]

    with pytest.raises(ValueError, match="different questions"):
        compare(reports)
