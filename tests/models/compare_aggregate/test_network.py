"""Compare-Aggregate of the runtime must agree with that of torch."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from tests.models.examples import WIDTH
from tests.models.networks import (
    LISTS,
    draw,
    encode_with_torch,
    make_example,
    make_pairs,
    make_ranker,
    take_weights,
)

from rejoinder.models.compare_aggregate import network as compare_aggregate
from rejoinder.models.compare_aggregate.network import (
    CompareAggregateBilstmNetwork,
    CompareAggregateNetwork,
)
from rejoinder.models.ranker.network import PairArrays

READ = 6
NETWORKS: dict[str, type[CompareAggregateNetwork]] = {
    "compare-aggregate": CompareAggregateNetwork,
    "compare-aggregate-bilstm": CompareAggregateBilstmNetwork,
}


def make_network(model: str, read: int) -> CompareAggregateNetwork:
    half = read // 2
    shapes: dict[str, tuple[int, ...]] = {
        "read.gate.weight": (read, WIDTH),
        "read.gate.bias": (read,),
        "read.update.weight": (read, WIDTH),
        "read.update.bias": (read,),
    }
    for suffix in ["", "_reverse"]:
        shapes[f"read.lstm.network.weight_ih_l0{suffix}"] = (4 * half, WIDTH)
        shapes[f"read.lstm.network.weight_hh_l0{suffix}"] = (4 * half, half)
        shapes[f"read.lstm.network.bias_ih_l0{suffix}"] = (4 * half,)
        shapes[f"read.lstm.network.bias_hh_l0{suffix}"] = (4 * half,)
    for side in ("question", "candidate"):
        for kernel in range(1, 6):
            shapes[f"{side}.convolutions.{kernel - 1}.weight"] = (read, kernel * read)
            shapes[f"{side}.convolutions.{kernel - 1}.bias"] = (read,)
    return NETWORKS[model](draw(shapes))


@pytest.fixture(params=NETWORKS)
def network(request: pytest.FixtureRequest) -> CompareAggregateNetwork:
    return make_network(request.param, READ)


@pytest.fixture
def pairs() -> PairArrays:
    return make_pairs(*LISTS["long"])


@pytest.mark.parametrize(("question", "texts"), LISTS.values(), ids=LISTS)
@pytest.mark.parametrize("model", NETWORKS)
def test_encodes_as_torch_does(model: str, question: str, texts: Sequence[str]) -> None:
    ranker = make_ranker(model)

    actual = NETWORKS[model](take_weights(ranker, "encoder")).encode(make_pairs(question, texts))

    assert actual.dtype == np.float32
    assert actual.shape == (len(texts), 3000)
    expected = encode_with_torch(ranker, make_example(question, texts))
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("max_words", [1, 7, 50])
def test_the_batch_size_does_not_change_a_pair(
    max_words: int,
    network: CompareAggregateNetwork,
    pairs: PairArrays,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at_once = network.encode(pairs)

    monkeypatch.setattr(compare_aggregate, "MAX_WORDS", max_words)

    np.testing.assert_allclose(network.encode(pairs), at_once, atol=1e-6)


@pytest.mark.parametrize("repeats", [1, 30])
def test_a_longer_list_takes_no_more_memory(
    repeats: int, network: CompareAggregateNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One batch holds 120 candidates of four words, or four where the question has 120 words.
    monkeypatch.setattr(compare_aggregate, "MAX_WORDS", 480)
    texts = [f"cat {number % 50} was fed" for number in range(1200 // repeats)]
    question = "who fed the cat " * repeats

    one_batch = _measure(network, make_pairs(question, texts[: 120 // repeats]))
    ten_batches = _measure(network, make_pairs(question, texts))

    assert ten_batches < 1.5 * one_batch


def _measure(network: CompareAggregateNetwork, pairs: PairArrays) -> int:
    """Return the peak of bytes in use, without the result."""
    tracemalloc.start()
    encoded = network.encode(pairs)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak - encoded.nbytes


@pytest.mark.parametrize("model", NETWORKS)
def test_large_similarities_do_not_overflow(model: str, pairs: PairArrays) -> None:
    # Rows of 500 numbers near 1 and -1 are 500 alike to themselves; exp(89) is too large.
    network = make_network(model, read=500)

    encoded = network.encode(replace(pairs, vectors=pairs.vectors * 1000))

    assert np.isfinite(encoded).all()


def test_unused_rows_of_the_table_change_nothing(
    network: CompareAggregateNetwork, pairs: PairArrays
) -> None:
    more = np.concatenate([pairs.vectors, np.ones((9, WIDTH), dtype=np.float32)])

    actual = network.encode(replace(pairs, vectors=more))

    np.testing.assert_array_equal(actual, network.encode(pairs))


def test_no_candidates_give_no_rows(network: CompareAggregateNetwork) -> None:
    assert network.encode(make_pairs("who", [])).shape == (0, 10 * READ)
