"""The cost of a small change does not grow with the index: work is counted, not timed."""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from rejoinder.index.index import Index
from rejoinder.types import Where
from tests.index.conftest import PIECES
from tests.index.vectors.encoders import HashedWords

SENTENCES = 20
"""Sentences of one document."""
PAGE_BYTES = 4_096


def open_index(folder: Path) -> Index:
    return Index(folder / "index", create=True, tokenizer=PIECES, encoder=HashedWords())


def write_files(folder: Path, count: int) -> list[Path]:
    folder.mkdir()
    rng = random.Random(folder.name)
    files = [folder / f"{number}.txt" for number in range(count)]
    for file in files:
        numbers = [rng.randrange(10**6) for _ in range(SENTENCES)]
        file.write_text(" ".join(f"Door {number} is open." for number in numbers), "utf-8")
    return files


def count_steps(index: Index, action: Callable[[], object]) -> int:
    """Return how many steps SQLite's virtual machine takes: each row that it reads takes some."""
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    connection = index.store._connection.get()
    connection.set_progress_handler(count, 1)
    action()
    connection.set_progress_handler(None, 0)
    return steps


def count_written_bytes(action: Callable[[], object]) -> int:
    before = _read_written_bytes()
    action()
    return _read_written_bytes() - before


def _read_written_bytes() -> int:
    lines = Path("/proc/self/io").read_text("ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["wchar"])


@pytest.fixture(scope="module")
def sizes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two folders of indexes, one of 200 and one of 20,000 sentences."""
    folders = []
    for count in (10, 1_000):
        folder = tmp_path_factory.mktemp("costs")
        with open_index(folder) as index:
            index.add(write_files(folder / "docs", count))
        folders.append(folder)
    return folders


def test_one_more_file_reads_and_writes_no_more_in_a_large_index(
    sizes: list[Path], tmp_path: Path
) -> None:
    file, *others = write_files(tmp_path / "more", 4)
    steps, written = [], []
    for folder in sizes:
        with open_index(folder) as index:
            steps.append(count_steps(index, partial(index.add, [file])))
            # The least of some: one addition in seven merges segments of the full-text index.
            written.append(min(count_written_bytes(partial(index.add, [own])) for own in others))

    assert steps[1] < 1.2 * steps[0]
    # In a large index, the digest of each sentence is in another page of SQLite.
    assert written[1] < 1.2 * written[0] + SENTENCES * PAGE_BYTES


def test_counting_documents_reads_no_sentence(sizes: list[Path]) -> None:
    with open_index(sizes[1]) as index:
        assert count_steps(index, index.count) < SENTENCES * index.count().documents


@pytest.mark.parametrize("where", [None, {"suffix": ".txt"}])
def test_the_first_search_after_an_addition_reads_only_new_documents(
    sizes: list[Path], tmp_path: Path, where: Where | None
) -> None:
    (file,) = write_files(tmp_path / "more", 1)
    steps = []
    for folder in sizes:
        with open_index(folder) as index:
            search = partial(index.vectors.search, "Which door is open?", 3, where)
            search()
            index.add([file])
            steps.append(count_steps(index, search))

    assert steps[1] < 1.2 * steps[0]


def test_one_file_is_removed_without_reading_the_others(sizes: list[Path]) -> None:
    steps = []
    for folder in sizes:
        with open_index(folder) as index:
            file = folder / "docs" / "0.txt"
            steps.append(count_steps(index, partial(index.remove, [file])))

    assert steps[1] < 1.2 * steps[0]
