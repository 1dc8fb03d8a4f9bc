import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from rejoinder.errors import InputError
from rejoinder.index import batch
from rejoinder.index.index import Index, get_cached_index
from rejoinder.index.report import FileEvent
from rejoinder.index.sqlite.database import FORMAT
from rejoinder.types import Document
from tests.systems import needs_pipes


def follow(index: Index, *paths: Path, **metadata: str) -> dict[str, str]:
    events = collect(index, *paths, metadata=metadata or None)
    return {Path(event.path).name: event.what for event in events}


def collect(
    index: Index, *paths: Path, metadata: Mapping[str, str] | None = None
) -> list[FileEvent]:
    events: list[FileEvent] = []
    index.add(paths, metadata=metadata, on_event=events.append)
    return events


def test_unchanged_files_are_not_read_again(index: Index, docs: Path) -> None:
    before = index.store.generation

    assert follow(index, docs) == {"bees.txt": "unchanged", "tea.md": "unchanged"}
    assert index.store.generation == before


def test_a_touched_file_of_the_same_content_is_not_read_again(index: Index, docs: Path) -> None:
    os.utime(docs / "tea.md", (1, 1))
    file = os.fsencode(docs / "tea.md")
    numbers = [item.id for item in index.store.get_documents()]

    assert follow(index, docs)["tea.md"] == "unchanged"
    assert [item.id for item in index.store.get_documents()] == numbers
    assert index.store.get_files([file])[file].modified == 1_000_000_000


def test_a_changed_file_replaces_its_sentences(index: Index, docs: Path) -> None:
    (docs / "tea.md").write_text("Coffee is always black.", encoding="utf-8")

    assert follow(index, docs)["tea.md"] == "changed"
    assert [item.candidate.text for item in index.search("tea coffee", 9)] == [
        "Coffee is always black."
    ]
    assert index.check() == []


def test_files_deleted_from_a_folder_are_removed(index: Index, docs: Path) -> None:
    (docs / "tea.md").unlink()

    assert follow(index, docs) == {"bees.txt": "unchanged", "tea.md": "removed"}
    assert index.search("hot", 9) == []
    (docs / "bees.txt").unlink()
    assert follow(index, docs) == {"bees.txt": "removed"}


def test_other_folders_are_left_alone(index: Index, docs: Path, tmp_path: Path) -> None:
    other = tmp_path / "docs-2"
    other.mkdir()
    (other / "a.txt").write_text("It rains.", encoding="utf-8")

    assert follow(index, other) == {"a.txt": "added"}
    assert index.store.count()[0] == 3


@needs_pipes
def test_unreadable_files_are_skipped_with_a_reason(index: Index, docs: Path) -> None:
    (docs / "bad.pdf").write_bytes(b"nothing")
    os.mkfifo(docs / "pipe.txt")
    (docs / "gone.txt").symlink_to(docs / "nowhere")
    (docs / "tea.md").write_bytes(os.urandom(5000) + b"\0")

    events = {Path(event.path).name: event for event in collect(index, docs)}

    assert events["bad.pdf"].reason.startswith("not a PDF that can be read")
    assert events["pipe.txt"].reason == "not a file"
    assert events["gone.txt"].reason == "No such file or directory"
    assert events["tea.md"].reason == "not text"
    assert index.search("hot", 9), "what was read before stays"
    assert index.check() == []


def test_metadata_can_be_given_and_changed(index: Index, docs: Path) -> None:
    assert follow(index, docs, team="red") == {"bees.txt": "changed", "tea.md": "changed"}
    assert follow(index, docs, team="red") == {"bees.txt": "unchanged", "tea.md": "unchanged"}
    assert index.search("hot", 1, where={"team": "red"})
    assert not index.search("hot", 1, where={"team": "blue"})


def test_metadata_stays_until_other_is_given(index: Index, docs: Path) -> None:
    (docs / "rows.jsonl").write_text('{"text": "Cats purr.", "team": "own"}', encoding="utf-8")
    follow(index, docs, team="red")

    assert set(follow(index, docs).values()) == {"unchanged"}
    (docs / "tea.md").write_text("Tea is always hot.", encoding="utf-8")
    assert follow(index, docs)["tea.md"] == "changed"
    assert len(index.search("hot purr", 9, where={"team": "red"})) == 2
    assert follow(index, docs, house="b")["rows.jsonl"] == "changed"
    assert not index.search("hot purr", 9, where={"team": "red"})
    assert index.search("purr", 9, where={"team": "own", "house": "b"})


def test_a_reserved_metadata_key_is_refused(index: Index, docs: Path) -> None:
    with pytest.raises(InputError, match="'suffix' is reserved for the suffix of the file"):
        follow(index, docs, suffix="x")
    with pytest.raises(InputError, match="'suffix' is reserved"):
        index.add_upload("a.md", docs / "tea.md", metadata={"suffix": "x"})
    with pytest.raises(InputError, match="'folder' is reserved for the folder of the file"):
        follow(index, docs, folder="x")


def test_files_are_acknowledged_in_batches_with_progress(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MAX_BATCH_SENTENCES", 3)
    for number in range(4):
        (docs / f"{number}.txt").write_text(
            "It is raining here. It is pouring there.", encoding="utf-8"
        )

    events = collect(index, docs)

    assert [(event.done, event.total) for event in events] == [(n, 6) for n in range(1, 7)]
    assert sum(event.sentences for event in events) == 8


def test_the_full_text_index_is_committed_now_and_then(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MAX_BATCH_SENTENCES", 0)
    monkeypatch.setattr("rejoinder.index.writer.MAX_UNCOMMITTED", 1)
    for number in range(3):
        (docs / f"{number}.txt").write_text(
            "It is raining here. It is pouring there.", encoding="utf-8"
        )

    def check(event: FileEvent) -> None:
        if event.what == "added":
            assert index._full_text.current.generation == index.store.generation

    index.add([docs], on_event=check)


def test_an_interrupted_add_keeps_what_was_acknowledged(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MAX_BATCH_SENTENCES", 0)
    (docs / "a.txt").write_text("Xylophones can ring loudly.", encoding="utf-8")
    (docs / "b.txt").write_text("Trumpets can blare loudly.", encoding="utf-8")

    def interrupt(event: FileEvent) -> None:
        assert event.what == "added"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.add([docs], on_event=interrupt)

    with Index(index.folder) as other:
        assert [item.candidate.text for item in other.search("xylophone trumpet", 9)] == [
            "Xylophones can ring loudly."
        ]
        assert other.check() == []


def test_removing_takes_files_and_folders(index: Index, docs: Path) -> None:
    events: list[FileEvent] = []
    index.remove([docs / "tea.md"], on_event=events.append)
    assert events == [FileEvent("removed", str(docs / "tea.md"), 1, done=1, total=1)]
    assert index.remove([docs]).files == {"removed": 1}
    assert index.store.count() == (0, 0)
    assert index.check() == []


def test_nothing_to_add_or_remove_is_an_error(index: Index, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(InputError, match="nothing to read in"):
        index.add([tmp_path / "empty"])
    with pytest.raises(InputError, match="no such file or folder"):
        index.add([tmp_path / "nowhere"])
    with pytest.raises(InputError, match="nothing in the index is from"):
        index.remove([tmp_path / "empty"])


def test_strange_names_are_kept_and_removed(index: Index, docs: Path) -> None:
    strange = Path(os.fsdecode(os.fsencode(docs) + b"/\xff\x1b\n.txt"))
    strange.write_text("Xylophones can ring loudly.", encoding="utf-8")
    index.add([docs])

    found = index.search("xylophone", 1)[0].candidate

    assert found.document
    assert found.document.id.endswith("\\xff\\x1b\\n.txt")
    index.remove([strange])
    assert index.search("xylophone", 1) == []


def test_the_cache_has_a_folder_for_each_set_of_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = get_cached_index([tmp_path]), get_cached_index([tmp_path / "a", tmp_path])

    assert one != other
    assert other == get_cached_index([tmp_path, tmp_path / "a", tmp_path])
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (
        get_cached_index([tmp_path]).parent
        == tmp_path / ".cache" / "rejoinder" / f"indexes-{FORMAT}"
    )


def test_an_upload_has_a_name_of_its_own(index: Index, tmp_path: Path) -> None:
    spare = tmp_path / "spare.csv"
    spare.write_text("id,text\na,Cats purr.\nb,Dogs bark.\n", encoding="utf-8")

    event = index.add_upload("pets.csv", spare, metadata={"team": "red"})
    spare.unlink()

    assert (event.what, event.path, event.documents) == ("added", "pets.csv", 2)
    (hit,) = index.search("do cats purr", 1, where={"team": "red"})
    assert hit.candidate.document is not None
    assert hit.candidate.document.id == "uploaded:pets.csv#a"
    assert index.check() == []


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".jsonl", '{"id": "a", "text": "Cats purr.", "folder": "/etc", "suffix": ".pdf"}'),
        (".csv", "id,text,folder,suffix\na,Cats purr.,/etc,.pdf\n"),
    ],
)
def test_a_row_cannot_claim_another_folder_or_type(
    index: Index, tmp_path: Path, suffix: str, content: str
) -> None:
    folder = tmp_path / "pets"
    folder.mkdir()
    file = folder / f"pets{suffix}"
    file.write_text(content, encoding="utf-8")

    index.add_upload(f"shelf/pets{suffix}", file)
    index.add([folder])

    documents = {item.name: item.metadata for item in index.store.get_documents()}
    assert documents[f"uploaded:shelf/pets{suffix}#a"] == {
        "suffix": suffix,
        "folder": "uploaded:shelf",
    }
    assert documents[f"{file}#a"] == {"suffix": suffix, "folder": str(folder)}


def test_a_document_is_removed_alone_and_its_file_with_the_last(
    index: Index, tmp_path: Path
) -> None:
    spare = tmp_path / "spare.csv"
    spare.write_text("id,text\na,Cats purr.\nb,Dogs bark.\n", encoding="utf-8")
    index.add_upload("pets.csv", spare)
    rows, total = index.store.list_documents(searchable=9, limit=10, contains="PETS")
    first, second = (row.id for row in rows)

    assert index.remove_document(first) == "uploaded:pets.csv#a"
    assert total == 2
    assert index.search("cats", 1) == []
    assert len(index.search("dogs", 1)) == 1
    assert index.add_upload("pets.csv", spare).what == "unchanged"
    assert index.remove_document(second) == "uploaded:pets.csv#b"
    assert index.remove_document(second) is None
    assert index.add_upload("pets.csv", spare).what == "added"
    assert index.check() == []


@pytest.mark.parametrize(
    "name",
    ["/etc/tea.md", "../tea.md", "a/../../tea.md", "..\\tea.md", "C:/tea.md", "a//b.md", " "],
)
def test_an_upload_cannot_claim_a_path_outside(index: Index, tmp_path: Path, name: str) -> None:
    (tmp_path / "spare.md").write_text("Tea is hot.", encoding="utf-8")
    before = index.count()

    with pytest.raises(InputError, match="is not the name of an upload"):
        index.add_upload(name, tmp_path / "spare.md")

    assert index.count() == before


def test_an_upload_does_not_replace_a_document_of_its_name(index: Index, tmp_path: Path) -> None:
    (tmp_path / "spare.md").write_text("Tea is hot.", encoding="utf-8")
    index.add_documents([Document("tea.md", text="Tea is cold.")])

    index.add_upload("tea.md", tmp_path / "spare.md")

    names = [document.name for document in index.store.get_documents()]
    assert {"tea.md", "uploaded:tea.md"} <= set(names)


def test_an_unreadable_upload_is_skipped_and_keeps_the_earlier_one(
    index: Index, tmp_path: Path
) -> None:
    spare = tmp_path / "spare.pdf"
    spare.write_bytes(b"no PDF")
    before = index.store.count()

    event = index.add_upload("a.pdf", spare)

    assert event.what == "skipped"
    assert event.reason
    assert str(tmp_path) not in event.reason
    assert index.store.count() == before
    assert index.add_upload("a.exe", tmp_path / "a.exe").what == "skipped"


def test_the_list_of_documents_comes_in_pages(index: Index) -> None:
    listing = partial(index.store.list_documents, searchable=index.searchable_generation)
    (first,), total = listing(limit=1)
    (second,), _ = listing(limit=5, after=first.id)
    (waiting,), _ = index.store.list_documents(searchable=0, limit=1)

    assert total == 2
    assert {first.title, second.title} == {"Green tea", "bees"}
    assert first.bytes > 0
    assert (first.state, second.state, waiting.state) == ("ready", "ready", "waiting")
    assert listing(limit=5, contains="%") == ([], 0)
