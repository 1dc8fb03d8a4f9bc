"""The vector store: appended, committed, rolled back, corrupt and truncated files."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rejoinder.errors import StoreError
from rejoinder.index.vectors import store as module
from rejoinder.index.vectors.store import VectorState, VectorStore, VectorWriter
from tests.index.vectors.test_nearest import Matrix, draw

WIDTH = 64
ALL = np.ones(1_000, dtype=np.bool_)


@contextmanager
def changing(store: VectorStore) -> Iterator[VectorWriter]:
    writer = VectorWriter(store)
    try:
        yield writer
    finally:
        writer.close()


@pytest.fixture
def vectors() -> Matrix:
    return draw(40, WIDTH)


@pytest.fixture
def store(tmp_path: Path, vectors: Matrix) -> VectorStore:
    made = VectorStore.create(tmp_path / "vectors-1", VectorState("bundle", "hash", WIDTH))
    with changing(made) as writer:
        for number in range(1, 5):
            own = vectors[10 * number - 10 : 10 * number]
            writer.add(number, range(10), own)
        writer.commit(3)
    return made


def find(store: VectorStore, question: Matrix, limit: int = 5) -> list[tuple[int, int]]:
    return list(store.search(question, limit, ALL).cosines)


def test_a_store_finds_what_is_nearest(store: VectorStore, vectors: Matrix) -> None:
    for row in (0, 17, 39):
        nearest = store.search(vectors[row], 10, ALL).cosines
        exact = np.argsort(-(vectors @ vectors[row]))[:3]
        assert list(nearest)[:3] == [(at // 10 + 1, at % 10) for at in exact.tolist()]
        assert next(iter(nearest.values())) == pytest.approx(1, abs=0.01)
        assert list(nearest.values()) == sorted(nearest.values(), reverse=True)
        assert all(score > 0 for score in nearest.values())


def test_equal_cosines_are_in_the_order_of_places(store: VectorStore, vectors: Matrix) -> None:
    with changing(store) as writer:
        writer.add(7, range(20), np.repeat(vectors[:1], 20, axis=0))
        writer.commit(4)

    assert find(store, vectors[0], 3) == [(1, 0), (7, 0), (7, 1)]
    assert find(store, vectors[0], 21)[1:] == [(7, at) for at in range(20)]


def test_additions_leave_earlier_rows_mapped(store: VectorStore, vectors: Matrix) -> None:
    mapped = store.mapped.first
    for number, generation in ((5, 4), (6, 5)):
        with changing(store) as writer:
            writer.add(number, [0], draw(10, WIDTH)[number : number + 1])
            writer.commit(generation)

    assert store.mapped.first is mapped
    assert find(store, draw(10, WIDTH)[6], 1) == [(6, 0)]
    assert find(store, vectors[0], 1) == [(1, 0)]


def test_many_additions_map_all_rows_again(store: VectorStore, vectors: Matrix) -> None:
    with changing(store) as writer:
        writer.add(5, range(10), vectors[:10])
        writer.commit(4)

    assert store.mapped.first is store.mapped.rows


def test_rows_of_another_file_are_mapped(store: VectorStore, vectors: Matrix) -> None:
    mapped = store.mapped
    copy = (store.folder / "rows").with_name("copy")
    copy.write_bytes((store.folder / "rows").read_bytes())
    copy.replace(store.folder / "rows")
    store.reload()

    assert not np.shares_memory(store.mapped.first, mapped.first)
    assert find(store, vectors[0], 1) == [(1, 0)]


@pytest.mark.parametrize("limit", [0, -1])
def test_nothing_is_found_where_nothing_is_asked(store: VectorStore, limit: int) -> None:
    question = np.ones(WIDTH, dtype=np.float32)

    assert find(store, question, limit) == []
    assert find(store, np.zeros_like(question)) == []
    assert store.search(question, 5, np.zeros(1, dtype=np.bool_)).cosines == {}


def test_documents_that_are_not_allowed_are_not_found(store: VectorStore, vectors: Matrix) -> None:
    allowed = np.array([False, False, True])

    found = store.search(vectors[0], 100, allowed).cosines

    assert found
    assert {number for number, _ in found} == {2}


def test_uncommitted_rows_are_overwritten(store: VectorStore, vectors: Matrix) -> None:
    with changing(store) as writer:
        writer.add(9, range(30), vectors[:30])
    assert store.state.rows == 40

    with changing(store) as writer:
        writer.add(5, [0], vectors[:1])
        writer.commit(4)

    reopened = VectorStore(store.folder)
    assert (reopened.state.rows, reopened.state.generation) == (41, 4)
    assert find(reopened, vectors[0])[:2] == [(1, 0), (5, 0)]
    assert reopened.find_damage() == []


def test_a_roll_back_drops_rows(store: VectorStore, vectors: Matrix) -> None:
    with changing(store) as writer:
        before = writer.rows
        writer.add(5, range(40), vectors)
        writer.roll_back(before)
        writer.add(6, [0], vectors[:1])
        writer.commit(4)

    assert find(store, vectors[0])[:2] == [(1, 0), (6, 0)]
    assert VectorStore(store.folder).find_damage() == []


def test_checksums_span_commits(
    store: VectorStore, vectors: Matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CHUNK", 16)
    made = VectorStore.create(store.folder.with_name("vectors-2"), VectorState("", "", WIDTH))
    with changing(made) as writer:
        for number, size in enumerate([3, 13, 1, 40, 7], start=1):
            writer.add(number, range(size), vectors[:size])
            writer.commit(number)

    reopened = VectorStore(made.folder)
    assert len(reopened.state.bits_checksums) == 4
    assert reopened.find_damage() == []
    flip(made.folder / "bits", WIDTH // 8 * 20)
    assert "bits" in reopened.find_damage()[0]


def test_dead_rows_are_counted(store: VectorStore) -> None:
    with changing(store) as writer:
        writer.remove([2, 4, 77])
        writer.commit(5)

    assert VectorStore(store.folder).state.dead == 20


def test_readers_follow_commits(store: VectorStore, vectors: Matrix) -> None:
    reader = VectorStore(store.folder)
    with changing(store) as writer:
        writer.add(9, [0], vectors[:1])
        writer.commit(4)
    assert (9, 0) not in find(reader, vectors[0])

    reader.refresh()

    assert (9, 0) in find(reader, vectors[0])


def flip(path: Path, at: int) -> None:
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.parametrize("name", ["bits", "places"])
def test_corrupt_bits_and_places_are_refused(
    store: VectorStore, vectors: Matrix, name: str
) -> None:
    flip(store.folder / name, 100)

    with pytest.raises(StoreError, match=f"the checksum of {name} does not match"):
        VectorStore(store.folder).search(vectors[0], 5, ALL)
    assert name in VectorStore(store.folder).find_damage()[0]


@pytest.mark.parametrize("at", [5, WIDTH + 3, WIDTH + 7])
def test_a_corrupt_row_is_left_out(store: VectorStore, vectors: Matrix, at: int) -> None:
    # A number, the sign and exponent of the scale, or the checksum.
    flip(store.folder / "rows", 3 * (WIDTH + 8) + at)
    damaged = VectorStore(store.folder)

    nearest = damaged.search(vectors[3], 40, ALL)

    assert (1, 3) not in nearest.cosines
    assert damaged.find_damage() == [f"{store.folder}: 1 rows are corrupt"]
    if at != WIDTH + 3:  # else the cosine may be negative
        assert nearest.corrupt == 1


@pytest.mark.parametrize("scale", [np.nan, np.inf])
def test_a_scale_that_is_not_finite_hides_no_other_row(
    store: VectorStore, vectors: Matrix, scale: float
) -> None:
    path = store.folder / "rows"
    raw = bytearray(path.read_bytes())
    raw[WIDTH : WIDTH + 4] = np.float32(scale).tobytes()
    path.write_bytes(raw)

    nearest = VectorStore(store.folder).search(vectors[3], 3, ALL)

    assert next(iter(nearest.cosines)) == (1, 3)
    assert nearest.corrupt <= 1


@pytest.mark.parametrize(
    "harm",
    [
        lambda folder: cut(folder / "bits", 10),
        lambda folder: cut(folder / "places", 10),
        lambda folder: cut(folder / "rows", 10),
        lambda folder: (folder / "rows").unlink(),
        lambda folder: cut(folder / "state.json", 10),
        lambda folder: (folder / "state.json").write_text("[]"),
        lambda folder: (folder / "state.json").write_text('{"format": 1, "width": "x"}'),
        lambda folder: flip(folder / "state.json", 30),
        lambda folder: (folder / "state.json").unlink(),
    ],
)
def test_damaged_files_are_refused(store: VectorStore, harm: Callable[[Path], object]) -> None:
    harm(store.folder)

    with pytest.raises(StoreError, match="vectors-1: corrupt"):
        VectorStore(store.folder)


def test_a_store_of_another_format_is_refused(
    store: VectorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FORMAT", 99)

    with pytest.raises(StoreError, match="it has format 1, not 99"):
        VectorStore(store.folder)
