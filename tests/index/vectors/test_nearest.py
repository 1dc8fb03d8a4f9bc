"""Codes and nearest neighbours: the kernel and numpy against exact cosines."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder.index.vectors import codes, nearest
from rejoinder.index.vectors.codes import encode_question, encode_vectors, get_rotation
from rejoinder.index.vectors.nearest import choose_rows, score_rows
from rejoinder.index.vectors.store import _to_rows
from rejoinder.models.kernel import Kernel, load_kernel, load_library

Matrix = NDArray[np.float32]


def draw(count: int, width: int, seed: int = 0) -> Matrix:
    """Return vectors of length 1 in clusters, with a common direction, as encoders make them."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((count // 20 + 1, width))
    rows = centres[rng.integers(0, len(centres), count)] + rng.standard_normal((count, width))
    rows = rows + 2 * np.linspace(-1, 1, width)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows, dtype=np.float32)


@pytest.fixture(params=["kernel", "numpy"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kernel | None:
    own = load_kernel() if request.param == "kernel" else None
    if request.param == "kernel" and own is None:
        pytest.skip("the kernel is not built")
    monkeypatch.setattr(nearest, "load_kernel", lambda: own)
    return own


def make_places(count: int, per_document: int = 10) -> NDArray[np.uint32]:
    numbers = np.arange(count) // per_document + 1
    return np.column_stack([numbers, np.arange(count) % per_document]).astype("<u4")


@pytest.mark.parametrize("width", [64, 256, 384, 768])
def test_a_rotation_keeps_dot_products(width: int) -> None:
    vectors = draw(30, width)
    rotated = get_rotation(width)(vectors)

    assert np.allclose(rotated @ rotated.T, vectors @ vectors.T, atol=1e-5)
    assert not np.allclose(rotated, vectors, atol=0.1)


@pytest.mark.parametrize("width", [64, 256, 384])
def test_rows_are_scored_by_their_cosines(kernel: Kernel | None, width: int) -> None:
    vectors, question = draw(200, width), draw(1, width, seed=1)[0]
    chosen = np.array([3, 7, 150])

    scores = score_rows(_to_rows(encode_vectors(vectors)), chosen, encode_question(question))

    assert np.allclose(scores, vectors[chosen] @ question, atol=3e-3)


@pytest.mark.parametrize("width", [256, 384])
def test_the_nearest_rows_are_chosen(kernel: Kernel | None, width: int) -> None:
    vectors = draw(20_000, width)
    questions = vectors[:1_000:100] + 0.5 * draw(10, width, seed=1)
    bits = encode_vectors(vectors).bits.view("<u8")
    allowed = np.ones(2_001, dtype=np.bool_)
    found = 0
    for question in questions:
        exact = np.argsort(-(vectors @ question))[:10]
        rows = choose_rows(bits, make_places(20_000), allowed, encode_question(question), 100)
        assert rows.tolist() == sorted(set(rows.tolist()))
        assert len(rows) <= 7_500
        found += len(np.intersect1d(exact, rows))

    assert found >= 99


def test_kernel_and_numpy_choose_the_same_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    if load_kernel() is None:
        pytest.skip("the kernel is not built")
    vectors = draw(20_000, 128)
    vectors[2_000:12_000] = vectors[0]  # many of the same distance
    bits, places = encode_vectors(vectors).bits.view("<u8"), make_places(20_000)
    rng = np.random.default_rng(0)
    allowed = rng.random(1_600) < 0.8  # the last documents are unknown
    question = encode_question(vectors[0])

    compiled = choose_rows(bits, places, allowed, question, 100)
    monkeypatch.setattr(nearest, "load_kernel", lambda: None)
    plain = choose_rows(bits, places, allowed, question, 100)

    assert compiled.tolist() == plain.tolist()
    assert len(plain) == 5 * 1414 + 1
    assert allowed[places[plain, 0]].all()


@pytest.mark.parametrize("limit", [1, 100, 10**9])
@pytest.mark.parametrize("threads", [2, 3, 7])
def test_parts_on_threads_choose_the_same_rows(limit: int, threads: int) -> None:
    if load_kernel() is None:
        pytest.skip("the kernel is not built")
    vectors = draw(20_000, 128)
    vectors[2_000:12_000] = vectors[0]  # of the same distance, in several parts
    bits, places = encode_vectors(vectors).bits.view("<u8"), make_places(20_000)
    allowed = np.random.default_rng(0).random(1_600) < 0.8
    for vector in (vectors[0], draw(1, 128, seed=2)[0]):
        question = encode_question(vector)

        parts = choose_rows(bits, places, allowed, question, limit, threads=threads)

        whole = choose_rows(bits, places, allowed, question, limit, threads=1)
        np.testing.assert_array_equal(parts, whole)


@pytest.mark.parametrize(("cores", "rows", "expected"), [(2, 600, 1), (4, 600, 3), (4, 250, 2)])
def test_large_stores_are_divided_over_all_cores_but_one(
    cores: int, rows: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = load_kernel()
    if kernel is None:
        pytest.skip("the kernel is not built")
    parts = []

    class Counted(Kernel):
        def _compare_rows(self, bits: NDArray[np.uint64], *others: Any) -> NDArray[np.uint16]:
            parts.append(len(bits))
            return super()._compare_rows(bits, *others)

    library = load_library()
    assert library
    monkeypatch.setattr(nearest, "load_kernel", lambda: Counted(library))
    monkeypatch.setattr(nearest, "count_cores", lambda: cores)
    monkeypatch.setattr(nearest, "PART", 100)
    bits = encode_vectors(draw(rows, 64)).bits.view("<u8")

    choose_rows(bits, make_places(rows), np.ones(1, np.bool_), encode_question(draw(1, 64)[0]), 5)

    assert len(parts) == expected
    assert sum(parts) == rows


def test_all_rows_of_few_documents_are_chosen(kernel: Kernel | None) -> None:
    vectors = draw(5_000, 64)
    bits, places = encode_vectors(vectors).bits.view("<u8"), make_places(5_000)
    allowed = np.zeros(501, dtype=np.bool_)
    allowed[[7, 300]] = True

    rows = choose_rows(bits, places, allowed, encode_question(vectors[0]), 10)

    assert np.unique(places[rows, 0]).tolist() == [7, 300]
    assert len(rows) == 20


def test_vectors_that_are_not_finite_count_as_zeros() -> None:
    vectors = draw(4, 64)
    vectors[1] = 0
    vectors[2, 5] = np.nan
    vectors[3, 5] = np.inf

    made = encode_vectors(vectors)

    assert made.scales.tolist()[1:] == [0, 0, 0]
    assert not made.numbers[1:].any()
    assert made.scales[0] * np.linalg.norm(made.numbers[0].astype(float)) == pytest.approx(1)


def test_bits_do_not_depend_on_the_batch() -> None:
    vectors = draw(50, 256)
    alone = [encode_vectors(vectors[at : at + 1]).bits for at in range(50)]

    assert encode_vectors(vectors).bits.tobytes() == b"".join(row.tobytes() for row in alone)


def test_weights_use_all_planes() -> None:
    question = encode_question(draw(1, 256)[0])
    weights = sum(
        np.unpackbits(plane.view(np.uint8)).astype(int) << at
        for at, plane in enumerate(question.planes[1:])
    )

    assert np.max(weights) == codes.MAX_WEIGHT
    assert np.min(weights) == 0
