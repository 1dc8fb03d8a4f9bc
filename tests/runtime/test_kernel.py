"""The compiled kernel must do what numpy does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.runtime import kernel as module
from rejoinder.runtime.kernel import Kernel, load_kernel

KERNEL = 5


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    found = load_kernel()
    if found is None:
        pytest.skip("the kernel was not built: no C compiler when rejoinder was installed")
    return found


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=6),
    width=st.integers(1, 20),
    seed=st.integers(0, 99),
)
def test_pooling_agrees_with_the_formula(
    kernel: Kernel, lengths: list[int], width: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    products = rng.normal(size=(7, KERNEL * width)).astype(np.float32)
    words = rng.integers(0, 7, sum(lengths))
    related = rng.normal(size=len(words)).astype(np.float32)
    by_related = rng.normal(size=(KERNEL, width)).astype(np.float32)

    pooled = kernel.pool_texts(products, words, related, np.array(lengths), by_related)

    slices, start = products.reshape(7, KERNEL, width), 0
    for length, found in zip(lengths, pooled, strict=True):
        expected = np.full(width, -np.inf)
        for at in range(length):
            around = [k for k in range(KERNEL) if 0 <= at + k - 2 < length]
            places = [start + at + k - 2 for k in around]
            position = sum(
                slices[words[place], k] + related[place] * by_related[k]
                for k, place in zip(around, places, strict=True)
            )
            expected = np.maximum(expected, position)
        np.testing.assert_allclose(found, expected, atol=1e-5)
        start += length


@pytest.mark.parametrize("width", [1, 3, 4, 150])
@pytest.mark.parametrize("backwards", [False, True])
def test_recurrence_agrees_with_numpy(kernel: Kernel, width: int, backwards: bool) -> None:
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(9, 2 * width)).astype(np.float32)[:, :width]
    weight = (rng.normal(size=(width, width)) / width**0.5).astype(np.float32)
    states = np.zeros((9, width), dtype=np.float32)
    if backwards:
        inputs, states = inputs[::-1], states[::-1]

    kernel.run_recurrence(inputs, states, np.ascontiguousarray(weight.T))

    state = np.zeros(width)
    for step, found in zip(inputs, states, strict=True):
        state = np.tanh(step + weight @ state)
        np.testing.assert_allclose(found, state, atol=2e-6)


def test_tanh_is_good_everywhere(kernel: Kernel) -> None:
    inputs = np.concatenate([np.linspace(-40, 40, 997), [-1e30, 1e30, 0.0]]).astype(np.float32)
    states = np.empty((1, len(inputs)), dtype=np.float32)

    kernel.run_recurrence(inputs[None], states, np.zeros((len(inputs), len(inputs)), np.float32))

    np.testing.assert_allclose(states[0], np.tanh(inputs), atol=1e-6)


def test_without_the_library_there_is_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LIBRARY", module.LIBRARY.with_name("none.so"))
    load_kernel.cache_clear()
    try:
        assert load_kernel() is None
    finally:
        load_kernel.cache_clear()
