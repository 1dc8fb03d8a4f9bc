from pathlib import Path

import pytest

from rejoinder.engine.documents import read_document
from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    (tmp_path / "tea.md").write_text(
        "# How hot is tea?\n\nGreen tea is brewed\nat 75 °C. Black tea is boiled.\n",
        encoding="utf-8",
    )
    (tmp_path / "bees.txt").write_text("Bees dance. A colony has one queen.", encoding="utf-8")
    return Engine([read_document(tmp_path / name) for name in ("tea.md", "bees.txt")])


def test_the_answer_says_where_it_stands(engine: Engine) -> None:
    (answer,) = engine.answer("when is green tea brewed?")

    assert answer.sentence == "Green tea is brewed at 75 °C."
    assert answer.rank == 1
    assert answer.source.title == "How hot is tea?"
    assert answer.source.line == 3
    text = Path(answer.source.document).read_text(encoding="utf-8")
    assert text[answer.source.start : answer.source.end] == "Green tea is brewed\nat 75 °C."


def test_a_heading_is_never_an_answer(engine: Engine) -> None:
    assert engine.sentence_count == 4
    assert all("hot" not in answer.sentence for answer in engine.answer("How hot is tea?", top=9))


def test_top_limits_and_sorts(engine: Engine) -> None:
    answers = engine.answer("black tea", top=2)

    assert [answer.rank for answer in answers] == [1, 2]
    assert answers[0].sentence == "Black tea is boiled."
    assert answers[0].score > answers[1].score


def test_no_shared_word_gives_no_answer(engine: Engine) -> None:
    assert engine.answer("xylophones?") == []


def test_an_empty_question_is_an_error(engine: Engine) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        engine.answer("  ")
