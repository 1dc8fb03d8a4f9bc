import pytest

torch = pytest.importorskip("torch")

from tests.models.selectors import make_selector  # noqa: E402
from torch import Tensor, nn  # noqa: E402

from rejoinder.models.encoders.packed import drop, read_packed  # noqa: E402


def make_inputs(*lengths: int) -> tuple[Tensor, Tensor, Tensor]:
    mask = torch.tensor([[1] * length + [0] * (max(lengths) - length) for length in lengths])
    ids = torch.randint(5, 90, mask.shape) * mask
    return ids, mask, torch.randint(2, mask.shape) * mask


@pytest.mark.parametrize("lengths", [(7, 3, 1, 12), (5, 5), (1,), (60, 2)])
def test_states_and_gradients_are_those_of_the_padded_encoder(lengths: tuple[int, ...]) -> None:
    encoder = make_selector().encoder.eval()
    ids, mask, kinds = make_inputs(*lengths)
    is_token = mask.bool()

    actual = read_packed(encoder, ids, mask, kinds)
    actual.square().sum().backward()
    gradients = [parameter.grad.clone() for parameter in encoder.parameters()]
    encoder.zero_grad()
    padded = encoder(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state
    padded[is_token].square().sum().backward()

    torch.testing.assert_close(actual[is_token], padded[is_token], atol=1e-5, rtol=1e-4)
    assert not actual[~is_token].any()
    for gradient, parameter in zip(gradients, encoder.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, atol=1e-3, rtol=1e-3)


def test_dropout_keeps_the_mean_and_drops_its_share() -> None:
    torch.manual_seed(0)
    ones = torch.ones(1001, 333, requires_grad=True)

    actual = drop(ones, nn.Dropout(0.1))
    actual.sum().backward()

    assert actual.detach().unique().tolist() == pytest.approx([0.0, 1 / 0.9])
    assert (actual == 0).float().mean().item() == pytest.approx(0.1, abs=0.002)
    assert actual.mean().item() == pytest.approx(1.0, abs=0.002)
    torch.testing.assert_close(ones.grad, actual.detach())  # dropped states get no gradient


def test_dropout_depends_on_the_seed_and_differs_in_every_call() -> None:
    def draw() -> Tensor:
        return drop(torch.ones(100), nn.Dropout(0.5))

    torch.manual_seed(7)
    first, second = draw(), draw()
    torch.manual_seed(7)

    assert torch.equal(draw(), first)
    assert not torch.equal(first, second)


def test_nothing_is_dropped_outside_of_training() -> None:
    states = torch.ones(10)

    assert drop(states, nn.Dropout(0.5).eval()) is states
    assert drop(states, nn.Dropout(0.0)) is states
