"""The heads of the runtime must agree with those of torch."""

import numpy as np
import pytest
from tests.models.networks import (
    LISTS,
    draw,
    make_example,
    make_ranker,
    read_example,
    score_with_torch,
    take_weights,
)

from rejoinder.errors import UnknownNameError
from rejoinder.models.kernel import Ids, Matrix, load_kernel
from rejoinder.models.ranker.heads import HEADS, Head, make_head
from rejoinder.models.ranker.network import Weights
from rejoinder.models.rel_cnn.network import RelCnnNetwork

WIDTH, HIDDEN = 6, 4
SEGMENTS = [[1], [2], [40], [1, 1, 1], [5, 1, 3, 8], [2, 9, 9, 1, 4], [1, 30, 1]]


def make_rows(count: int, width: int = WIDTH) -> Matrix:
    return np.random.default_rng(1).normal(size=(count, width)).astype(np.float32)


def read(head: Head, pairs: Matrix, lengths: list[int] | Ids, *, threads: int = 1) -> Matrix:
    return head.read(head.project(pairs), np.array(lengths, dtype=np.int64), threads=threads)


def draw_weights(name: str) -> Weights:
    gates = 4 * HIDDEN if name.endswith("lstm") else HIDDEN
    return draw(
        {
            f"network.{part}_l0{suffix}": shape
            for suffix in ["", "_reverse"][: 2 if name.startswith("bi") else 1]
            for part, shape in {
                "weight_ih": (gates, WIDTH),
                "weight_hh": (gates, HIDDEN),
                "bias_ih": (gates,),
                "bias_hh": (gates,),
            }.items()
        }
    )


@pytest.mark.parametrize("lengths", SEGMENTS, ids=str)
@pytest.mark.parametrize("name", HEADS)
def test_reads_segments_as_torch_does(name: str, lengths: list[int]) -> None:
    ranker = make_ranker("rel-cnn", name)
    import torch

    pairs = make_rows(sum(lengths), ranker.encoder.pair_width)
    with torch.no_grad():
        expected = ranker.head(torch.from_numpy(pairs), torch.tensor(lengths)).numpy()

    actual = read(make_head(name, take_weights(ranker, "head")), pairs, lengths)

    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@pytest.mark.parametrize("documents", ["aaaaaaaa", "abababab", "abbbbcbd"])
@pytest.mark.parametrize("name", HEADS)
def test_scores_a_list_as_torch_does(name: str, documents: str) -> None:
    ranker = make_ranker("rel-cnn", name)
    question, texts = LISTS["long"]
    example = make_example(question, texts[: len(documents)], documents)
    pairs, segment_lengths = read_example(example)

    encoded = RelCnnNetwork(take_weights(ranker, "encoder")).encode(pairs)
    actual = read(make_head(name, take_weights(ranker, "head")), encoded, segment_lengths)
    output = take_weights(ranker, "output")
    scores = actual @ output["weight"][0] + output["bias"]

    np.testing.assert_allclose(scores, score_with_torch(ranker, example), atol=1e-5)


def test_without_a_head_a_pair_stays_as_it_is() -> None:
    pairs = make_rows(3)

    assert read(make_head("none", {}), pairs, [2, 1]) is pairs


@pytest.mark.parametrize("name", HEADS[1:])
def test_a_segment_does_not_see_another(name: str) -> None:
    head = make_head(name, draw_weights(name))
    pairs, lengths = make_rows(14), [3, 1, 10]

    together = read(head, pairs, lengths)

    alone = [read(head, part, [len(part)]) for part in np.split(pairs, [3, 4])]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-6)


@pytest.mark.parametrize("lengths", SEGMENTS, ids=str)
@pytest.mark.parametrize("name", HEADS[1:])
def test_the_compiled_kernel_reads_the_same_on_any_threads(name: str, lengths: list[int]) -> None:
    pairs = make_rows(sum(lengths))
    compiled = make_head(name, draw_weights(name), load_kernel())

    alone, together = (read(compiled, pairs, lengths, threads=count) for count in (1, 2))

    np.testing.assert_array_equal(alone, together)
    np.testing.assert_allclose(
        alone, read(make_head(name, draw_weights(name)), pairs, lengths), atol=1e-5
    )


@pytest.mark.parametrize("name", HEADS[1:])
def test_only_two_directions_see_what_follows(name: str) -> None:
    head = make_head(name, draw_weights(name))
    pairs, lengths = make_rows(5), np.array([5])
    changed = pairs.copy()
    changed[-1] += 1

    first, first_changed = (read(head, rows, lengths)[0] for rows in (pairs, changed))

    assert np.array_equal(first, first_changed) != name.startswith("bi")


@pytest.mark.parametrize("name", HEADS[1:])
def test_neither_pairs_nor_weights_are_changed(name: str) -> None:
    weights, pairs = draw_weights(name), make_rows(6)
    head = make_head(name, weights)

    once = read(head, pairs, [2, 4])

    np.testing.assert_array_equal(read(head, pairs, [2, 4]), once)
    np.testing.assert_array_equal(pairs, make_rows(6))
    assert all(np.array_equal(array, draw_weights(name)[key]) for key, array in weights.items())


@pytest.mark.parametrize("name", HEADS[1:])
def test_no_pairs_give_no_rows(name: str) -> None:
    actual = read(make_head(name, draw_weights(name)), make_rows(0), [])

    assert actual.shape == (0, HIDDEN * (2 if name.startswith("bi") else 1))


def test_an_unknown_head_is_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown head 'gru'"):
        make_head("gru", {})
