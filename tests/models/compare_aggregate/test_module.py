"""Compare-Aggregate must agree with its formulas, whatever else is in the batch."""

import pytest

torch = pytest.importorskip("torch")

from tests.models.examples import WIDTH  # noqa: E402
from tests.models.reference_models import (  # noqa: E402
    LENGTHS,
    Lengths,
    assert_agree,
    encode_compare_aggregate,
    make_batch,
    memorise,
    take_pair,
)

from rejoinder.models.compare_aggregate.module import (  # noqa: E402
    CompareAggregate,
    CompareAggregateBilstm,
    attend,
)
from rejoinder.training.losses import LOSSES  # noqa: E402

KINDS = [CompareAggregate, CompareAggregateBilstm]


@pytest.mark.parametrize("lists", LENGTHS)
@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_the_reference(kind: type[CompareAggregate], lists: Lengths) -> None:
    torch.manual_seed(0)

    assert_agree(kind(WIDTH), encode_compare_aggregate, make_batch(lists))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pair_does_not_depend_on_its_batch(kind: type[CompareAggregate]) -> None:
    torch.manual_seed(0)
    encoder = kind(WIDTH)
    batch = make_batch([(2, [1, 20, 3]), (9, [5])])

    together = encoder(batch)
    alone = torch.cat([encoder(take_pair(batch, pair)) for pair in range(len(batch.labels))])

    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_list_without_candidates_changes_nothing(kind: type[CompareAggregate]) -> None:
    torch.manual_seed(0)
    encoder = kind(WIDTH)

    with_empty = encoder(make_batch([(2, [3, 4]), (4, [5]), (0, [])]))
    without = encoder(make_batch([(2, [3, 4]), (4, [5])]))

    torch.testing.assert_close(with_empty, without)


def test_a_text_without_words_is_padding() -> None:
    torch.manual_seed(0)

    assert_agree(CompareAggregate(WIDTH), encode_compare_aggregate, make_batch([(0, [3, 0])]))


def test_attention_is_the_mean_of_the_other_side_weighted_by_similarity() -> None:
    q = torch.tensor([[1.0, 0.0], [5.0, 5.0]])
    c = torch.tensor([[2.0, 0.0], [0.0, 3.0], [7.0, 7.0]])

    attended_q, attended_c = attend(q, torch.tensor([1, 1]), c, torch.tensor([2, 1]))

    # Similarity of the first question's word to both words: 2 and 0.
    share = torch.tensor(2.0).sigmoid()
    torch.testing.assert_close(attended_q[0], share * c[0] + (1 - share) * c[1])
    torch.testing.assert_close(attended_q[1], c[2])
    torch.testing.assert_close(attended_c, q[[0, 0, 1]])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("model", ["compare-aggregate", "compare-aggregate-bilstm"])
def test_memorises_one_batch(model: str, loss: str) -> None:
    before, after = memorise(model, loss, steps=40)

    assert before > 0.3
    assert after < 0.02
