"""The benchmark of training on large data, with few questions."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from benchmarks.large_training import CANDIDATES, compare, show, write_data

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


def test_memory_and_speed_are_measured(tmp_path: Path) -> None:
    result = compare(tmp_path, questions=48, steps=2)

    for row in result["rows"]:
        assert (row["questions"], row["candidates"], row["steps"]) == (48, 48 * CANDIDATES, 2)
        assert row["questions_per_second"] > 0
        assert row["peak_mb"] >= row["before_reading_mb"] > 0
    assert "| 48 | 16,800 |" in show(result["rows"])
