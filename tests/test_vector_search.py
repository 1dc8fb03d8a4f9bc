"""The benchmarks of vector search and of its codes, with few vectors."""

import numpy as np
from benchmarks.vector_codes import measure
from benchmarks.vector_search import Corpus, compare, resize

from tests.index.vectors.test_nearest import draw


def test_exact_and_own_search_are_measured() -> None:
    vectors = resize(draw(1_500, 64), 2_000)

    rows = {row["contender"]: row for row in compare(vectors, vectors[:20])}

    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert rows["exact float32, numpy"]["recall"] == 1
    assert rows["ours, two passes"]["recall"] >= 0.97
    assert rows["ours, two passes"]["rows"] == 2_000
    assert rows["ours, two passes"]["bytes_per_row"] < 100


def test_a_smaller_corpus_is_a_part() -> None:
    vectors = draw(50, 64)

    part = resize(vectors, 20)

    assert part.shape == (20, 64)
    assert (part[:, None] == vectors).all(axis=2).any(axis=1).all()


def test_int8_numbers_and_weighted_signs_find_the_nearest() -> None:
    vectors = draw(1_500, 64)

    rotated, unrotated = measure(Corpus("drawn", vectors, vectors[:20]))

    assert rotated["rotated"]
    assert not unrotated["rotated"]
    assert rotated["int8"] > 95
    assert 100 <= rotated["weighted"] < rotated["plain"] < 1_500
