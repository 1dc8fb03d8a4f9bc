"""The cost of a small change does not grow with the index: work is counted, not timed."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from rejoinder.engine.engine import Engine
from rejoinder.index.candidates import read_distinct
from rejoinder.index.index import Index
from rejoinder.types import Document, RetrievalScores, ScoredCandidate, Where
from tests.index.conftest import PIECES
from tests.index.vectors.encoders import HashedWords
from tests.systems import needs_proc

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


def list_statements(index: Index, action: Callable[[], object]) -> list[str]:
    """Return the SQL statements of an action, without those that read one setting."""
    statements: list[str] = []
    connection = index.store._connection.get()
    connection.set_trace_callback(statements.append)
    action()
    connection.set_trace_callback(None)
    return [statement for statement in statements if " FROM meta " not in statement]


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


@needs_proc
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


@pytest.fixture
def copies(tmp_path: Path) -> Iterator[Index]:
    """An index of 40 documents, the first sentence of which is the same in all."""
    with open_index(tmp_path) as index:
        index.add_documents(
            Document(str(number), sentences=["The door is open.", f"Door {number} is shut.", "No."])
            for number in range(40)
        )
        yield index


@pytest.mark.parametrize("k", [1, 5, 30, 200])
def test_a_search_reads_its_sentences_with_one_statement(copies: Index, k: int) -> None:
    hits: list[ScoredCandidate] = []
    copies.search("Which door is open?", k)  # lists the documents once

    statements = list_statements(
        copies, lambda: hits.extend(copies.search("Which door is open?", k))
    )

    assert len(statements) == 1
    assert len(hits) == min(k, 42)  # 40 shut doors, an open one, and a No


def test_a_search_reads_no_more_sentences_than_it_returns(copies: Index) -> None:
    found = {(number, 1): RetrievalScores(1.0) for number in range(1, 41)}
    steps = [
        count_steps(copies, partial(read_distinct, copies.store, found, k)) for k in (1, 2, 40)
    ]

    assert steps[2] > 20 * (steps[1] - steps[0]) > 0
    assert steps[0] < steps[2] / 5


def test_the_neighbours_of_an_answer_are_read_with_one_statement(copies: Index) -> None:
    document = copies.documents()[7]
    texts: list[str] = []

    statements = list_statements(copies, lambda: texts.extend(document.sentences[0:2]))

    assert texts == ["The door is open.", "Door 7 is shut."]
    assert len(statements) == 1
    assert count_steps(copies, lambda: document.sentences[0:1]) < count_steps(
        copies, lambda: document.sentences[0:2]
    )


def test_all_sentences_of_a_document_are_read_with_one_statement(copies: Index) -> None:
    document = copies.documents()[7]

    assert len(list_statements(copies, lambda: list(document.sentences))) == 1
    assert list(document.sentences) == ["The door is open.", "Door 7 is shut.", "No."]
    assert document.sentences[::-2] == ("No.", "The door is open.")


def test_an_answer_needs_few_statements(copies: Index) -> None:
    engine = Engine(copies)
    engine.answer("Which door is shut?")

    # The search, the neighbours, the source, and copies elsewhere.
    assert len(list_statements(copies, lambda: engine.answer("Which door is shut?"))) == 5
