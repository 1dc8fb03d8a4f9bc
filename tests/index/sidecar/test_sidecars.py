"""Sidecars follow their index through crashes, restored backups and other bundles."""

import logging
import os
from pathlib import Path

import pytest
from tests.index.conftest import PIECES
from tests.index.digests import Digests

from rejoinder.errors import StoreError
from rejoinder.index.index import Index
from rejoinder.index.sidecar import rows as row_store
from rejoinder.index.sidecar.rows import RowStore


@pytest.fixture
def maker() -> Digests:
    return Digests()


@pytest.fixture
def stored(index: Index, maker: Digests) -> Index:
    index.store_sidecar(maker)
    maker.made.clear()
    return index


def get_store(index: Index) -> RowStore:
    (folder,) = index.sidecars.list_folders()
    return RowStore(folder)


def get_rows(index: Index) -> Path:
    store = get_store(index)
    return store.folder / store.state.rows


def fail(_: object) -> None:
    raise OSError(28, os.strerror(28))


def add_snow(index: Index, docs: Path) -> None:
    (docs / "snow.txt").write_text("Snow is cold.", encoding="utf-8")
    index.add([docs])


def test_stored_rows_are_those_of_the_encoder(stored: Index, maker: Digests) -> None:
    found = stored.open_sidecar(maker)

    assert found is not None
    for document in stored.store.get_documents():
        made = stored.sidecars.encode(maker, document)
        kept = found.store.find_document(document.id)
        assert kept is not None
        assert kept.tolist() == [rows[0].tolist() for rows in made]


def test_nothing_is_stored_by_default(index: Index, maker: Digests) -> None:
    assert index.open_sidecar(maker) is None
    assert index.check() == []


def test_opening_encodes_missing_documents_only(stored: Index, maker: Digests, docs: Path) -> None:
    (docs / "bees.txt").unlink()
    add_snow(stored, docs)
    behind = get_store(stored)
    assert behind.state.generation < stored.store.generation
    assert len(behind.list_documents()) == 1  # bees are forgotten at once
    assert any("1 documents are missing" in problem for problem in stored.check())

    found = stored.open_sidecar(maker)

    assert found is not None
    assert found.store.state.generation == stored.store.generation
    assert [Path(name).name for name in maker.made] == ["snow.txt"]
    assert stored.check() == []
    assert stored.store.get_removed(after=0) == []


def test_removing_needs_no_bundle(stored: Index, docs: Path) -> None:
    stored.remove([docs / "bees.txt"])

    store = get_store(stored)
    assert len(store.list_documents()) == 1
    assert store.state.generation == stored.store.generation


def test_removed_numbers_are_kept_until_rows_have_followed(
    stored: Index, maker: Digests, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(row_store, "sync", fail)
        stored.remove([docs / "bees.txt"])
        assert len(stored.store.get_removed(after=0)) == 1

    stored.open_sidecar(maker)
    assert len(get_store(stored).list_documents()) == 1


def test_an_interruption_loses_uncommitted_rows_only(
    index: Index, maker: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rejoinder.index.sidecar.sidecars.MAX_UNCOMMITTED", 0)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.store_sidecar(maker, stop)
    assert len(get_store(index).list_documents()) == 1

    index.store_sidecar(maker)

    assert len(maker.made) == len(set(maker.made)) == 2
    assert index.check() == []


def test_a_full_disk_is_named_and_nothing_is_lost(
    index: Index, maker: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        full.setattr(row_store, "sync", fail)
        with pytest.raises(StoreError, match="No space left on device"):
            index.store_sidecar(maker)

    index.store_sidecar(maker)
    assert index.check() == []


def test_rows_of_another_bundle_are_named_and_give_way(stored: Index) -> None:
    other = Digests("other")

    with pytest.raises(StoreError, match=r"made by another bundle.*--sidecar other"):
        stored.open_sidecar(other)
    stored.store_sidecar(other)

    assert get_store(stored).state.hash == "other"
    assert stored.check() == []


def test_rows_in_the_folder_of_another_bundle_are_not_taken_for_its_own(
    stored: Index, caplog: pytest.LogCaptureFixture
) -> None:
    folder = get_store(stored).folder
    folder.rename(folder.with_name("digests-other"))
    other = Digests("other")

    with pytest.raises(StoreError, match="made by another bundle"):
        stored.open_sidecar(other)
    stored.store_sidecar(other)

    assert "made by another bundle" in caplog.text
    assert len(other.made) == 2
    assert stored.check() == []


def test_a_corrupt_store_of_another_bundle_is_named_too(stored: Index) -> None:
    (get_store(stored).folder / "state.json").write_text("{")

    with pytest.raises(StoreError, match=r"corrupt.*--sidecar other"):
        stored.open_sidecar(Digests("other"))


def test_an_earlier_copy_of_the_index_gets_none_of_the_later_rows(
    tmp_path: Path, docs: Path, maker: Digests
) -> None:
    folder, copy = tmp_path / "restored", tmp_path / "copy.sqlite"
    with Index(folder, create=True, tokenizer=PIECES) as index:
        index.add([docs])
        index.store_sidecar(maker)
    copy.write_bytes((folder / "index.sqlite").read_bytes())
    with Index(folder, tokenizer=PIECES) as index:
        add_snow(index, docs)
        index.store_sidecar(maker)
    (folder / "index.sqlite").write_bytes(copy.read_bytes())
    maker.made.clear()

    with Index(folder, tokenizer=PIECES) as index:
        (docs / "snow.txt").write_text("Rain is wet. It rained.", encoding="utf-8")
        index.add([docs])
        found = index.open_sidecar(maker)

        assert found is not None
        assert [Path(name).name for name in maker.made] == ["snow.txt"]
        for document in index.store.get_documents():
            made = index.sidecars.encode(maker, document)
            kept = found.store.find_document(document.id)
            assert kept is not None
            assert kept.tolist() == [rows[0].tolist() for rows in made]


def test_rows_committed_by_another_before_the_lock_are_kept(
    stored: Index, maker: Digests, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_snow(stored, docs)
    opened = stored.sidecars.open

    def open_late(given: Digests) -> RowStore | None:
        found = opened(given)
        stored.store_sidecar(maker)
        return found

    monkeypatch.setattr(stored.sidecars, "open", open_late)
    found = stored.open_sidecar(maker)

    assert found is not None
    assert len(maker.made) == 1
    assert stored.check() == []


@pytest.mark.parametrize("kept", [8, 16])
def test_lost_places_are_rebuilt_by_storing_again(stored: Index, maker: Digests, kept: int) -> None:
    store = get_store(stored)
    places = store.folder / store.state.places
    whole = places.read_bytes()
    places.write_bytes(whole[:kept] + b"\0" * (len(whole) - kept))
    assert any("missing" in problem for problem in stored.check())

    stored.store_sidecar(maker)

    assert len(maker.made) == (2 if kept == 8 else 1)
    assert stored.check() == []


def test_a_corrupt_store_is_named_and_rebuilt(
    stored: Index, maker: Digests, caplog: pytest.LogCaptureFixture
) -> None:
    (get_store(stored).folder / "state.json").write_text("{")
    with pytest.raises(StoreError, match=r"corrupt.*rebuild it with .*--sidecar digests"):
        stored.open_sidecar(maker)

    stored.store_sidecar(maker)

    assert "corrupt" in caplog.text
    assert stored.check() == []


def test_a_flipped_bit_is_repaired_by_compacting(stored: Index, maker: Digests) -> None:
    rows = get_rows(stored)
    damaged = bytearray(rows.read_bytes())
    damaged[-10] ^= 1
    rows.write_bytes(damaged)
    (problem,) = stored.check()
    assert "corrupt" in problem

    stored.compact()
    stored.store_sidecar(maker)

    assert len(maker.made) == 1  # the other document's rows were kept
    assert stored.check() == []


def test_compacting_takes_removed_rows_off_the_disk(stored: Index, docs: Path) -> None:
    before = (get_rows(stored)).stat().st_size
    stored.remove([docs / "bees.txt"])

    stored.compact()

    assert (get_rows(stored)).stat().st_size < before
    assert stored.check() == []


def test_a_failed_compaction_keeps_the_rows(
    stored: Index, docs: Path, maker: Digests, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored.remove([docs / "bees.txt"])
    with monkeypatch.context() as full:
        full.setattr(row_store, "sync", fail)
        with pytest.raises(StoreError, match="No space left on device"):
            stored.compact()

    store = get_store(stored)
    assert len(store.list_documents()) == 1
    assert len(list(store.folder.iterdir())) == 3
    stored.open_sidecar(maker)
    assert maker.made == []


def test_a_question_that_waits_for_encoding_logs_why(
    stored: Index, maker: Digests, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add_snow(stored, docs)

    stored.open_sidecar(maker)
    stored.open_sidecar(maker)

    assert [record.message.split(": ")[1] for record in caplog.records] == [
        "1 documents that it lacks are stored first"
    ]


def test_a_reader_is_not_blocked_by_a_writer(
    stored: Index, maker: Digests, docs: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add_snow(stored, docs)
    with stored.writing(), caplog.at_level(logging.INFO):
        assert stored.open_sidecar(maker) is not None

    assert "read as it is" in caplog.text
