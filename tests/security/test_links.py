"""Links in a folder that is indexed: only files of the folder itself are read."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.documents.discovery import OUTSIDE, list_files
from rejoinder.index.index import Index
from rejoinder.index.report import FileEvent


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "docs"
    (docs / "sub").mkdir(parents=True)
    (docs / "tea.md").write_text("Green tea is hot.", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("The password is sesame.", encoding="utf-8")
    return docs


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    with Index(tmp_path / "index", create=True) as opened:
        yield opened


def add(index: Index, *paths: Path) -> dict[str, FileEvent]:
    events: list[FileEvent] = []
    index.add(paths, on_event=events.append)
    return {Path(event.path).name: event for event in events}


@pytest.mark.parametrize("target", ["{root}/secret.txt", "../../secret.txt", "../chain.txt"])
def test_a_link_out_of_the_folder_is_not_read(docs: Path, index: Index, target: str) -> None:
    (docs / "chain.txt").symlink_to("../secret.txt")
    (docs / "sub" / "notes.txt").symlink_to(target.format(root=docs.parent))

    events = add(index, docs)

    assert (events["notes.txt"].what, events["notes.txt"].reason) == ("skipped", OUTSIDE)
    assert events["tea.md"].what == "added"
    assert index.search("which password?", 9) == []


def test_a_link_within_the_folder_is_read(docs: Path, index: Index) -> None:
    (docs / "sub" / "notes.txt").symlink_to("../tea.md")

    assert add(index, docs)["notes.txt"].what == "added"


def test_a_link_that_the_operator_names_is_read(docs: Path, index: Index) -> None:
    link = docs.parent / "link.txt"
    link.symlink_to("secret.txt")
    (docs.parent / "other").symlink_to(docs)

    assert add(index, link, docs.parent / "other")["secret.txt"].what == "added"
    assert list_files([docs.parent / "other"]).unlisted == {}


def test_links_in_a_circle_are_skipped(docs: Path, index: Index) -> None:
    (docs / "a.txt").symlink_to("b.txt")
    (docs / "b.txt").symlink_to("a.txt")

    events = add(index, docs)

    assert events["a.txt"].what == events["b.txt"].what == "skipped"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_link_to_a_device_is_not_read(docs: Path, index: Index) -> None:
    (docs / "zero.txt").symlink_to("/dev/zero")
    (docs / "self.txt").symlink_to(f"/proc/{os.getpid()}/environ")

    events = add(index, docs)

    assert events["zero.txt"].what == events["self.txt"].what == "skipped"
