"""Requirements for every model with every head and loss."""

import pytest

torch = pytest.importorskip("torch")

from tests.models.examples import WIDTH, SpelledVectors, make_examples  # noqa: E402

from rejoinder.errors import UnknownNameError  # noqa: E402
from rejoinder.models.ranker.heads import HEADS  # noqa: E402
from rejoinder.models.ranker.module.pairs import TrainingPairs  # noqa: E402
from rejoinder.models.ranker.module.ranker import (  # noqa: E402
    RankerConfig,
    count_parameters,
    initialise,
    list_rankers,
)
from rejoinder.training.loop import Recipe, make_state, train  # noqa: E402
from rejoinder.training.losses import LOSSES  # noqa: E402

EXAMPLES = make_examples()


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("model", list_rankers())
def test_a_batch_scores_like_one_question_at_a_time(model: str, head: str) -> None:
    pairs = TrainingPairs(EXAMPLES, SpelledVectors())
    network = initialise(RankerConfig(model, WIDTH, head), seed=1).eval()

    with torch.no_grad():
        together = network(pairs.batch(torch.arange(len(EXAMPLES))))
        alone = [network(pairs.batch(torch.tensor([place]))) for place in range(len(EXAMPLES))]

    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("model", "head"),
    [(model, "none") for model in list_rankers()] + [("cosinet", head) for head in HEADS],
)
def test_one_batch_is_memorised(model: str, head: str, loss: str) -> None:
    pairs = TrainingPairs(EXAMPLES[:4], SpelledVectors())
    network = initialise(RankerConfig(model, WIDTH, head), seed=0)
    recipe = Recipe(loss, epochs=80, questions_per_step=4, learning_rate=3e-3)

    steps = list(
        train(
            make_state(network, recipe),
            pairs,
            recipe,
            order=lambda _: torch.arange(4),
        )
    )

    assert steps[-1].loss < 0.05 < steps[0].loss


def test_weights_depend_on_the_seed_alone() -> None:
    config = RankerConfig("cosinet", WIDTH, "birnn")
    torch.manual_seed(7)

    one, same, other = initialise(config, 1), initialise(config, 1), initialise(config, 2)

    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), same.parameters(), strict=True))
    assert not torch.equal(next(one.parameters()), next(other.parameters()))


def test_unknown_parts_are_named() -> None:
    with pytest.raises(UnknownNameError, match="unknown model 'cosine'; did you mean 'cosinet'"):
        RankerConfig("cosine", WIDTH)
    with pytest.raises(UnknownNameError, match="unknown head 'birn'; did you mean 'birnn'"):
        RankerConfig("cosinet", WIDTH, "birn")


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
def test_parameter_counts_are_those_of_the_paper(model: str, head: str, expected: int) -> None:
    assert count_parameters(initialise(RankerConfig(model, 300, head), seed=0)) == expected


def test_the_bilstm_replaces_the_projection() -> None:
    gated, bilstm = (
        count_parameters(initialise(RankerConfig(model, 300), seed=0))
        for model in ("compare-aggregate", "compare-aggregate-bilstm")
    )

    # two linear layers, against four gates in each direction over input, state and two biases
    projection, lstm = 2 * (300 * 300 + 300), 2 * 4 * 150 * (300 + 150 + 2)
    assert bilstm - gated == lstm - projection


def test_parameter_count_of_rel_cnn() -> None:
    model = initialise(RankerConfig("rel-cnn", 50), seed=0)

    # a side: the two overlap embeddings, the kernel and its bias
    side = 2 * 5 + 100 * (50 + 5) * 5 + 100
    assert count_parameters(model) == 2 * side + 100 * 100 + 201 * 201 + 201 + (201 + 1)
