"""What every model, with every head and loss, must do."""

import pytest

torch = pytest.importorskip("torch")

from rejoinder.errors import UnknownNameError  # noqa: E402
from rejoinder.models.ranker.heads import HEADS  # noqa: E402
from rejoinder.models.ranker.module.pairs import TrainingPairs  # noqa: E402
from rejoinder.models.ranker.module.ranker import ENCODERS, RankerConfig, initialise  # noqa: E402
from rejoinder.training.loop import Recipe, make_optimizer, train  # noqa: E402
from rejoinder.training.losses import LOSSES  # noqa: E402
from rejoinder.types import Example  # noqa: E402
from tests.training.conftest import WIDTH, SpelledVectors  # noqa: E402


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("model", ENCODERS)
def test_a_batch_scores_like_one_question_at_a_time(
    model: str, head: str, examples: list[Example], vectors: SpelledVectors
) -> None:
    pairs = TrainingPairs(examples, vectors)
    network = initialise(RankerConfig(model, WIDTH, head), seed=1).eval()

    with torch.no_grad():
        together = network(pairs.batch(torch.arange(len(examples))))
        alone = [network(pairs.batch(torch.tensor([place]))) for place in range(len(examples))]

    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("model", "head"),
    [(model, "none") for model in ENCODERS] + [("cosinet", head) for head in HEADS],
)
def test_one_batch_is_learnt_by_heart(
    model: str, head: str, loss: str, examples: list[Example], vectors: SpelledVectors
) -> None:
    pairs = TrainingPairs(examples[:4], vectors)
    network = initialise(RankerConfig("cosinet", WIDTH, head), seed=0)
    recipe = Recipe(loss, epochs=80, questions_per_step=4, learning_rate=3e-3)

    steps = list(
        train(
            network,
            pairs,
            recipe,
            make_optimizer(network, recipe),
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
