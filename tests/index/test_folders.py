"""Folders as a filter of searches, and how many documents are in them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.index.file_reader import FOLDER
from rejoinder.index.folders import Folders
from rejoinder.index.index import Index
from rejoinder.types import Document
from tests.index.conftest import PIECES

TREE = {
    "docs/start.md": "The rocket begins with a countdown.",
    "docs/api/launch.md": "A rocket launches from the northern pad.",
    "docs/api/v2/land.md": "The rocket lands on a drone ship.",
    "docs/api-old/launch.md": "A rocket once launched from a barge.",
    "notes/fuel.txt": "The rocket burns methane and oxygen.",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tree(place: Path) -> Iterator[Index]:
    with Index(place / "index", create=True, tokenizer=PIECES) as index:
        index.add([place / "docs", place / "notes"])
        yield index


def find(index: Index, *folders: Path | str) -> set[str]:
    """Return the files in which a search of folders finds the rocket."""
    hits = index.search("rocket", 20, where={FOLDER: [str(folder) for folder in folders]})
    return {"/".join((hit.candidate.document or Document("")).id.split("/")[-2:]) for hit in hits}


def count(index: Index) -> dict[str, int]:
    return {row.value: row.documents for row in index.count_metadata(values=9) if row.key == FOLDER}


def test_a_folder_stands_for_its_sub_folders(tree: Index, place: Path) -> None:
    assert find(tree, place / "docs/api") == {"api/launch.md", "v2/land.md"}
    assert find(tree, f"{place}/docs/api/v2/") == {"v2/land.md"}
    assert find(tree, place / "docs/api/v2", place / "notes") == {"v2/land.md", "notes/fuel.txt"}
    assert len(find(tree, "/")) == 5
    assert find(tree, place / "docs/a") == set()
    assert find(tree, "") == set()


def test_a_relative_folder_is_one_of_this_machine(
    tree: Index, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place / "docs")

    assert find(tree, "api") == find(tree, "./api/") == {"api/launch.md", "v2/land.md"}
    assert find(tree, "../notes") == {"notes/fuel.txt"}
    assert len(find(tree, ".")) == 4


def test_a_relative_folder_is_none_where_the_current_one_is_gone(
    tree: Index, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "gone").mkdir()
    monkeypatch.chdir(place / "gone")
    (place / "gone").rmdir()

    assert find(tree, "docs") == set()


def test_other_filters_hold_too(tree: Index, place: Path) -> None:
    where = {FOLDER: str(place), "suffix": ".txt"}

    (hit,) = tree.search("rocket", 9, where=where)

    assert hit.candidate.text == "The rocket burns methane and oxygen."


def test_added_and_removed_documents_are_followed(tree: Index, place: Path) -> None:
    folder = place / "docs/api"
    assert len(find(tree, folder)) == 2
    (folder / "v3").mkdir()
    (folder / "v3/orbit.md").write_text("The rocket reaches its orbit.", encoding="utf-8")

    tree.add([folder])
    assert find(tree, folder) == {"api/launch.md", "v2/land.md", "v3/orbit.md"}
    tree.remove([folder / "v2"])
    assert find(tree, folder) == {"api/launch.md", "v3/orbit.md"}


def test_copies_outside_of_the_folder_are_not_listed(tree: Index, place: Path) -> None:
    (place / "notes/copy.txt").write_text(TREE["docs/api/launch.md"], encoding="utf-8")
    tree.add([place / "notes"])
    (best,) = tree.search("northern pad", 1, where={FOLDER: str(place / "docs")})

    assert len(tree.locate_copies(best.candidate)) == 1
    assert tree.locate_copies(best.candidate, where={FOLDER: str(place / "docs")}) == []


def test_uploads_are_in_folders_of_their_own(tree: Index, place: Path) -> None:
    file = place / "docs/start.md"
    tree.add_upload("first.md", file)
    tree.add_upload("space/second.md", file)
    file.unlink()
    tree.add([place / "docs"])  # so that the uploads alone have its sentence

    ids = {document.id: document.metadata[FOLDER] for document in tree.documents()}
    assert ids["uploaded:first.md"] == "uploaded:"
    assert ids["uploaded:space/second.md"] == "uploaded:space"
    assert find(tree, "uploaded:space") == {"uploaded:space/second.md"}
    assert len(tree.search("countdown", 9, where={FOLDER: "uploaded:"})) == 1
    assert count(tree)["uploaded:"] == 2


def test_a_document_may_bring_its_own_folder(tree: Index) -> None:
    documents = [
        Document("1", text="The rocket mail has arrived.", metadata={FOLDER: "inbox/2024"}),
        Document("2", text="The rocket has no folder here."),
    ]
    tree.add_documents(documents)

    assert find(tree, "inbox") == {"1"}
    assert find(tree, "inbox/2024") == {"1"}
    assert find(tree, "in") == set()
    assert count(tree)["inbox/2024"] == 1


def test_folders_are_counted_with_their_sub_folders(tree: Index, place: Path) -> None:
    docs = place / "docs"

    assert count(tree) == {
        str(docs): 4,
        f"{docs}/api": 2,
        f"{docs}/api-old": 1,
        f"{docs}/api/v2": 1,
        f"{place}/notes": 1,
    }
    assert tree.count_metadata(values=2)[:2] == tree.count_metadata(values=9)[:2]
    (first, second) = [row for row in tree.count_metadata(values=2) if row.key == FOLDER]
    assert (first.documents, second.documents) == (4, 2)
    assert (first.distinct, first.keyed) == (5, 5)


def test_folders_that_tell_nothing_apart_are_not_counted(place: Path) -> None:
    with Index(place / "other", create=True, tokenizer=PIECES) as index:
        assert count(index) == {}
        index.add([place / "docs/api/v2"])
        assert count(index) == {}
        index.add([place / "notes"])
        # /docs, /docs/api and /docs/api/v2 have the same document.
        assert set(count(index)) == {f"{place}/docs/api/v2", f"{place}/notes"}


def test_a_known_state_is_not_read_again(tree: Index, place: Path) -> None:
    folders = Folders(tree.store)
    queries: list[str] = []
    query = tree.store.query
    tree.store.query = lambda sql, values=(): queries.append(sql) or query(sql, values)  # type: ignore[method-assign,func-returns-value]

    for _ in range(3):
        where = folders.expand({FOLDER: str(place / "notes")})

    assert where == {FOLDER: [str(place / "notes")]}
    assert sum("json_each" in sql for sql in queries) == 1
    assert folders.expand({"suffix": ".md"}) == {"suffix": ".md"}
    assert folders.expand(None) is None
