import threading

import numpy as np

from rejoinder.models.kernel import Matrix
from rejoinder.models.ranker.word_table import WordTables
from rejoinder.models.static_vectors.vectors import StaticVectors, quantise_rows

WORDS = [f"w{place}" for place in range(200)]
SOURCE = StaticVectors(
    WORDS,
    *quantise_rows(np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)),
    are_pieces=False,
)


class Counted:
    """Doubles vectors, and remembers how many it was given."""

    def __init__(self) -> None:
        self.total = 0

    def __call__(self, vectors: Matrix, out: Matrix) -> None:
        self.total += len(vectors)
        out[:] = vectors * 2


def test_a_word_is_embedded_and_precomputed_once() -> None:
    precompute = Counted()
    tables = WordTables(SOURCE, precompute, 4)

    table, rows, lengths = tables.get_rows([["w1", "w2", "w1"], ["w2"]])
    first, second = rows[:3], rows[3:]
    tables.get_rows([["w2", "w1"]])

    assert precompute.total == 2
    assert lengths.tolist() == [3, 1]
    assert first.tolist() == [first[0], second[0], first[0]]
    np.testing.assert_array_equal(table.vectors[first], SOURCE.embed(["w1", "w2", "w1"]))
    np.testing.assert_array_equal(table.precomputed[first], 2 * SOURCE.embed(["w1", "w2", "w1"]))


def test_a_text_without_words_is_one_row_of_padding() -> None:
    table, rows, lengths = WordTables(SOURCE).get_rows([[]])

    assert (rows.tolist(), lengths.tolist()) == ([0], [1])
    assert table.vectors[0].tolist() == [0, 0, 0, 0]


def test_a_full_table_is_replaced_and_stays_readable() -> None:
    tables = WordTables(SOURCE, capacity=4)

    old, before, _ = tables.get_rows([["w1", "w2", "w3"]])
    new, after, _ = tables.get_rows([["w4", "w5"]])

    assert new is not old
    np.testing.assert_array_equal(old.vectors[before], SOURCE.embed(["w1", "w2", "w3"]))
    np.testing.assert_array_equal(new.vectors[after], SOURCE.embed(["w4", "w5"]))


def test_a_list_with_more_words_than_the_capacity_fits() -> None:
    table, rows, _ = WordTables(SOURCE, capacity=4).get_rows([WORDS[:50]])

    np.testing.assert_array_equal(table.vectors[rows], SOURCE.embed(WORDS[:50]))


def test_many_threads_see_complete_rows() -> None:
    tables = WordTables(SOURCE, Counted(), 4, capacity=40)
    wrong: list[str] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(200):
            words = [WORDS[at] for at in rng.integers(0, 200, 12)]
            table, rows, _ = tables.get_rows([words])
            if not np.array_equal(table.precomputed[rows], 2 * SOURCE.embed(words)):
                wrong.append(" ".join(words))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


PIECES = ["[PAD]", "[UNK]", "play", "##ing", "##er", "a", "."]
CUT = StaticVectors(
    PIECES,
    *quantise_rows(np.random.default_rng(1).normal(size=(7, 4)).astype(np.float32)),
    are_pieces=True,
)


def test_stored_pieces_and_text_have_the_same_rows() -> None:
    texts = ["playing a player.", "", "a . a", "playing"]
    stored = [CUT.encode(text) for text in texts]
    tables = WordTables(CUT, Counted(), 4)

    for _ in range(2):
        table, rows, lengths = tables.get_rows_of_tokens(
            ["a", "play"], [text or b"" for text in stored]
        )

        words = ["a", "play", "playing", "a", "player", ".", "", "a", ".", "a", "playing"]
        expected = CUT.embed(words)
        expected[6] = 0
        assert lengths.tolist() == [2, 4, 1, 3, 1]
        np.testing.assert_allclose(table.vectors[rows], expected, atol=1e-6)
        np.testing.assert_allclose(table.precomputed[rows], 2 * expected, atol=1e-6)


def test_some_texts_may_be_read_from_their_words() -> None:
    stored = [CUT.encode("playing a") or b"", b"not read", CUT.encode(".") or b"", b""]
    tables = WordTables(CUT, Counted(), 4)

    for _ in range(2):
        table, rows, lengths = tables.get_rows_of_tokens(
            ["a"], stored, {1: ["zebra", "a", "zebra"], 3: []}
        )

        words = ["a", "playing", "a", "zebra", "a", "zebra", ".", ""]
        expected = CUT.embed(words)
        expected[7] = 0
        assert lengths.tolist() == [1, 2, 3, 1, 1]
        np.testing.assert_allclose(table.vectors[rows], expected, atol=1e-6)


def test_pieces_with_an_unknown_one_cannot_be_read() -> None:
    known, unknown = CUT.encode("playing a"), CUT.encode("a zebra")
    assert known is not None
    assert unknown is not None

    assert CUT.can_read(known)
    assert not CUT.can_read(known + unknown)
    assert SOURCE.encode("w1") is None
    assert not SOURCE.can_read(known)
