import threading

import numpy as np

from rejoinder.runtime.networks.pairs import Matrix
from rejoinder.runtime.static_vectors import StaticVectors, quantise
from rejoinder.runtime.word_table import WordTables

WORDS = [f"w{place}" for place in range(200)]
SOURCE = StaticVectors(
    WORDS,
    *quantise(np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)),
    are_pieces=False,
)


class Counted:
    """Doubles vectors, and remembers how many it was given."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, vectors: Matrix) -> Matrix:
        self.total += len(vectors)
        return vectors * 2


def test_a_word_is_embedded_and_derived_once() -> None:
    derive = Counted()
    tables = WordTables(SOURCE, derive=derive, derived_width=4)

    table, (first, second) = tables.look_up([["w1", "w2", "w1"], ["w2"]])
    tables.look_up([["w2", "w1"]])

    assert derive.total == 2
    assert first.tolist() == [first[0], second[0], first[0]]
    np.testing.assert_array_equal(table.vectors[first], SOURCE.embed(["w1", "w2", "w1"]))
    np.testing.assert_array_equal(table.derived[first], 2 * SOURCE.embed(["w1", "w2", "w1"]))


def test_a_text_without_words_is_the_row_of_no_word() -> None:
    table, (rows,) = WordTables(SOURCE).look_up([[]])

    assert rows.tolist() == [0]
    assert table.vectors[0].tolist() == [0, 0, 0, 0]


def test_a_full_table_gives_way_to_a_new_one_and_stays_readable() -> None:
    tables = WordTables(SOURCE, capacity=4)

    old, (before,) = tables.look_up([["w1", "w2", "w3"]])
    new, (after,) = tables.look_up([["w4", "w5"]])

    assert new is not old
    np.testing.assert_array_equal(old.vectors[before], SOURCE.embed(["w1", "w2", "w3"]))
    np.testing.assert_array_equal(new.vectors[after], SOURCE.embed(["w4", "w5"]))


def test_a_list_of_more_words_than_the_bound_still_fits() -> None:
    table, (rows,) = WordTables(SOURCE, capacity=4).look_up([WORDS[:50]])

    np.testing.assert_array_equal(table.vectors[rows], SOURCE.embed(WORDS[:50]))


def test_many_threads_see_complete_rows() -> None:
    tables = WordTables(SOURCE, derive=lambda vectors: vectors * 2, derived_width=4, capacity=40)
    wrong: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            words = [WORDS[at] for at in rng.integers(0, 200, 12)]
            table, (rows,) = tables.look_up([words])
            if not np.array_equal(table.derived[rows], 2 * SOURCE.embed(words)):
                wrong.append(" ".join(words))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
