"""Rel-CNN must agree with its formulas, whatever else is in the batch."""

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from tests.models.examples import WIDTH  # noqa: E402
from tests.models.reference_models import (  # noqa: E402
    LENGTHS,
    Lengths,
    assert_agree,
    encode_rel_cnn,
    make_batch,
    memorise,
    take_pair,
)

from rejoinder.models.rel_cnn.module import RelCnn, find_shared  # noqa: E402
from rejoinder.training.losses import LOSSES  # noqa: E402


@pytest.mark.parametrize("lists", LENGTHS)
def test_agrees_with_the_reference(lists: Lengths) -> None:
    torch.manual_seed(0)

    assert_agree(RelCnn(WIDTH).eval(), encode_rel_cnn, make_batch(lists))


def test_a_pair_does_not_depend_on_its_batch() -> None:
    torch.manual_seed(0)
    encoder = RelCnn(WIDTH).eval()
    batch = make_batch([(2, [1, 20, 3]), (9, [5])])

    together = encoder(batch)
    alone = torch.cat([encoder(take_pair(batch, pair)) for pair in range(len(batch.labels))])

    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


def test_only_whether_a_word_is_shared_counts_and_not_how_related_it_is() -> None:
    torch.manual_seed(0)
    encoder = RelCnn(WIDTH).eval()
    batch = make_batch([(3, [4, 6])])
    unrelated = replace(
        batch, candidate=replace(batch.candidate, related=find_shared(batch.candidate))
    )
    all_shared = replace(
        batch,
        candidate=replace(batch.candidate, related=torch.ones_like(batch.candidate.related)),
    )

    torch.testing.assert_close(encoder(unrelated), encoder(batch))
    assert not torch.allclose(encoder(all_shared), encoder(batch))


@pytest.mark.parametrize("loss", LOSSES)
def test_memorises_one_batch(loss: str) -> None:
    before, after = memorise("rel-cnn", loss, steps=40)

    assert before > 0.3
    assert after < 0.02
