from math import exp, log

import pytest

torch = pytest.importorskip("torch")

from torch import Tensor, tensor  # noqa: E402

from rejoinder.models.ranker.module.pairs import pad_lists  # noqa: E402
from rejoinder.training.losses import (  # noqa: E402
    LOSSES,
    listwise,
    pairwise,
    pointwise,
)

# The third candidate of the first question does not exist; the second has no answer.
SCORES = [[2.0, 0.0, 99.0], [1.0, 1.0, 1.0]]
LABELS = tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
MASK = tensor([[True, True, False], [True, True, True]])


def grade(
    name: str, scores: list[list[float]], labels: Tensor, mask: Tensor
) -> tuple[float, Tensor]:
    given = tensor(scores, requires_grad=True)
    loss = LOSSES[name](given, labels, mask)
    loss.backward()
    assert given.grad is not None
    return loss.item(), given.grad


def test_listwise_is_minus_the_log_probability_of_the_answer() -> None:
    loss, gradient = grade("listwise", SCORES, LABELS, MASK)

    # -log softmax([2, 0])[0] = log(1 + e^-2); its gradient is softmax - label
    share = 1 / (1 + exp(-2))
    assert loss == pytest.approx(log(1 + exp(-2)))
    assert gradient[0].tolist() == pytest.approx([share - 1, 1 - share, 0])
    assert gradient[1].tolist() == [0, 0, 0]


def test_listwise_divides_the_mass_among_several_answers() -> None:
    loss, gradient = grade(
        "listwise", [[0.0, 0.0, 0.0]], tensor([[1.0, 1.0, 0.0]]), tensor([[True] * 3])
    )

    # KL of (1/2, 1/2, 0) from (1/3, 1/3, 1/3): log(3/2)
    assert loss == pytest.approx(log(3 / 2))
    assert gradient[0].tolist() == pytest.approx([1 / 3 - 1 / 2, 1 / 3 - 1 / 2, 1 / 3])


def test_listwise_is_zero_at_its_optimum() -> None:
    loss, gradient = grade("listwise", [[3.0, 3.0]], tensor([[1.0, 1.0]]), tensor([[True] * 2]))

    assert loss == pytest.approx(0, abs=1e-6)
    assert gradient[0].tolist() == pytest.approx([0, 0], abs=1e-6)


def test_pointwise_is_the_mean_cross_entropy_of_unmasked_candidates() -> None:
    loss, gradient = grade("pointwise", SCORES, LABELS, MASK)

    # log(1 + e^-2) for the answer, log(1 + e^0), and three times log(1 + e^1)
    expected = (log(1 + exp(-2)) + log(2) + 3 * log(1 + exp(1))) / 5
    assert loss == pytest.approx(expected)
    assert gradient[0, 0].item() == pytest.approx((1 / (1 + exp(-2)) - 1) / 5)
    assert gradient[0, 2].item() == 0


def test_pairwise_uses_the_hardest_negative() -> None:
    loss, gradient = grade(
        "pairwise", [[0.5, 0.3, -4.0]], tensor([[1.0, 0.0, 0.0]]), tensor([[True] * 3])
    )

    # 1 - 0.5 + 0.3
    assert loss == pytest.approx(0.8)
    assert gradient[0].tolist() == [-1, 1, 0]


def test_pairwise_is_zero_beyond_the_margin() -> None:
    assert pairwise(tensor([[2.0, 0.9]]), tensor([[1.0, 0.0]]), tensor([[True, True]])).item() == 0


@pytest.mark.parametrize("name", ["pairwise", "listwise"])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_labels_that_are_all_equal_give_a_finite_loss_and_gradient(name: str, label: float) -> None:
    loss, gradient = grade(name, [[1.0, 2.0]], tensor([[label, label]]), tensor([[True, True]]))

    assert loss >= 0
    assert gradient.isfinite().all()


@pytest.mark.parametrize("name", LOSSES)
def test_masked_candidates_have_no_gradient(name: str) -> None:
    _, gradient = grade(name, SCORES, LABELS, MASK)

    assert gradient.isfinite().all()
    assert gradient[0, 2].item() == 0


@pytest.mark.parametrize("loss", [pointwise, pairwise, listwise])
def test_padding_changes_no_loss(loss: object) -> None:
    assert callable(loss)
    scores, labels = tensor([[0.2, 0.7]]), tensor([[1.0, 0.0]])

    short = loss(scores, labels, tensor([[True, True]]))
    long = loss(
        torch.cat([scores, tensor([[9.0]])], dim=1),
        torch.cat([labels, tensor([[1.0]])], dim=1),
        tensor([[True, True, False]]),
    )

    torch.testing.assert_close(short, long)


def test_lists_are_padded_to_the_longest() -> None:
    padded, mask = pad_lists(tensor([1.0, 2.0, 3.0]), tensor([1, 2]))

    assert padded.tolist() == [[1.0, 0.0], [2.0, 3.0]]
    assert mask.tolist() == [[True, False], [True, True]]
