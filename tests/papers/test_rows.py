from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from rejoinder.datasets.readers.judged import Judged, to_ordered_example  # noqa: E402
from rejoinder.errors import InputError  # noqa: E402
from rejoinder.models import registry  # noqa: E402
from rejoinder.models.registry import open_scorer  # noqa: E402
from rejoinder.models.static_vectors.vectors import load_vectors  # noqa: E402
from rejoinder.papers.published import UNSEEN, Row  # noqa: E402
from rejoinder.papers.rows import train_row  # noqa: E402
from rejoinder.training.loop import Step  # noqa: E402
from rejoinder.training.mixing import Part  # noqa: E402

EXAMPLES = [
    to_ordered_example(
        word,
        f"where is the {word}?",
        [Judged(f"The {word} is here.", True), Judged("It rained all day.", False)],
    )
    for word in ("cat", "dog", "cow", "owl", "hen")
]


def train(row: Row) -> tuple[list[float], int, float, int]:
    steps: list[Step] = []
    found = train_row(row, 0, [Part(EXAMPLES)], load_vectors(), steps.append)
    scores = found.scorer.score(EXAMPLES[0].question, EXAMPLES[0].candidates)
    return scores.tolist(), found.parameters, found.seconds, len(steps)


def test_a_small_ranker_is_trained_from_nothing() -> None:
    scores, parameters, seconds, steps = train(Row("cosinet", "none", "listwise"))
    assert (len(scores), parameters, steps) == (2, 772_201, 6)
    assert seconds > 0


def test_the_shipped_selector_is_measured_as_it_is() -> None:
    scores, parameters, seconds, steps = train(Row("selector", "none", UNSEEN, is_shipped=True))
    assert (seconds, steps) == (0.0, 0)
    assert parameters > 20_000_000
    example = EXAMPLES[0]
    assert scores == open_scorer("selector").score(example.question, example.candidates).tolist()


def test_the_shipped_selector_is_adapted() -> None:
    before, *_ = train(Row("selector", "none", UNSEEN, is_shipped=True))
    scores, _, _, steps = train(Row("selector", "none", "anchored", is_shipped=True))
    assert steps == 2
    assert scores != before
    assert scores[0] > scores[1]


def test_weights_that_are_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "WEIGHTS", tmp_path)
    with pytest.raises(InputError, match="the weights of selector are not installed"):
        train(Row("selector", "none", UNSEEN, is_shipped=True))
