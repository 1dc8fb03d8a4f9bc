"""The benchmark of training on large data, with few questions."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.large_training import CANDIDATES, compare, show, train, write_data

from rejoinder.datasets.catalogue import open_dataset


def test_the_data_have_the_shape_of_asnq(tmp_path: Path) -> None:
    write_data(tmp_path, 3)

    examples = list(open_dataset("asnq", split="train", folder=tmp_path))

    assert len(examples) == 3
    for example in examples:
        assert len(example.candidates) == CANDIDATES
        assert 1 <= sum(example.labels) <= 2
        lengths = [len(item.text.split()) for item in example.candidates]
        assert 23 < sum(lengths) / CANDIDATES < 27


@pytest.mark.parametrize("model", ["selector", "has", "cosinet"])
def test_memory_and_speed_are_measured(model: str, tmp_path: Path) -> None:
    write_data(tmp_path, 70)

    row = train(model, tmp_path, 2)

    assert row["steps"] == 2
    assert row["questions_per_second"] > 0
    assert row["peak_mb"] >= row["before_reading_mb"] > 0


def test_rows_are_shown_as_a_table(tmp_path: Path) -> None:
    result = compare("cosinet", tmp_path, questions=9, steps=2)

    assert [row["questions"] for row in result["rows"]] == [100, 9]
    assert "| 100 | 35,000 |" in show(result["rows"])
