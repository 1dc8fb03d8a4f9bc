"""Heads must agree with torch's own networks run over one segment at a time."""

import pytest

torch = pytest.importorskip("torch")

from rejoinder.models.ranker.heads import HEADS  # noqa: E402
from rejoinder.models.ranker.module.heads import LstmModule, RnnModule, make_head_module  # noqa: E402

LENGTHS = [5, 1, 3, 8]


@pytest.mark.parametrize("directions", [1, 2])
@pytest.mark.parametrize("kind", [RnnModule, LstmModule])
def test_agrees_with_torchs_network_forwards_and_backwards(
    kind: type[RnnModule | LstmModule], directions: int
) -> None:
    torch.manual_seed(0)
    head = kind(6, 4, directions)
    pairs = torch.randn(sum(LENGTHS), 6, requires_grad=True)
    weights = torch.randn(sum(LENGTHS), 4 * directions)

    actual = head(pairs, torch.tensor(LENGTHS))
    (actual * weights).sum().backward()
    gradients = [torch.clone(given.grad) for given in (pairs, *head.parameters())]
    head.zero_grad()
    pairs.grad = None
    expected = torch.cat([head.network(part)[0] for part in pairs.split(LENGTHS)])
    (expected * weights).sum().backward()

    torch.testing.assert_close(actual, expected)
    for one, other in zip(gradients, [pairs, *head.parameters()], strict=True):
        torch.testing.assert_close(one, other.grad)


@pytest.mark.parametrize("name", HEADS)
def test_a_segment_does_not_see_another(name: str) -> None:
    torch.manual_seed(0)
    head = make_head_module(name, 6, 4)
    pairs = torch.randn(8, 6)

    together = head(pairs, torch.tensor([3, 5]))
    swapped = head(torch.cat([pairs[3:], pairs[:3]]), torch.tensor([5, 3]))

    torch.testing.assert_close(together[:3], swapped[5:])
    torch.testing.assert_close(together[3:], swapped[:5])


@pytest.mark.parametrize("name", ["rnn", "birnn", "lstm", "bilstm"])
def test_the_order_inside_a_segment_matters(name: str) -> None:
    torch.manual_seed(0)
    head = make_head_module(name, 6, 4)
    pairs = torch.randn(3, 6)

    there, back = head(pairs, torch.tensor([3])), head(pairs.flip(0), torch.tensor([3])).flip(0)

    assert not torch.allclose(there, back)


def test_no_head_changes_nothing() -> None:
    pairs = torch.randn(3, 6)

    assert make_head_module("none", 6, 4)(pairs, torch.tensor([3])) is pairs
