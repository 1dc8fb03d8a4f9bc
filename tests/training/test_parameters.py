"""The networks have the sizes that the Cosinet paper's parameter counts settle."""

import pytest

torch = pytest.importorskip("torch")

from rejoinder.models.ranker.module.ranker import (  # noqa: E402
    RankerConfig,
    count_parameters,
    initialise,
)


# Published in thousands or millions: 904k, 1.17M, 1.12M (cut off), 1.99M, 1.81M;
# 2.89M, 5.05M, 4.87M, 11.53M, 10.81M.
@pytest.mark.parametrize(
    ("model", "head", "expected"),
    [
        ("cosinet", "none", 904_201),
        ("cosinet", "rnn", 1_174_501),
        ("cosinet", "birnn", 1_129_501),
        ("cosinet", "lstm", 1_986_301),
        ("cosinet", "bilstm", 1_806_301),
        ("compare-aggregate", "none", 2_886_601),
        ("compare-aggregate", "rnn", 5_045_401),
        ("compare-aggregate", "birnn", 4_865_401),
        ("compare-aggregate", "lstm", 11_529_001),
        ("compare-aggregate", "bilstm", 10_809_001),
    ],
)
def test_counts_are_those_of_the_paper(model: str, head: str, expected: int) -> None:
    assert count_parameters(initialise(RankerConfig(model, 300, head), seed=0)) == expected


def test_the_bilstm_takes_the_place_of_the_projection() -> None:
    gated, bilstm = (
        count_parameters(initialise(RankerConfig(model, 300), seed=0))
        for model in ("compare-aggregate", "compare-aggregate-bilstm")
    )

    # two linear layers, against four gates in each direction over input, state and two biases
    projection, lstm = 2 * (300 * 300 + 300), 2 * 4 * 150 * (300 + 150 + 2)
    assert bilstm - gated == lstm - projection


def test_rel_cnn_counts() -> None:
    model = initialise(RankerConfig("rel-cnn", 50), seed=0)

    # a side: the two overlap embeddings, the kernel and its bias
    side = 2 * 5 + 100 * (50 + 5) * 5 + 100
    assert count_parameters(model) == 2 * side + 100 * 100 + 201 * 201 + 201 + (201 + 1)
