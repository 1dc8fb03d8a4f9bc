"""An engine follows its index: replaced, deleted, put back, half-built."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.index.digests import Digests
from tests.index.editions import PIECES, QUESTION, make, point, put
from tests.systems import needs_proc

from rejoinder.engine.engine import Engine
from rejoinder.errors import StoreError
from rejoinder.index import index as index_module
from rejoinder.index.index import Index
from rejoinder.models.scorer import Candidates, Scorer, Scores
from rejoinder.models.sidecar import SidecarRows
from rejoinder.types import Answer, Document


def ask(engine: Engine) -> str:
    (answer,) = engine.answer(QUESTION).answers
    return answer.sentence


def open_engine(folder: Path, scorer: Scorer | None = None) -> Engine:
    return Engine(Index(folder, tokenizer=PIECES), scorer)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make(tmp_path / "index", 1)


def test_replaced_index_is_followed(folder: Path, tmp_path: Path) -> None:
    with open_engine(folder) as engine:
        assert ask(engine) == "Edition 1 is about caves."

        put(folder, make(tmp_path / "new", 2))

        assert ask(engine) == "Edition 2 is about caves."
        assert engine.index.count().documents == 3


def test_switched_link_is_followed(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    with open_engine(link) as engine:
        assert ask(engine) == "Edition 1 is about caves."
        point(link, make(tmp_path / "new", 2))
        assert ask(engine) == "Edition 2 is about caves."


def test_deleted_index_is_reported_until_one_is_back(folder: Path) -> None:
    with open_engine(folder) as engine:
        shutil.rmtree(folder)
        for call in (lambda: ask(engine), engine.index.count, engine.marks):
            with pytest.raises(StoreError, match="the index is gone; put one there, or make one"):
                call()

        make(folder, 2)

        assert ask(engine) == "Edition 2 is about caves."


def test_what_is_no_index_is_reported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_engine(folder) as engine:
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "index.sqlite").write_text("no database" * 500)
        for _ in range(2):  # the second time it is not opened
            with pytest.raises(StoreError, match="not a database"):
                ask(engine)
        monkeypatch.setattr(index_module, "RETRY_SECONDS", 0)

        put(folder, make(tmp_path / "new", 2))

        assert ask(engine) == "Edition 2 is about caves."


def test_half_built_index_is_not_answered_from(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_module, "RETRY_SECONDS", 0)
    with open_engine(folder) as engine:
        shutil.rmtree(folder)
        with Index(folder, create=True, tokenizer=PIECES) as creating:
            with pytest.raises(StoreError, match="incomplete; wait until the first"):
                ask(engine)  # it does not take the lock that the other needs next

            def documents() -> Iterator[Document]:
                yield from (
                    Document(str(number), "", text="It is about nothing. " * 60)
                    for number in range(200)
                )
                with pytest.raises(StoreError, match="incomplete"):
                    ask(engine)
                with open_engine(folder) as late, pytest.raises(StoreError, match="incomplete"):
                    ask(late)
                yield Document("last", "", text="Edition 2 is about caves.")

            creating.add_documents(documents())
            assert ask(engine) == "Edition 2 is about caves."


def test_empty_index_is_answered_from(folder: Path) -> None:
    with open_engine(folder) as engine:
        shutil.rmtree(folder)
        Index(folder, create=True).close()

        assert engine.answer(QUESTION).answers == ()


class Replacing:
    """Replaces the index in the middle of a question."""

    name = "replacing"

    def __init__(self, folder: Path, new: Path) -> None:
        self._folder, self._new = folder, new

    def score(self, question: str, candidates: Candidates) -> Scores:
        if self._new.exists():
            put(self._folder, self._new)
            with open_engine(self._folder) as other:
                ask(other)
        return np.arange(len(candidates), 0.0, -1)


def show_context(answer: Answer) -> str:
    return " ".join(" ".join(block.text for block in answer.context).split())


def test_question_in_progress_finishes_on_the_old_index(folder: Path, tmp_path: Path) -> None:
    with open_engine(folder, Replacing(folder, make(tmp_path / "new", 2))) as engine:
        (answer,) = engine.answer(QUESTION, context="section").answers
        assert answer.sentence == "Edition 1 is about caves."
        assert show_context(answer) == "Before 1. Edition 1 is about caves. After 1."
        assert answer.source.document == "1-0"

        assert ask(engine) == "Edition 2 is about caves."


class RowsOfDigests:
    """Scores by stored rows, and keeps whether it was bound to any."""

    name = "digests"

    def __init__(self, rows: SidecarRows | None = None) -> None:
        self.sidecar = Digests()
        self.rows = rows
        self.bound: list[RowsOfDigests] = []

    def bind(self, rows: SidecarRows) -> "RowsOfDigests":
        self.bound.append(RowsOfDigests(rows))
        return self.bound[-1]

    def without_rows(self, error: StoreError) -> None:
        raise AssertionError(error)

    def score(self, question: str, candidates: Candidates) -> Scores:
        assert self.rows is not None
        found = self.rows.find(list(candidates))  # type: ignore[arg-type]
        return found.lengths.astype(np.float64)


def test_scorer_is_bound_to_the_rows_of_the_new_index(folder: Path, tmp_path: Path) -> None:
    scorer = RowsOfDigests()
    for path in (folder, make(tmp_path / "new", 2)):
        with Index(path, tokenizer=PIECES) as index:
            index.store_sidecar(Digests())
    with open_engine(folder, scorer) as engine:
        assert engine.answer(QUESTION).answers[0].score == 1
        put(folder, tmp_path / "new")
        assert engine.answer(QUESTION).answers[0].score == 1
        assert len(scorer.bound) == 2


def test_scorer_is_bound_to_a_sidecar_that_is_added(folder: Path) -> None:
    scorer = RowsOfDigests()
    with open_engine(folder, scorer) as engine:
        with Index(folder, tokenizer=PIECES) as index:
            index.store_sidecar(Digests())
        assert engine.answer(QUESTION).answers[0].score == 1


def test_rows_of_another_index_are_not_mapped(folder: Path, tmp_path: Path) -> None:
    with Index(folder, tokenizer=PIECES) as index:
        index.store_sidecar(Digests())
        rows = index.open_sidecar(Digests())
        assert rows is not None
        with Index(make(tmp_path / "new", 2), tokenizer=PIECES) as new:
            new.store_sidecar(Digests())
        with index.leased() as pinned:
            found = pinned.search(QUESTION, 3)
            put(folder, tmp_path / "new")
            assert pinned.search(QUESTION, 3) == found
            assert pinned.count().documents == 2
            assert len(rows.store.list_documents()) == 2
            rows.find([item.candidate for item in found])
            assert len(rows.store.list_documents()) == 2


def wait_until(is_so: Callable[[], bool]) -> None:
    """Wait for Tantivy's threads: they end half a second later, on a busy machine later still."""
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@needs_proc
def test_nothing_leaks(folder: Path, tmp_path: Path) -> None:
    def count_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    with open_engine(folder) as engine:
        ask(engine)
        before = count_files()
        for edition in range(2, 52):
            put(folder, make(tmp_path / "new", edition))
            assert ask(engine) == f"Edition {edition} is about caves."
        wait_until(lambda: count_files() <= before)
        shutil.rmtree(folder)
        with pytest.raises(StoreError):
            ask(engine)
        wait_until(lambda: str(folder) not in Path("/proc/self/maps").read_text())


def test_concurrent_questions_get_one_edition_each(folder: Path, tmp_path: Path) -> None:
    link, current = tmp_path / "link", [1, 1]
    failures: list[str] = []
    asked: list[int] = []
    link.symlink_to(folder)
    is_over = threading.Event()

    def ask_always() -> None:
        while not is_over.is_set():
            first = current[0]
            try:
                (answer,) = engine.answer(QUESTION, context="section").answers
            except StoreError as error:
                failures.append(repr(error))
                return
            edition = int(answer.source.document.partition("-")[0])
            whole = f"Before {edition}. Edition {edition} is about caves. After {edition}."
            if show_context(answer) != whole:
                failures.append(str(answer))
            if not first <= edition <= current[1]:
                failures.append(f"{edition}, not {first} to {current[1]}")
            asked.append(edition)

    with open_engine(link) as engine:
        threads = [threading.Thread(target=ask_always) for _ in range(4)]
        for thread in threads:
            thread.start()
        for edition in range(2, 12):
            made = make(tmp_path / str(edition), edition)
            current[1] = edition
            point(link, made)
            current[0] = edition
            goal = len(asked) + 5
            while len(asked) < goal and not failures:
                is_over.wait(0.005)
        is_over.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_writing_follows_and_reports_a_lost_index(folder: Path, tmp_path: Path) -> None:
    with Index(folder, tokenizer=PIECES) as index:
        put(folder, make(tmp_path / "new", 3))
        index.add_documents([Document("x", "", text="It is new.")])
        assert index.count().documents == 2

        with pytest.raises(StoreError, match="replaced while it was changed"), index.writing():
            put(folder, make(tmp_path / "new", 4))
        assert index.count().documents == 2

        documents = index.documents()
        put(folder, make(tmp_path / "new", 5))
        assert [item.id for item in index.documents()] == ["5-0", "5-1", "5-2"]
        with pytest.raises(StoreError, match="closed"):
            list(documents[0].sentences)


def test_closed_index_stays_closed(folder: Path) -> None:
    index = Index(folder, tokenizer=PIECES)
    shutil.rmtree(folder)
    with pytest.raises(StoreError, match="gone"):
        index.count()
    index.close()
    make(folder, 2)
    with pytest.raises(StoreError, match="the index is closed"):
        index.count()
