"""The fast convolutions must agree with nn.Conv1d and max-pooling, forwards and backwards."""

import pytest

torch = pytest.importorskip("torch")

from rejoinder.models.ranker.module.convolution import PooledConvolutions  # noqa: E402
from tests.training.plain_models import assert_agree, plain_convolutions  # noqa: E402

WIDTH, CHANNELS = 6, 7


@pytest.mark.parametrize("kernels", [[1, 2, 3, 4, 5], [3], [4, 2]])
@pytest.mark.parametrize("lengths", [[4, 1, 9], [1], [2, 2, 2], [30]])
def test_agrees_with_the_plain_convolutions(lengths: list[int], kernels: list[int]) -> None:
    torch.manual_seed(0)
    module = PooledConvolutions(WIDTH, channels=CHANNELS, kernels=kernels)
    rows = torch.randn(sum(lengths), WIDTH, requires_grad=True)

    assert_agree(module, plain_convolutions, rows, torch.tensor(lengths))


def test_a_text_does_not_see_its_neighbours() -> None:
    torch.manual_seed(0)
    module = PooledConvolutions(WIDTH, channels=CHANNELS, kernels=[1, 2, 3, 4, 5])
    rows = torch.randn(7, WIDTH)

    together = module(rows, torch.tensor([3, 4]))
    alone = module(rows[:3], torch.tensor([3]))

    torch.testing.assert_close(together[:1], alone)


def test_only_the_largest_window_of_a_channel_learns() -> None:
    module = PooledConvolutions(1, channels=1, kernels=[1])
    rows = torch.tensor([[1.0], [3.0], [2.0]], requires_grad=True)
    (layer,) = module.convolutions
    weight, bias = layer.get_parameter("weight"), layer.get_parameter("bias")
    torch.nn.init.constant_(weight, 2.0)
    torch.nn.init.constant_(bias, 0.5)

    pooled = module(rows, torch.tensor([3]))
    pooled.sum().backward()

    assert pooled.tolist() == [[2.0 * 3.0 + 0.5]]
    assert rows.grad.tolist() == [[0.0], [2.0], [0.0]]
    assert weight.grad is not None
    assert weight.grad.tolist() == [[3.0]]
