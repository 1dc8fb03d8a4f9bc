"""An index of format 1, as rejoinder once wrote it, opens in the format of today."""

import sqlite3
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rejoinder.errors import StoreError
from rejoinder.index.feedback import add_marks, get_marks
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import Store
from rejoinder.index.sqlite.schema import FORMAT
from rejoinder.index.update import add_files
from rejoinder.types import Mark
from tests.index.conftest import PIECES

FORMAT_1 = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files(
    path BLOB PRIMARY KEY, size INTEGER, modified INTEGER, digest BLOB, metadata TEXT
) WITHOUT ROWID;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY AUTOINCREMENT, file BLOB, name TEXT, title TEXT,
    metadata TEXT, text BLOB, sentences INTEGER, generation INTEGER
);
CREATE INDEX documents_by_file ON documents(file);
CREATE INDEX documents_by_generation ON documents(generation);
CREATE TABLE sentences(
    document INTEGER, position INTEGER, start INTEGER, stop INTEGER, line INTEGER, page INTEGER,
    paragraph INTEGER, is_heading INTEGER, text TEXT, tokens BLOB,
    PRIMARY KEY(document, position)
) WITHOUT ROWID;
CREATE TABLE removed(document INTEGER PRIMARY KEY, generation INTEGER);
INSERT INTO meta VALUES ('format', 1), ('generation', 1);
INSERT INTO sentences VALUES (1, 0, 0, 11, 1, NULL, 0, 0, 'Tea is hot.', NULL);
INSERT INTO sentences VALUES (1, 1, 12, 23, 1, NULL, 0, 0, 'Bees dance.', NULL);
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    connection = sqlite3.connect(tmp_path / "index.sqlite")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.executescript(FORMAT_1)
    text = zlib.compress(b"Tea is hot. Bees dance.")
    connection.execute(
        "INSERT INTO documents VALUES (1, x'2f61', '/a', 'A', '{}', ?, 2, 1)", (text,)
    )
    connection.commit()
    connection.close()
    return tmp_path


def test_an_older_index_is_upgraded_when_it_is_opened(old: Path) -> None:
    with Index(old) as index:
        assert index.store.get("format") == FORMAT
        assert index.check() == []
        assert index.search("hot", 1)[0].candidate.text == "Tea is hot."
        assert add_marks(index.store, [Mark("is it hot?", "Tea is hot.", True)]) == []

    with Index(old) as again:
        assert len(get_marks(again.store)) == 1


def test_an_upgraded_index_can_be_added_to(old: Path, docs: Path) -> None:
    with Index(old) as index:
        list(add_files(index, [docs], PIECES))

        assert index.store.count()[0] == 3
        assert index.check() == []


def test_an_upgrade_that_fails_changes_nothing(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ("CREATE TABLE feedback(id);", "CREATE TABLE feedback(id);")
    with monkeypatch.context() as patch:
        patch.setattr("rejoinder.index.sqlite.database.UPGRADES", {1: broken})
        with pytest.raises(StoreError, match=r"feedback already exists; it is of format 1"):
            Index(old)

    with Index(old) as index:
        assert get_marks(index.store) == []


def test_where_nothing_can_be_written_it_is_said(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda path, mode: False)

    with pytest.raises(StoreError, match=r"readonly.*: open it once where it can be written"):
        Index(old)


def test_several_may_upgrade_at_once(old: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: Store(old / "index.sqlite"), range(4)))

    assert [store.get("format") for store in stores] == [FORMAT] * 4
    for store in stores:
        store.close()


def test_what_never_was_a_format_is_no_index(old: Path) -> None:
    with Index(old) as index:
        index.store.set("format", 0)

    with pytest.raises(StoreError, match="not an index"):
        Index(old)
