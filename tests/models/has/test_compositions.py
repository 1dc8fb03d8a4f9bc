"""Attention straight from packed bits must equal the plain computation on ±1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.models.has.compositions import AttentionWeights, Hashed, pack, unpack
from rejoinder.models.kernel import Matrix
from rejoinder.models.sidecar import StoredRows, join_rows


def make(weights: AttentionWeights) -> Hashed:
    return Hashed(weights, weights.of_word.shape[1])


def make_weights(rng: np.random.Generator, width: int, attention_width: int) -> AttentionWeights:
    def draw(*shape: int) -> Matrix:
        return rng.normal(size=shape).astype(np.float32)

    scale = np.float32(width**-0.5)
    return AttentionWeights(
        draw(attention_width, width) * scale,
        draw(attention_width, width) * scale,
        draw(attention_width),
    )


def score_plainly(
    weights: AttentionWeights, question: Matrix, signs: Matrix
) -> tuple[float, float]:
    """Return the score, and the length of the mean it is measured with, in double precision."""
    of_word, of_question, of_hidden = (
        part.astype(np.float64)
        for part in (weights.of_word, weights.of_question, weights.of_hidden)
    )
    logits = np.array(
        [of_hidden @ np.tanh(of_word @ word + of_question @ question) for word in signs]
    )
    shares = np.exp(logits - logits.max())
    mean = (shares / shares.sum()) @ signs
    size = float(np.linalg.norm(mean))
    return float(mean @ question / (size * np.linalg.norm(question))), size


@pytest.mark.parametrize("compiled", [True, False])
@given(
    width=st.integers(8, 130) | st.sampled_from([384, 768, 1024]),
    attention_width=st.integers(1, 40),
    lengths=st.lists(st.integers(1, 6) | st.just(200), min_size=1, max_size=6),
    padding=st.integers(0, 9),
    seed=st.integers(0, 999),
)
def test_scores_equal_the_plain_computation(
    compiled: bool, width: int, attention_width: int, lengths: list[int], padding: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    weights = make_weights(rng, width, attention_width)
    question = rng.normal(size=width).astype(np.float32)
    states = [rng.normal(size=(length, width)).astype(np.float32) for length in lengths]
    attention = make(weights)
    if not compiled:
        attention._kernel = None

    # Rows stand anywhere in the data, with other bytes between the answers.
    row_bytes = -(-width // 8)
    packed = join_rows([pack(part) for part in states], row_bytes)
    gaps = [rng.integers(0, 256, padding, dtype=np.uint8) for _ in lengths]
    parts = [packed.take(np.array([at])).gather().ravel() for at in range(len(lengths))]
    data = np.concatenate([piece for pair in zip(gaps, parts, strict=True) for piece in pair])
    starts = packed.starts + padding * np.arange(1, len(lengths) + 1)
    found = attention.score(question, StoredRows(data, row_bytes, starts, packed.lengths))

    for score, part in zip(found.tolist(), states, strict=True):
        signs = np.where(part >= 0, 1.0, -1.0)
        expected, size = score_plainly(weights, question, signs)
        # A mean that nearly vanishes has a direction that no float can hold.
        assert score == pytest.approx(expected, abs=1e-4 if size > 1e-2 else 1e-2)


def test_a_score_does_not_depend_on_the_answers_around_it() -> None:
    rng = np.random.default_rng(0)
    weights = make_weights(rng, 384, 128)
    question = rng.normal(size=384).astype(np.float32)
    lengths = rng.integers(1, 60, 40).tolist()
    rows = [pack(rng.normal(size=(length, 384)).astype(np.float32)) for length in lengths]
    attention = make(weights)

    together = attention.score(question, join_rows(rows, 48))

    alone = [float(attention.score(question, join_rows([row], 48))[0]) for row in rows]
    assert together.tolist() == alone


def test_bits_are_signs_and_zero_is_positive() -> None:
    states = np.array([[0.0, -0.5, 2.0, -1e-9, 1e-9]], dtype=np.float32)

    rows = pack(states)

    assert rows.tolist() == [[0b10101]]
    assert unpack(rows, 5).tolist() == [[1, -1, 1, -1, 1]]


def test_a_question_without_direction_scores_nothing() -> None:
    weights = make_weights(np.random.default_rng(0), 16, 4)
    rows = join_rows([pack(np.ones((2, 16), np.float32))], 2)

    assert make(weights).score(np.zeros(16, np.float32), rows).tolist() == [0]


def test_words_that_cancel_out_score_nothing() -> None:
    weights = AttentionWeights(*(np.zeros(shape, np.float32) for shape in ((4, 16), (4, 16), 4)))
    opposite = np.concatenate([np.ones((1, 16)), -np.ones((1, 16))]).astype(np.float32)

    found = make(weights).score(np.ones(16, np.float32), join_rows([pack(opposite)], 2))

    assert found.tolist() == [0]


def test_no_answers_have_no_scores() -> None:
    weights = make_weights(np.random.default_rng(0), 16, 4)

    assert make(weights).score(np.ones(16, np.float32), join_rows([], 2)).tolist() == []


def test_more_bits_than_the_kernel_has_room_for_are_unpacked() -> None:
    rng = np.random.default_rng(0)
    weights = make_weights(rng, 1040, 3)
    states = rng.normal(size=(3, 1040)).astype(np.float32)
    question = rng.normal(size=1040).astype(np.float32)

    found = make(weights).score(question, join_rows([pack(states)], 130))

    expected, _ = score_plainly(weights, question, np.where(states >= 0, 1.0, -1.0))
    assert found[0] == pytest.approx(expected, abs=1e-4)
