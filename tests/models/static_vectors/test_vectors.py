from pathlib import Path

import numpy as np
import pytest

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.errors import BundleError
from rejoinder.models.static_vectors import vectors as module
from rejoinder.models.static_vectors.vectors import (
    KIND,
    StaticVectors,
    load_vectors,
    quantise_rows,
    to_files,
)

MATRIX = np.array([[0, 0], [3, 4], [0, 2], [1, 0]], dtype=np.float32)


def make(vocabulary: list[str], *, are_pieces: bool) -> StaticVectors:
    return StaticVectors(vocabulary, *quantise_rows(MATRIX), are_pieces=are_pieces)


def test_a_word_is_the_mean_of_its_pieces_at_length_one() -> None:
    vectors = make(["[UNK]", "play", "##ing", "a"], are_pieces=True)

    embedded = vectors.embed(["play", "playing"])

    # (3, 4) / 5; ((3, 4) + (0, 2)) / 2 = (1.5, 3), over its length 3.354
    np.testing.assert_allclose(embedded, [[0.6, 0.8], [0.447, 0.894]], atol=0.005)


@pytest.mark.parametrize("are_pieces", [True, False])
def test_an_unknown_word_has_a_direction_of_its_own(are_pieces: bool) -> None:
    vectors = make(["[UNK]", "play", "##ing", "a"], are_pieces=are_pieces)

    once, again, other = vectors.embed(["zzz", "zzz", "yyy"])

    assert np.linalg.norm(once) == pytest.approx(1)
    np.testing.assert_array_equal(once, again)
    assert abs(float(once @ other)) < 0.99


def test_whole_words_are_not_split() -> None:
    vectors = make(["the", "play", "##ing", "a"], are_pieces=False)

    np.testing.assert_allclose(vectors.embed(["play"]), [[0.6, 0.8]], atol=0.005)
    assert not np.allclose(vectors.embed(["playing"]), [[0.447, 0.894]], atol=0.01)


def test_a_row_of_zeros_counts_as_unknown() -> None:
    vectors = make(["[PAD]", "[UNK]", "x", "y"], are_pieces=True)

    assert np.linalg.norm(vectors.embed(["[", "x"])[0]) == pytest.approx(1)
    assert np.isfinite(
        StaticVectors(["zero"], *quantise_rows(MATRIX[:1]), are_pieces=False).embed(["zero"])
    ).all()


def test_quantising_loses_less_than_half_a_step() -> None:
    matrix = np.random.default_rng(0).normal(size=(50, 16)).astype(np.float32)

    rows, scales = quantise_rows(matrix)

    restored = rows * scales.astype(np.float32)[:, None]
    steps = np.abs(matrix).max(axis=1, keepdims=True) / 127
    assert (np.abs(restored - matrix) < 0.6 * steps).all()
    assert rows.dtype == np.int8


def test_vectors_are_read_back_as_written(tmp_path: Path) -> None:
    vectors = make(["[UNK]", "play", "##ing", "ü"], are_pieces=True)
    folder = tmp_path / "vectors"
    write_bundle(folder, Manifest(KIND, {"are_pieces": True}), to_files(vectors))

    loaded = load_vectors(folder)

    words = ["play", "playing", "ü", "unheard"]
    np.testing.assert_array_equal(loaded.embed(words), vectors.embed(words))
    assert loaded.width == 2


def test_a_vocabulary_that_does_not_fit_is_named(tmp_path: Path) -> None:
    files = to_files(make(["[UNK]", "play", "##ing", "a"], are_pieces=True))
    write_bundle(
        tmp_path / "v", Manifest(KIND, {"are_pieces": True}), files | {"vocabulary.txt": b"one\n"}
    )

    with pytest.raises(BundleError, match="1 words but 4 vectors"):
        load_vectors(tmp_path / "v")


def test_many_words_have_the_vectors_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["river", "zzz", "rivers", "", "stone", "猫", "a"]
    vectors = load_vectors()
    expected = vectors.embed(words)

    monkeypatch.setattr(module, "AT_ONCE", 3)

    np.testing.assert_array_equal(vectors.embed(words), expected)
    assert vectors.embed([]).shape == (0, vectors.width)
