"""The fast convolutions must agree with nn.Conv1d and max-pooling, forwards and backwards."""

import pytest

torch = pytest.importorskip("torch")

from tests.models.reference_models import assert_agree, convolve_plainly  # noqa: E402
from torch import Tensor, dtype  # noqa: E402

from rejoinder.models.ranker.module.convolution import (  # noqa: E402
    PooledConvolution,
    PooledConvolutions,
    set_product_type,
)

WIDTH, FEATURES, CHANNELS = 6, 2, 7


def convolve_words(
    module: PooledConvolution, vectors: Tensor, words: Tensor, features: Tensor, lengths: Tensor
) -> Tensor:
    """Convolve each text by itself, as the formula says."""
    pooled = []
    for rows, extra in zip(
        words.split(lengths.tolist()), features.split(lengths.tolist()), strict=True
    ):
        text = torch.cat([vectors[rows], extra], dim=1)  # (L, E + F)
        pooled.append(module.convolution(text.t()[None]).amax(dim=2)[0])
    return torch.stack(pooled)


@pytest.mark.parametrize("lengths", [[4, 1, 9], [1], [2, 2, 2], [30]])
def test_agrees_with_conv1d(lengths: list[int]) -> None:
    torch.manual_seed(0)
    module = PooledConvolution(WIDTH, features=FEATURES, channels=CHANNELS).eval()
    vectors = torch.randn(8, WIDTH)
    vectors[0] = 0
    total = sum(lengths)
    words, features = torch.randint(0, 8, (total,)), torch.randn(total, FEATURES)
    weights = torch.randn(len(lengths), CHANNELS)

    fast = module(vectors, words, features, torch.tensor(lengths))
    (fast * weights).sum().backward()
    gradients = [torch.clone(parameter.grad) for parameter in module.parameters()]
    module.zero_grad()
    expected = convolve_words(module, vectors, words, features, torch.tensor(lengths))
    (expected * weights).sum().backward()

    torch.testing.assert_close(fast, expected, atol=1e-5, rtol=1e-5)
    for actual, parameter in zip(gradients, module.parameters(), strict=True):
        torch.testing.assert_close(actual, parameter.grad, atol=1e-5, rtol=1e-5)


def test_a_text_does_not_depend_on_its_neighbours() -> None:
    torch.manual_seed(0)
    module = PooledConvolution(WIDTH, features=1, channels=CHANNELS).eval()
    vectors = torch.randn(8, WIDTH)
    vectors[0] = 0
    words, features = torch.randint(1, 8, (7,)), torch.randn(7, 1)

    together = module(vectors, words, features, torch.tensor([3, 4]))
    alone = module(vectors, words[:3], features[:3], torch.tensor([3]))

    torch.testing.assert_close(together[:1], alone)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float16])
def test_training_may_round_its_product_but_not_its_gradient(kind: dtype) -> None:
    torch.manual_seed(0)
    module = PooledConvolution(WIDTH, features=1, channels=CHANNELS)
    vectors = torch.nn.functional.normalize(torch.randn(8, WIDTH), dim=1)
    words, features = torch.randint(1, 8, (7,)), torch.rand(7, 1)
    lengths = torch.tensor([3, 4])

    set_product_type(module, kind)
    trained = module.train()(vectors, words, features, lengths)
    trained.sum().backward()
    gradient = torch.clone(module.convolution.weight.grad)
    module.zero_grad()
    exact = module.eval()(vectors, words, features, lengths)
    exact.sum().backward()

    assert not torch.equal(trained, exact)
    torch.testing.assert_close(trained, exact, atol=1e-2, rtol=1e-2)
    torch.testing.assert_close(gradient, module.convolution.weight.grad)


@pytest.mark.parametrize("kernels", [[1, 2, 3, 4, 5], [3], [4, 2]])
@pytest.mark.parametrize("lengths", [[4, 1, 9], [1], [2, 2, 2], [30]])
def test_convolutions_of_several_widths_agree_with_the_reference(
    lengths: list[int], kernels: list[int]
) -> None:
    torch.manual_seed(0)
    module = PooledConvolutions(WIDTH, channels=CHANNELS, kernels=kernels)
    rows = torch.randn(sum(lengths), WIDTH, requires_grad=True)

    assert_agree(module, convolve_plainly, rows, torch.tensor(lengths))


def test_a_text_of_several_widths_does_not_depend_on_its_neighbours() -> None:
    torch.manual_seed(0)
    module = PooledConvolutions(WIDTH, channels=CHANNELS, kernels=[1, 2, 3, 4, 5])
    rows = torch.randn(7, WIDTH)

    together = module(rows, torch.tensor([3, 4]))
    alone = module(rows[:3], torch.tensor([3]))

    torch.testing.assert_close(together[:1], alone)


def test_only_the_largest_window_of_a_channel_gets_a_gradient() -> None:
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
