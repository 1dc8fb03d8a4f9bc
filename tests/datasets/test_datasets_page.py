"""docs/datasets.md says what the code does."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.catalogue import DATASETS
from rejoinder.datasets.readers.jsonl import read_examples, write_examples

Write = Callable[[str, str], Path]
PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_the_example_of_our_format_can_be_read(write: Write, tmp_path: Path) -> None:
    match = re.search(r"```json\n(.+?)```", PAGE, re.DOTALL)
    assert match is not None

    examples = list(read_examples(write("page.jsonl", match[1])))

    assert [example.labels for example in examples] == [(True, False), (True, False)]
    write_examples(tmp_path / "again.jsonl", examples[:1])
    again = (tmp_path / "again.jsonl").read_text(encoding="utf-8")
    assert again == match[1].splitlines(keepends=True)[0]


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_and_split_is_listed(name: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith("|") and f"`{name}`" in line]
    following = PAGE[PAGE.index(row) :].splitlines()[:2]

    for split in DATASETS[name].splits:
        assert re.search(rf"\b{split}\b", " ".join(following))


def test_every_folder_is_named() -> None:
    folders = {
        file.partition("/")[0]
        for dataset in DATASETS.values()
        for sources in dataset.splits.values()
        for source in sources
        for file in source.files
    }

    assert all(f"`{folder}/" in PAGE for folder in folders)
