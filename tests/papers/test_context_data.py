import pytest

torch = pytest.importorskip("torch")

from tests.training.context import make_examples  # noqa: E402

from rejoinder.papers.context_data import spread  # noqa: E402


def test_questions_are_spread_evenly() -> None:
    examples = make_examples()  # two pairs each

    assert [item.id for item in spread(examples, 6)] == ["0", "2", "5"]
    assert spread(examples, 1000) == examples
    assert len(spread(examples, 3, most=1)) == 3
