"""Rel-CNN of the runtime must agree with that of torch."""

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

from rejoinder.models.ranker.network import PairArrays
from rejoinder.models.rel_cnn import network as rel_cnn
from rejoinder.models.rel_cnn.network import RelCnnNetwork

OVERLAP, KERNEL, CHANNELS = 5, 5, 3


@pytest.fixture
def network() -> RelCnnNetwork:
    convolution = {
        "parametrizations.weight.original": (CHANNELS, WIDTH + OVERLAP, KERNEL),
        "parametrizations.weight.0.cases": (2, OVERLAP),
        "bias": (CHANNELS,),
    }
    pair = 2 * CHANNELS + 1
    return RelCnnNetwork(
        draw(
            {
                f"{side}.convolution.{name}": shape
                for side in ("question", "candidate")
                for name, shape in convolution.items()
            }
            | {
                "similarity.weight": (CHANNELS, CHANNELS),
                "hidden.weight": (pair, pair),
                "hidden.bias": (pair,),
            }
        )
    )


@pytest.fixture
def pairs() -> PairArrays:
    return make_pairs(*LISTS["long"])


@pytest.mark.parametrize(("question", "texts"), LISTS.values(), ids=LISTS)
def test_encodes_as_torch_does(question: str, texts: Sequence[str]) -> None:
    ranker = make_ranker("rel-cnn")

    actual = RelCnnNetwork(take_weights(ranker, "encoder")).encode(make_pairs(question, texts))

    assert actual.dtype == np.float32
    assert actual.shape == (len(texts), 201)
    expected = encode_with_torch(ranker, make_example(question, texts))
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("max_words", [1, 7, 50])
def test_the_batch_size_does_not_change_a_pair(
    max_words: int, network: RelCnnNetwork, pairs: PairArrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = network.encode(pairs)

    monkeypatch.setattr(rel_cnn, "MAX_WORDS", max_words)

    np.testing.assert_allclose(network.encode(pairs), at_once, atol=1e-6)


def test_only_the_same_word_is_shared(network: RelCnnNetwork, pairs: PairArrays) -> None:
    close = replace(pairs, related=np.minimum(pairs.related, 0.999))
    far = replace(pairs, related=np.minimum(pairs.related, 0.1))

    np.testing.assert_array_equal(network.encode(close), network.encode(far))
    assert not np.allclose(network.encode(close), network.encode(pairs))


def test_unused_rows_of_the_table_change_nothing(network: RelCnnNetwork, pairs: PairArrays) -> None:
    more = np.concatenate([pairs.vectors, np.ones((9, WIDTH), dtype=np.float32)])

    actual = network.encode(replace(pairs, vectors=more))

    np.testing.assert_array_equal(actual, network.encode(pairs))


def test_no_candidates_give_no_rows(network: RelCnnNetwork) -> None:
    assert network.encode(make_pairs("who", [])).shape == (0, 2 * CHANNELS + 1)
