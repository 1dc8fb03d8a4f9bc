"""The compiled kernel must agree with numpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.models import kernel as module
from rejoinder.models.kernel import Kernel, Linear, load_kernel, load_library, pad_columns
from rejoinder.models.ranker.relatedness import max_relatedness
from tests.models.arm import needs_arm, open_arm_kernel

KERNEL = 5


@pytest.fixture(scope="module", params=["own", pytest.param("arm", marks=needs_arm)])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """The kernel on this processor, and on an emulated one."""
    if request.param == "arm":
        return open_arm_kernel(request.getfixturevalue("arm_library"))
    loaded = load_kernel()
    if loaded is None:
        pytest.skip("the kernel was not built: no C compiler when rejoinder was installed")
    return loaded


@given(
    lengths=st.lists(st.integers(1, 12) | st.integers(30, 70), min_size=1, max_size=6),
    lines=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_pooling_agrees_with_the_formula(
    kernel: Kernel, lengths: list[int], lines: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    width = lines * kernel.line
    products = rng.normal(size=(7, KERNEL * width)).astype(np.float32)
    products[0] = 0  # no word
    words = rng.integers(0, 7, sum(lengths))
    related = rng.normal(size=len(words)).astype(np.float32)
    by_related = rng.normal(size=(KERNEL, width)).astype(np.float32)
    bias = rng.normal(size=width).astype(np.float32)

    pooled = kernel.convolve_texts(products, words, related, np.array(lengths), by_related, bias)

    slices, start = products.reshape(7, KERNEL, width), 0
    for length, actual in zip(lengths, pooled, strict=True):
        expected = np.full(width, -np.inf)
        for at in range(length):
            window = [k for k in range(KERNEL) if 0 <= at + k - 2 < length]
            places = [start + at + k - 2 for k in window]
            position = sum(
                slices[words[place], k] + related[place] * by_related[k]
                for k, place in zip(window, places, strict=True)
            )
            expected = np.maximum(expected, position + bias)
        np.testing.assert_allclose(actual, expected, atol=1e-5)
        start += length


def test_one_text_with_many_rows_of_relatedness_agrees_with_copies_of_it(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    width, words = 2 * kernel.line, 7
    products = rng.normal(size=(words + 1, KERNEL, width)).astype(np.float32)
    products[0] = 0
    related = np.zeros((3, words + 4), dtype=np.float32)
    related[:, 2:-2] = rng.normal(size=(3, words))
    by_related = rng.normal(size=(KERNEL, width)).astype(np.float32)
    padded = np.concatenate(
        [np.zeros((2, KERNEL, width)), products[1:], np.zeros((2, KERNEL, width))]
    )
    base = np.stack([sum(padded[at + k, k] for k in range(KERNEL)) for at in range(words)]).astype(
        np.float32
    )

    actual = kernel.convolve_question(base, related, by_related)

    expected = kernel.convolve_texts(
        products.reshape(words + 1, -1),
        np.tile(np.arange(1, words + 1), 3),
        related[:, 2:-2].ravel(),
        np.full(3, words),
        by_related,
        np.zeros(width, dtype=np.float32),
    )
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("width", [1, 15, 16, 50])
def test_relatedness_agrees_with_numpy(kernel: Kernel, width: int) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(9, width)).astype(np.float32)
    question, words = np.array([3, 1, 3]), rng.integers(0, 9, 12)
    lengths = np.array([5, 1, 6])

    of_words, of_question = kernel.max_relatedness(vectors, question, words, lengths)

    expected, expected_question = max_relatedness(vectors[question] @ vectors.T, words, lengths)
    np.testing.assert_allclose(of_words, expected, atol=1e-5)
    np.testing.assert_allclose(of_question, expected_question, atol=1e-5)


@pytest.mark.parametrize("rows", [0, 1, 5, 12, 60])
@pytest.mark.parametrize("columns", [1, 16, 33])
def test_products_agree_with_numpy(kernel: Kernel, rows: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(rows, 7)), rng.normal(size=(7, columns))
    bias = rng.normal(size=columns)

    product = Linear(right.astype(np.float32), bias.astype(np.float32), kernel)

    np.testing.assert_allclose(
        product(left.astype(np.float32)), left @ right + bias, rtol=1e-4, atol=1e-5
    )


def test_a_row_of_a_product_does_not_depend_on_the_other_rows(kernel: Kernel) -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(67, 50)).astype(np.float32)
    product = Linear(rng.normal(size=(50, 20)).astype(np.float32), kernel=kernel)

    together = product(rows)

    alone = np.concatenate([product(row[None]) for row in rows])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("width", [1, 3, 4, 150])
@pytest.mark.parametrize("backwards", [False, True])
def test_recurrence_agrees_with_numpy(kernel: Kernel, width: int, backwards: bool) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(9, 2 * width)).astype(np.float32)[:, :width]
    weight = (rng.normal(size=(width, width)) / width**0.5).astype(np.float32)
    states = np.zeros((9, width), dtype=np.float32)
    lengths = np.array([1, 6, 2])
    if backwards:
        inputs, states = inputs[::-1], states[::-1]

    kernel.run_recurrence(inputs, states, lengths, pad_columns(weight.T, kernel.strip))

    begins = {0, 1, 7}
    state = np.zeros(width)
    for at, (step, actual) in enumerate(zip(inputs, states, strict=True)):
        state = np.tanh(step + weight @ (0 * state if at in begins else state))
        np.testing.assert_allclose(actual, state, atol=2e-6)


def test_tanh_is_good_everywhere(kernel: Kernel) -> None:
    inputs = np.concatenate([np.linspace(-40, 40, 997), [-1e30, 1e30, 0.0]]).astype(np.float32)
    states = np.empty((1, len(inputs)), dtype=np.float32)
    weight = np.zeros((len(inputs), len(inputs)), np.float32)

    kernel.run_recurrence(inputs[None], states, np.array([1]), pad_columns(weight, kernel.strip))

    np.testing.assert_allclose(states[0], np.tanh(inputs), atol=1e-6)


def test_without_the_library_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIBRARY", module.LIBRARY.with_name("none.so"))
    load_library.cache_clear()
    load_kernel.cache_clear()
    try:
        assert load_kernel() is None
    finally:
        load_library.cache_clear()
        load_kernel.cache_clear()
