"""BERT's encoder in the compiled kernel must agree with its formula."""

import ctypes
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from rejoinder.models.kernel import Matrix, load_library
from rejoinder.models.transformer_kernel import (
    EncoderWeights,
    JoinedTexts,
    KernelEncoder,
    LayerWeights,
    LinearWeights,
    has_transformer,
    pack_encoder,
)

WIDTH, INNER, HEADS, LAYERS, PIECES, POSITIONS = 64, 128, 4, 2, 50, 200
EPSILON = 1e-12


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    loaded = load_library()
    if loaded is None or not has_transformer(loaded):
        pytest.skip("the kernel was not built, or this processor has no AVX-512 VNNI")
    return loaded


@pytest.fixture(scope="module")
def encoder(library: ctypes.CDLL) -> KernelEncoder:
    return KernelEncoder(library, make_weights())


def make_weights(seed: int = 0, *, heads: int = HEADS, types: int = 2) -> EncoderWeights:
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> Matrix:
        return rng.normal(size=shape).astype(np.float32)

    def draw_linear(depth: int, columns: int) -> LinearWeights:
        whole = rng.integers(-127, 128, (depth, columns)).astype(np.int8)
        scales = (0.012 + 0.004 * rng.random(columns)).astype(np.float32) / math.sqrt(depth)
        return LinearWeights(whole, scales.astype(np.float32), 0.1 * draw(columns))

    def draw_norm() -> Matrix:
        return np.stack([1 + 0.1 * draw(WIDTH), 0.1 * draw(WIDTH)])

    return EncoderWeights(
        pieces=rng.integers(-127, 128, (PIECES, WIDTH)).astype(np.int8),
        piece_scales=np.full(PIECES, 0.01, dtype=np.float32),
        types=0.1 * draw(types, WIDTH),
        positions=0.1 * draw(POSITIONS, WIDTH),
        norm=draw_norm(),
        layers=[
            LayerWeights(
                draw_linear(WIDTH, 3 * WIDTH),
                draw_linear(WIDTH, WIDTH),
                draw_linear(WIDTH, INNER),
                draw_linear(INNER, WIDTH),
                draw_norm(),
                draw_norm(),
            )
            for _ in range(LAYERS)
        ],
        heads=heads,
        epsilon=EPSILON,
    )


def make_texts(lengths: list[int], seed: int = 0) -> JoinedTexts:
    rng = np.random.default_rng(seed)
    tokens = sum(lengths)
    return JoinedTexts(
        rng.integers(0, PIECES, tokens), rng.integers(0, 2, tokens), np.array(lengths)
    )


def split(texts: JoinedTexts) -> list[JoinedTexts]:
    return [
        JoinedTexts(texts.ids[at : at + length], texts.kinds[at : at + length], np.array([length]))
        for at, length in zip(texts.starts, texts.lengths, strict=True)
    ]


def compute(weights: EncoderWeights, texts: JoinedTexts) -> NDArray[np.float64]:
    """Compute one text by the formula: int8 weights, but states that are not quantised."""

    def normalise(x: NDArray[np.float64], norm: Matrix) -> NDArray[np.float64]:
        centred = x - x.mean(axis=1, keepdims=True)
        size = np.sqrt((centred**2).mean(axis=1, keepdims=True) + EPSILON)
        return np.asarray(centred / size * norm[0] + norm[1])

    def project(x: NDArray[np.float64], linear: LinearWeights) -> NDArray[np.float64]:
        return np.asarray(x @ (linear.whole * linear.scales.astype(float)) + linear.bias)

    length = len(texts.ids)
    embedded = weights.pieces[texts.ids] * weights.piece_scales[texts.ids, None].astype(float)
    states = embedded + weights.types[texts.kinds] + weights.positions[:length]
    states = normalise(states, weights.norm)
    depth = WIDTH // weights.heads
    for layer in weights.layers:
        parts = project(states, layer.projections).reshape(length, 3, weights.heads, depth)
        query, key, value = parts.transpose(1, 2, 0, 3)
        logits = query @ key.transpose(0, 2, 1) / math.sqrt(depth)
        powers = np.exp(logits - logits.max(axis=2, keepdims=True))
        read = (powers / powers.sum(axis=2, keepdims=True)) @ value
        joined = read.transpose(1, 0, 2).reshape(length, WIDTH)
        states = normalise(project(joined, layer.joined) + states, layer.joined_norm)
        inner = project(states, layer.inner)
        gelu = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        states = normalise(project(gelu, layer.outer) + states, layer.outer_norm)
    return states


@pytest.mark.parametrize("lengths", [[1, 2, 17, 48, 200], *([length] for length in range(3, 14))])
def test_states_agree_with_the_formula(library: ctypes.CDLL, lengths: list[int]) -> None:
    weights, texts = make_weights(), make_texts(lengths)  # with every number of rows in a tile

    states = KernelEncoder(library, weights).encode(texts, np.copy)

    expected = np.concatenate([compute(weights, text) for text in split(texts)])
    difference = np.abs(states - expected)
    # States are bytes between products: a step is about a fiftieth of a typical state.
    assert difference.max() < 0.08
    assert difference.mean() < 0.009


@pytest.mark.parametrize("mean", [1000.0, -3000.0])
def test_states_with_a_large_mean_are_normalised(library: ctypes.CDLL, mean: float) -> None:
    plain, texts = make_weights(), make_texts([21])

    def shift(linear: LinearWeights) -> LinearWeights:
        return replace(linear, bias=linear.bias + np.float32(mean))

    layers = [
        replace(layer, joined=shift(layer.joined), outer=shift(layer.outer))
        for layer in plain.layers
    ]
    shifted = replace(plain, types=plain.types + np.float32(mean), layers=layers)

    states = KernelEncoder(library, shifted).encode(texts, np.copy)

    # LayerNorm subtracts the mean, so that only the rounding of large numbers is left of it.
    difference = np.abs(states - compute(shifted, texts))
    assert difference.max() < 0.08
    assert difference.mean() < 0.009


@pytest.mark.parametrize("heads", [1, 2])
def test_heads_may_be_wide(library: ctypes.CDLL, heads: int) -> None:
    weights, texts = make_weights(heads=heads), make_texts([21])

    states = KernelEncoder(library, weights).encode(texts, np.copy)

    assert np.abs(states - compute(weights, texts)).mean() < 0.009


@given(lengths=st.lists(st.integers(1, 70), min_size=1, max_size=8), seed=st.integers(0, 99))
@settings(max_examples=30)
def test_a_text_has_the_same_bits_in_any_company(
    encoder: KernelEncoder, lengths: list[int], seed: int
) -> None:
    texts = make_texts(lengths, seed)

    together = encoder.encode(texts, np.copy)

    alone = [encoder.encode(text, np.copy) for text in split(texts)]
    np.testing.assert_array_equal(together, np.concatenate(alone))


def test_a_text_of_equal_tokens_attends_to_all_alike(encoder: KernelEncoder) -> None:
    # Weights of attention are integers, and 200 equal ones are the smallest there are.
    weights = make_weights()
    ids = np.full(POSITIONS, 7)
    texts = JoinedTexts(ids, np.zeros_like(ids), np.array([len(ids)]))

    difference = np.abs(encoder.encode(texts, np.copy) - compute(weights, texts))

    assert difference.mean() < 0.009


def test_encoders_with_one_token_type_give_it_to_every_token(library: ctypes.CDLL) -> None:
    encoder, texts = KernelEncoder(library, make_weights(types=1)), make_texts([9])

    states = encoder.encode(texts, np.copy)

    plain = replace(texts, kinds=np.zeros_like(texts.kinds))
    np.testing.assert_array_equal(states, encoder.encode(plain, np.copy))
    assert texts.kinds.any()


def test_means_are_those_of_the_tokens_of_a_kind(encoder: KernelEncoder) -> None:
    texts = make_texts([5, 1, 30], seed=3)
    states = encoder.encode(texts, np.copy)

    means = [encoder.average(states, texts, kind) for kind in (None, 0, 1)]

    for at, (start, length) in enumerate(zip(texts.starts, texts.lengths, strict=True)):
        rows, kinds = states[start : start + length], texts.kinds[start : start + length]
        chosen = [rows, rows[kinds == 0], rows[kinds == 1]]
        for found, own in zip(means, chosen, strict=True):
            expected = own.mean(axis=0) if len(own) else np.zeros(WIDTH)
            np.testing.assert_allclose(found[at], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ids": np.array([PIECES])}, "id"),
        ({"ids": np.array([-1])}, "id"),
        ({"kinds": np.array([2])}, "kind"),
        ({"lengths": np.array([0])}, "tokens"),
        ({"lengths": np.array([2])}, "2 tokens together, but 1 ids and 1 kinds"),
        ({"lengths": np.array([1, 1])}, "2 tokens together, but 1 ids and 1 kinds"),
        ({"kinds": np.array([0, 0])}, "1 tokens together, but 1 ids and 2 kinds"),
        ({"kinds": np.array([], dtype=np.int64)}, "1 tokens together, but 1 ids and 0 kinds"),
        ({"ids": np.array([3, 3])}, "1 tokens together, but 2 ids and 1 kinds"),
    ],
)
def test_tokens_that_would_read_other_memory_are_refused(
    encoder: KernelEncoder, change: dict[str, NDArray[np.int64]], reason: str
) -> None:
    one = JoinedTexts(np.array([3]), np.array([0]), np.array([1]))

    with pytest.raises(ValueError, match=reason):
        encoder.encode(replace(one, **change), np.copy)


def test_a_text_that_is_too_long_is_refused(encoder: KernelEncoder) -> None:
    with pytest.raises(ValueError, match=str(POSITIONS)):
        encoder.encode(make_texts([POSITIONS + 1]), np.copy)


@pytest.mark.parametrize(
    "change",
    [
        {"heads": 3},
        {"heads": 8},
        {"heads": 0},
        {"layers": []},
        {"piece_scales": np.zeros(PIECES - 1, dtype=np.float32)},
        {"norm": np.zeros((1, WIDTH), dtype=np.float32)},
        {"positions": np.zeros((POSITIONS, WIDTH - 1), dtype=np.float32)},
        {"types": np.zeros(WIDTH, dtype=np.float32)},
    ],
)
def test_shapes_that_the_kernel_does_not_support_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="shapes"):
        replace(make_weights(), **change)


def test_packed_weights_are_used_as_they_are_and_those_of_another_encoder_refused(
    library: ctypes.CDLL, encoder: KernelEncoder
) -> None:
    texts, weights = make_texts([5, 9]), make_weights()
    packed = pack_encoder(library, weights)
    packed.flags.writeable = False  # as those that are mapped

    other = KernelEncoder(library, weights, packed)

    np.testing.assert_array_equal(other.encode(texts, np.copy), encoder.encode(texts, np.copy))
    with pytest.raises(ValueError, match="another encoder"):
        KernelEncoder(library, make_weights(types=1), packed)
