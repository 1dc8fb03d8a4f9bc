"""The benchmark of files of published formats and sizes, on a small share of them."""

import json
import sys
from pathlib import Path

import pytest
from benchmarks import generated, published_sizes

from rejoinder.datasets.catalogue import open_dataset


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("published")
    published_sizes.write_all(place, 0.001)
    return place


@pytest.mark.parametrize("task", published_sizes.TASKS)
def test_every_task_reads_its_share(task: str, folder: Path) -> None:
    row = published_sizes.measure(task, folder)

    assert row["questions"] > 0
    assert row["candidates"] > row["questions"]
    assert row["peak_mb"] > 0


@pytest.mark.parametrize("split", ["train", "dev"])
def test_sizes_are_the_published_ones_times_the_share(split: str, folder: Path) -> None:
    size = generated.ASNQ[split].take(0.001)

    examples = list(open_dataset("asnq", split=split, folder=folder))

    assert len(examples) == size.questions
    assert sum(len(example.candidates) for example in examples) == size.candidates
    assert all(1 <= sum(example.labels) <= 2 for example in examples)


def test_the_lists_divide_dev(folder: Path) -> None:
    whole, first, second = (
        {example.question for example in open_dataset("asnq", split=split, folder=folder)}
        for split in ("dev", "cascade-dev", "cascade-test")
    )

    assert first | second == whole
    assert not first & second


def test_every_generated_sentence_is_found_on_a_page_of_its_own(folder: Path) -> None:
    pages = list(open_dataset("nq-la", split="dev", folder=folder))

    assert len(pages) == generated.NQ_DEV.take(0.001).questions
    assert any(any(example.labels) for example in pages)
    assert not all(any(example.labels) for example in pages)


def test_the_command_prints_a_table_and_json(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(published_sizes, "TASKS", {"read yahooqa:train": None})
    monkeypatch.setattr(
        sys, "argv", ["published_sizes", "--folder", str(folder), "--share", "0.001"]
    )

    published_sizes.main()

    printed = capsys.readouterr()
    (row,) = json.loads(printed.out)["rows"]
    assert row["task"] == "read yahooqa:train"
    assert f"| read yahooqa:train | {row['questions']} | {row['candidates']} |" in printed.err
