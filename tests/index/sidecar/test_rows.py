"""A row store returns the rows that were added, and reports damage."""

import json
import logging
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import StoreError
from rejoinder.index.sidecar import rows as row_store
from rejoinder.index.sidecar.rows import RowStore
from rejoinder.models.sidecar import Bytes, StoredRows

ROW_BYTES = 6


def make_rows(lengths: list[int], *, seed: int = 0, row_bytes: int = ROW_BYTES) -> list[Bytes]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 256, (length, row_bytes), dtype=np.uint8) for length in lengths]


def create(folder: Path, row_bytes: int = ROW_BYTES) -> RowStore:
    return RowStore.create(folder, bundle="b", hash_="h", row_bytes=row_bytes)


def find(store: RowStore, *places: tuple[int, int]) -> StoredRows:
    documents, positions = zip(*places, strict=True)
    return store.find(np.array(documents), np.array(positions))


def read(store: RowStore, number: int, position: int) -> Bytes:
    return find(store, (number, position)).gather()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "rows-h"
    store = create(place)
    with store.changing() as writer:
        writer.add(1, make_rows([3, 0, 2], seed=1))
        writer.add(7, make_rows([4], seed=7))
        writer.commit(5)
    return place


def test_added_rows_are_in_the_reopened_store(folder: Path) -> None:
    store = RowStore(folder)

    first, _, third = make_rows([3, 0, 2], seed=1)
    np.testing.assert_array_equal(read(store, 1, 0), first)
    np.testing.assert_array_equal(read(store, 1, 2), third)
    np.testing.assert_array_equal(read(store, 7, 0), make_rows([4], seed=7)[0])
    assert store.state.generation == 5
    assert store.list_documents() == [1, 7]


def test_sentences_that_were_not_added_have_no_rows(folder: Path) -> None:
    found = find(RowStore(folder), (1, 1), (1, 3), (2, 0), (99, 0), (-1, 0), (0, 0))

    assert found.lengths.tolist() == [0] * 6


@given(
    documents=st.lists(st.lists(st.integers(0, 9), max_size=5), min_size=1, max_size=5),
    row_bytes=st.integers(1, 17),
)
def test_any_documents_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, documents: list[list[int]], row_bytes: int
) -> None:
    place = tmp_path_factory.mktemp("store") / "rows"
    store = create(place, row_bytes)
    made = [
        make_rows(lengths, seed=at, row_bytes=row_bytes) for at, lengths in enumerate(documents)
    ]
    with store.changing() as writer:
        for number, answers in enumerate(made, start=1):
            writer.add(number, answers)
        writer.commit(1)

    store = RowStore(place)
    for number, answers in enumerate(made, start=1):
        for one, other in zip(store.read_block(number), answers, strict=True):
            np.testing.assert_array_equal(one, other)
        for position, answer in enumerate(answers):
            np.testing.assert_array_equal(read(store, number, position), answer)
    assert store.find_damage() == []


def test_a_reader_sees_commits(folder: Path) -> None:
    reader, writing = RowStore(folder), RowStore(folder)
    with writing.changing() as writer:
        writer.add(8, make_rows([2], seed=8))
        assert find(reader, (8, 0)).lengths.tolist() == [0]
        writer.remove(7)
        writer.commit(6)

    np.testing.assert_array_equal(read(reader, 8, 0), make_rows([2], seed=8)[0])
    assert find(reader, (7, 0)).lengths.tolist() == [0]
    assert reader.state.generation == 6


def test_a_reader_keeps_its_mapping_when_the_folder_is_deleted(folder: Path) -> None:
    store = RowStore(folder)
    folder.rename(folder.with_name("gone"))

    np.testing.assert_array_equal(read(store, 7, 0), make_rows([4], seed=7)[0])


def test_a_writer_appends_to_commits_made_since_it_opened(folder: Path) -> None:
    late = RowStore(folder)
    with RowStore(folder).changing() as writer:
        writer.add(8, make_rows([2], seed=8))
        writer.commit(6)

    with late.changing() as writer:
        writer.add(9, make_rows([1], seed=9))
        writer.commit()

    assert RowStore(folder).list_documents() == [1, 7, 8, 9]
    assert RowStore(folder).find_damage() == []
    assert late.state.generation == 6


def test_a_rewritten_store_is_visible_when_committed(folder: Path) -> None:
    reader, store = RowStore(folder), RowStore(folder)
    with store.rewriting() as writer:
        writer.add(7, store.read_block(7))
        assert reader.list_documents() == [1, 7]
        writer.commit(6)

    assert find(reader, (1, 0), (7, 0)).lengths.tolist() == [0, 4]
    assert RowStore(folder).list_documents() == [7]
    assert sorted(path.name for path in folder.iterdir()) == ["places-2", "rows-2", "state.json"]


def test_a_failed_rewrite_leaves_the_store_unchanged(folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    store = RowStore(folder)

    def fill_the_disk() -> None:
        with store.rewriting() as writer:
            writer.add(7, store.read_block(7))
            raise OSError(28, os.strerror(28))

    with pytest.raises(StoreError, match="No space left"):
        fill_the_disk()

    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_store_that_could_not_be_made_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    with monkeypatch.context() as full:
        full.setattr(row_store, "write_state", fail)
        with pytest.raises(StoreError, match="No space left"):
            create(tmp_path / "s")

    assert not (tmp_path / "s").exists()
    assert create(tmp_path / "s").list_documents() == []


def test_uncommitted_rows_are_not_visible(folder: Path) -> None:
    before = (folder / "rows-1").read_bytes()
    with RowStore(folder).changing() as writer:
        writer.add(8, make_rows([2]))
    assert len((folder / "rows-1").read_bytes()) > len(before)

    store = RowStore(folder)
    assert 8 not in store
    with store.changing() as writer:
        writer.add(9, make_rows([1], seed=9))
        writer.commit()

    assert store.list_documents() == [1, 7, 9]
    np.testing.assert_array_equal(read(store, 9, 0), make_rows([1], seed=9)[0])


def test_a_place_taken_by_another_document_is_ignored(folder: Path) -> None:
    # What a crash between the places and the state leaves behind.
    state = (folder / "state.json").read_bytes()
    with RowStore(folder).changing() as writer:
        writer.add(8, make_rows([2]))
        writer.commit(6)
    (folder / "state.json").write_bytes(state)
    store = RowStore(folder)
    with store.changing() as writer:
        writer.add(9, make_rows([2], seed=9))
        writer.commit(6)

    assert store.list_documents() == [1, 7, 9]
    assert find(store, (8, 0)).lengths.tolist() == [0]


def test_opening_reads_no_rows(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(rows: Bytes) -> int:
        raise AssertionError("rows were read")

    monkeypatch.setattr(row_store, "checksum_rows", refuse)

    assert RowStore(folder).state.generation == 5


def test_each_flipped_bit_of_the_state_is_detected(folder: Path) -> None:
    whole = (folder / "state.json").read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        (folder / "state.json").write_bytes(damaged)
        with pytest.raises(StoreError, match="corrupt"):
            RowStore(folder)


@pytest.mark.parametrize("place", range(16, 16 + 16 + 3 * 8))
def test_each_flipped_bit_of_a_header_is_detected(folder: Path, place: int) -> None:
    rows = bytearray((folder / "rows-1").read_bytes())
    rows[place] ^= 1
    (folder / "rows-1").write_bytes(rows)
    store = RowStore(folder)

    # The number says whose block it is: with another one, the document is not there.
    is_there = 1 in store
    assert is_there == (place >= 20)
    assert len(store.find_damage()) == is_there
    assert find(store, (1, 0), (7, 0)).lengths.tolist() == [0, 4]
    assert store.find_document(1) is None


@pytest.mark.parametrize(("name", "first"), [("rows-1", len(row_store.MAGIC)), ("places-1", 0)])
@pytest.mark.parametrize("bit", [0, 2, 7])
def test_each_flipped_bit_is_detected(
    folder: Path, name: str, first: int, bit: int, caplog: pytest.LogCaptureFixture
) -> None:
    whole = (folder / name).read_bytes()
    expected = [read(RowStore(folder), 1, position).tobytes() for position in (0, 2)]
    for place in range(first, len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << bit
        (folder / name).write_bytes(damaged)
        store = RowStore(folder)
        with caplog.at_level(logging.ERROR):
            for position, answer in zip((0, 2), expected, strict=True):
                found = find(store, (1, position))
                assert found.lengths[0] == 0 or found.gather().tobytes() == answer


def test_a_flipped_bit_is_reported_and_other_rows_are_readable(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = bytearray((folder / "rows-1").read_bytes())
    rows[-5] ^= 1  # in the last document
    (folder / "rows-1").write_bytes(rows)
    store = RowStore(folder)

    found = find(store, (1, 0), (7, 0), (7, 0))

    assert found.lengths.tolist() == [3, 0, 0]
    assert caplog.text.count("corrupt") == 1
    assert "compact" in caplog.text
    (problem,) = store.find_damage()
    assert "document 7" in problem


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("rows-1", b"rejoindr", "rows-1 is truncated"),
        ("rows-1", b"x" * 500, "rows begin with other bytes"),
        ("places-1", b"\0" * 56, "places-1 is truncated"),
        ("state.json", b"{", "state.json cannot be read"),
        ("state.json", b"[" * 100_000, "state.json cannot be read"),
        ("state.json", b"[]", "format None"),
    ],
)
def test_a_corrupt_store_is_refused(folder: Path, name: str, content: bytes, problem: str) -> None:
    (folder / name).write_bytes(content)

    with pytest.raises(StoreError, match=problem):
        RowStore(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": 9}, "format 9"),
        ({"row_bytes": 0}, "the checksum of state.json does not match"),
        ({"size": 10**25}, "the checksum of state.json does not match"),
        ({"bundle": None}, "the checksum of state.json does not match"),
        ({"sum": 0}, "the checksum of state.json does not match"),
    ],
)
def test_an_invalid_state_is_refused(folder: Path, change: dict[str, object], problem: str) -> None:
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(state | change))

    with pytest.raises(StoreError, match=problem):
        RowStore(folder)


def test_a_missing_file_is_refused(folder: Path) -> None:
    (folder / "rows-1").unlink()

    with pytest.raises(StoreError, match="rows-1 cannot be read"):
        RowStore(folder)


def test_a_full_disk_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = RowStore(folder)

    def fail(_: object) -> None:
        raise OSError(28, os.strerror(28))

    def add() -> None:
        with store.changing() as writer:
            writer.add(8, make_rows([2]))
            writer.commit(6)

    monkeypatch.setattr(row_store, "sync", fail)
    with pytest.raises(StoreError, match="No space left on device"):
        add()

    again = RowStore(folder)
    assert again.list_documents() == [1, 7]
    assert again.state.generation == 5


def test_a_store_takes_little_more_than_its_rows(tmp_path: Path) -> None:
    store = create(tmp_path / "s", 48)
    with store.changing() as writer:
        for number in range(1, 21):
            writer.add(number, make_rows([25] * 30, row_bytes=48))
        writer.commit(1)

    size = sum(path.stat().st_size for path in (tmp_path / "s").iterdir())
    floats = 20 * 30 * 25 * 384 * 4
    assert size <= floats / 32 * 1.05
