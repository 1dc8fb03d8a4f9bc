"""`Index.watch` over real files."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rejoinder.documents.discovery import list_files
from rejoinder.errors import InputError, MissingExtraError
from rejoinder.index import watch as watch_module
from rejoinder.index.index import Index
from rejoinder.index.report import FileEvent, UpdateReport, What
from rejoinder.storage.files import lock_folder

MAX_SECONDS = 60


class Watching:
    """An index that follows paths in a thread."""

    def __init__(self, index: Index, paths: list[Path], metadata: dict[str, str] | None) -> None:
        self.index = index
        self.events: list[tuple[str, str]] = []
        self.reasons: list[str] = []
        self.updates: list[dict[What, int]] = []
        self.finished = 0
        self.stop = threading.Event()
        self.total: UpdateReport | None = None
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._run, args=(paths, metadata))

    def _run(self, paths: list[Path], metadata: dict[str, str] | None) -> None:
        try:
            self.total = self.index.watch(
                paths,
                metadata=metadata,
                on_event=self._note,
                on_update=self._finish,
                stop=self.stop,
            )
        except Exception as error:
            self.error = error

    def _finish(self, report: UpdateReport) -> None:
        self.updates.append(dict(report.files))
        self.finished = len(self.events)

    def _note(self, event: FileEvent) -> None:
        self.events.append((event.what, Path(event.path).name))
        if event.reason:
            self.reasons.append(event.reason)

    def wait_for(self, *expected: tuple[str, str]) -> None:
        """Wait until updates with these events, and no others, have finished; forget them."""
        self.wait_until(lambda: self.finished >= len(expected), expected)
        assert sorted(self.events) == sorted(expected)
        self.events.clear()
        self.finished = 0

    def wait_until(self, condition: Callable[[], bool], what: object) -> None:
        end = time.monotonic() + MAX_SECONDS
        while not condition():
            assert self.thread.is_alive(), self.error
            assert time.monotonic() < end, (what, self.events)
            time.sleep(0.02)


@contextmanager
def watching(
    index: Index, *paths: Path, metadata: dict[str, str] | None = None
) -> Iterator[Watching]:
    watched = Watching(index, list(paths), metadata)
    watched.thread.start()
    try:
        watched.wait_until(lambda: bool(watched.updates), "the first update")
        yield watched
    finally:
        watched.stop.set()
        watched.thread.join(MAX_SECONDS)
    assert not watched.thread.is_alive()
    assert watched.error is None
    assert watched.events == []


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    write(folder / "tea.md", "Green tea is hot.")
    return folder


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path / "index", create=True) as opened:
        yield opened


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def list_names(index: Index) -> list[str]:
    return sorted(Path(document.id).name for document in index.documents())


def test_new_changed_and_deleted_files_are_followed(index: Index, docs: Path) -> None:
    with watching(index, docs, metadata={"team": "red"}) as watched:
        watched.wait_for(("added", "tea.md"))
        write(docs / "ice.md", "Ice is cold.")
        watched.wait_for(("added", "ice.md"))
        write(docs / "ice.md", "Ice is slippery when it is wet.")
        watched.wait_for(("changed", "ice.md"))
        watched.wait_until(lambda: bool(index.search("slippery", 1)), "it can be searched")
        (docs / "tea.md").unlink()
        watched.wait_for(("removed", "tea.md"))
        (docs / "ice.md").rename(docs / "snow.md")
        watched.wait_for(("removed", "ice.md"), ("added", "snow.md"))

    assert list_names(index) == ["snow.md"]
    assert index.documents()[0].metadata["team"] == "red"
    assert watched.total is not None
    assert watched.total.files == {"added": 3, "changed": 1, "removed": 2}


def test_editors_that_write_through_a_rename_change_a_file(index: Index, docs: Path) -> None:
    other = docs.parent / "other.md"
    write(other, "Snow is white.")

    with watching(index, docs, other) as watched:
        watched.wait_for(("added", "tea.md"), ("added", "other.md"))
        for path in (docs / "tea.md", other):  # in a folder, and named itself
            write(docs.parent / "new.tmp", f"{path.name} was saved.")
            path.rename(path.with_name("backup~"))
            (docs.parent / "new.tmp").rename(path)
            watched.wait_for(("changed", path.name))
        write(other, "Snow is white again.")
        watched.wait_for(("changed", "other.md"))
        other.unlink()
        watched.wait_for(("removed", "other.md"))
        write(other, "Snow is back.")
        watched.wait_for(("added", "other.md"))


def test_folders_are_created_moved_and_deleted(index: Index, docs: Path) -> None:
    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"))
        (docs / "a" / "b").mkdir(parents=True)
        write(docs / "a" / "b" / "deep.md", "Wells are deep.")
        watched.wait_for(("added", "deep.md"))
        (docs / "a").rename(docs / "c")
        watched.wait_for(("removed", "deep.md"), ("added", "deep.md"))
        write(docs / "c" / "b" / "deep.md", "Wells are very deep.")
        watched.wait_for(("changed", "deep.md"))
        (docs / "c" / "b" / "deep.md").unlink()
        (docs / "c" / "b").rmdir()
        watched.wait_for(("removed", "deep.md"))
        docs.rename(docs.with_name("elsewhere"))
        watched.wait_for(("removed", "tea.md"))
        docs.mkdir()
        write(docs / "back.md", "It is back.")
        watched.wait_for(("added", "back.md"))
        write(docs / "later.md", "It is followed again.")
        watched.wait_for(("added", "later.md"))

    assert list_names(index) == ["back.md", "later.md"]


def test_a_half_written_file_is_read_again(index: Index, docs: Path) -> None:
    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"))
        with (docs / "log.jsonl").open("w", encoding="utf-8") as file:
            file.write('{"text": "One is here."}\n{"text": "Two')
            file.flush()
            watched.wait_for(("skipped", "log.jsonl"))
            file.write(" is there.")
            file.flush()
            time.sleep(1)
            assert watched.events == [], "it is still half, for the same reason"
            file.write('"}\n')
        watched.wait_for(("added", "log.jsonl"))

    assert watched.total is not None
    assert watched.total.skipped == []
    assert index.count().sentences == 3


def test_a_file_that_cannot_be_read_is_named_once(index: Index, docs: Path) -> None:
    (docs / "bad.pdf").write_bytes(b"nothing")

    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"), ("skipped", "bad.pdf"))
        watched.index.folder.joinpath("marker").touch()
        docs.rename(docs.with_name("elsewhere"))
        watched.wait_for(("removed", "tea.md"))
        docs.with_name("elsewhere").rename(docs)
        watched.wait_for(("added", "tea.md"), ("skipped", "bad.pdf"))
        (docs / "tea.md").touch()
        (docs / "bad.pdf").touch()
        write(docs / "ice.md", "Ice is cold.")
        watched.wait_for(("added", "ice.md"))

    assert watched.total is not None
    assert [Path(event.path).name for event in watched.total.skipped] == ["bad.pdf"]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / ".git").mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (docs / "link").symlink_to(tmp_path / "outside")

    with Index(docs / "index", create=True) as index, watching(index, docs) as watched:
        write(docs / ".git" / "hidden.md", "It is hidden.")
        write(docs / ".swap.md", "It is hidden too.")
        write(docs / "picture.png", "It is no text.")
        write(tmp_path / "outside" / "other.md", "It is outside.")
        (docs / "second").symlink_to(tmp_path / "outside")
        write(docs / "index" / "notes.md", "It is in the folder of the index.")
        write(docs / "seen.md", "It is seen.")
        watched.wait_for(("added", "seen.md"))

    assert watched.updates == [{}, {"added": 1}], "an empty folder is no error"


def test_many_changes_compare_all_files(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_module, "MAX_CHANGED", 2)

    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"))
        for number in range(5):
            write(docs / f"{number}.md", f"This is number {number}.")
        watched.wait_for(*(("added", f"{number}.md") for number in range(5)))

    assert {"unchanged": 1} in [{"unchanged": one.get("unchanged", 0)} for one in watched.updates]


def test_changes_wait_while_another_process_writes(
    index: Index, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"))
        for word in ("cold", "slippery"):
            caplog.clear()
            with lock_folder(index.folder), caplog.at_level(logging.WARNING):
                write(docs / f"{word}.md", f"Ice is {word}.")
                watched.wait_until(lambda: bool(caplog.records), "a warning")
                time.sleep(1)
                assert watched.events == []
            watched.wait_for(("added", f"{word}.md"))
            assert [record.getMessage() for record in caplog.records] == [
                f"{index.folder}: another process is writing; changes wait until it ends"
            ]


def test_sidecars_follow(index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(Index, "update_sidecars", lambda self: calls.append(self.count().documents))

    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"))
        write(docs / "ice.md", "Ice is cold.")
        watched.wait_for(("added", "ice.md"))
        os.utime(docs / "ice.md", (1, 1))
        write(docs / "snow.md", "Snow is white.")
        watched.wait_for(("added", "snow.md"))

    assert calls == [1, 2, 3]


def test_a_stop_ends_a_long_update(index: Index, docs: Path) -> None:
    for number in range(20):
        write(docs / f"{number}.md", f"This is number {number}.")
    stop = threading.Event()
    seen: list[str] = []

    def note(event: FileEvent) -> None:
        seen.append(event.path)
        stop.set()

    total = index.watch([docs], on_event=note, stop=stop)

    assert len(seen) == 2, "the event that stops it, and the next"
    assert total.files == {"added": 2}
    assert index.count().documents > 0
    assert index.check() == [] or index.add([docs])
    assert index.add([docs]).files.get("changed") is None
    assert index.check() == []


def test_refuses_what_it_cannot_follow(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"missing: no such file or folder"):
        index.watch([docs / "missing"])
    with pytest.raises(InputError, match="'suffix' is reserved"):
        index.watch([docs], metadata={"suffix": "a"})

    def fail(*paths: Path, **settings: object) -> Iterator[None]:
        raise OSError("OS file watch limit reached")

    monkeypatch.setattr("watchfiles.watch", fail)
    with pytest.raises(InputError, match=r"limit reached.*raise fs\.inotify"):
        index.watch([docs])
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rejoinder\[watch\]'"):
        index.watch([docs])


def test_a_folder_that_vanishes_before_it_is_followed_is_tried_again(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    calls: list[Path] = []
    real = watchfiles.watch

    def watch_late(*paths: Path, **settings: Any) -> Iterator[set[Any]]:
        calls.extend(paths)
        if len(calls) == 1:
            raise FileNotFoundError
        yield from real(*paths, **settings)

    monkeypatch.setattr(watchfiles, "watch", watch_late)
    with watching(index, docs) as watched:
        watched.wait_for(("added", "tea.md"))

    assert calls == [docs, docs]


def test_unreachable_paths_keep_their_documents(tmp_path: Path) -> None:
    too_long = tmp_path / ("a" * 300)

    found = list_files([too_long, tmp_path / "missing"], missing_ok=True)

    assert found.files == []
    assert list(found.unlisted.values()) in ([], ["File name too long"])
