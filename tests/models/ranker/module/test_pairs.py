import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tests.models.examples import SpelledVectors  # noqa: E402

from rejoinder.models.ranker.module.pairs import TrainingPairs, join_ranges  # noqa: E402
from rejoinder.models.ranker.scorer import MAX_WORDS  # noqa: E402
from rejoinder.models.rel_cnn.module import find_shared  # noqa: E402
from rejoinder.types import Candidate, Document, Example  # noqa: E402

VECTORS = SpelledVectors()


def make_example(question: str, *texts: str) -> Example:
    """Return an example with these candidates in order, the first of them the answer."""
    candidates = tuple(
        Candidate(str(place), text, position=place) for place, text in enumerate(texts)
    )
    return Example("q", question, candidates, tuple(place == 0 for place in range(len(texts))))


def test_ranges_are_joined() -> None:
    assert join_ranges(torch.tensor([3, 10]), torch.tensor([2, 3])).tolist() == [3, 4, 10, 11, 12]
    assert (
        join_ranges(torch.tensor([], dtype=torch.long), torch.tensor([], dtype=torch.long)).tolist()
        == []
    )


def test_a_batch_holds_the_words_of_its_pairs() -> None:
    pairs = TrainingPairs([make_example("x"), make_example("a b", "c a d", "b")], VECTORS)

    batch = pairs.batch(torch.tensor([1]))

    words = ["a", "b", "a", "b", "c", "a", "d", "b"]
    rows = torch.cat([batch.question.words, batch.candidate.words])
    np.testing.assert_allclose(batch.vectors[rows], VECTORS.embed(words), atol=1e-6)
    assert batch.question.lengths.tolist() == [2, 2]
    assert batch.candidate.lengths.tolist() == [3, 1]
    assert batch.labels.tolist() == [1, 0]
    assert batch.list_lengths.tolist() == [2]
    assert batch.vectors[0].abs().sum() == 0


def test_relatedness_is_the_largest_cosine_to_the_other_side() -> None:
    batch = TrainingPairs([make_example("a b", "c a", "d")], VECTORS).batch(torch.tensor([0]))

    a, b, c, d = VECTORS.embed(["a", "b", "c", "d"])
    np.testing.assert_allclose(
        batch.candidate.related, [max(c @ a, c @ b), 1.0, max(d @ a, d @ b)], atol=1e-6
    )
    np.testing.assert_allclose(
        batch.question.related, [1.0, max(b @ c, b @ a), a @ d, b @ d], atol=1e-6
    )
    assert find_shared(batch.candidate).tolist() == [0, 1, 0]
    assert find_shared(batch.question).tolist() == [1, 0, 0, 0]


def test_pairs_are_grouped_by_segment_in_document_order() -> None:
    one, two = Document("one"), Document("two")
    candidates = (
        Candidate("0", "b", one, 5),
        Candidate("1", "c", two, 0),
        Candidate("2", "a", one, 2),
        Candidate("3", "d"),
    )
    example = Example("q", "x", candidates, (True, False, False, False))

    pairs = TrainingPairs([example], VECTORS)

    batch = pairs.batch(torch.tensor([0]))
    assert pairs.order.tolist() == [2, 0, 1, 3]
    assert batch.segment_lengths.tolist() == [2, 1, 1]
    assert batch.labels.tolist() == [0, 1, 0, 0]


def test_a_text_without_words_is_one_empty_position() -> None:
    batch = TrainingPairs([make_example("", "  ", "a")], VECTORS).batch(torch.tensor([0]))

    assert batch.candidate.lengths.tolist() == [1, 1]
    assert batch.vectors[batch.candidate.words[0]].abs().sum() == 0
    assert batch.question.related.tolist() == [0, 0]


def test_texts_are_read_up_to_the_limit() -> None:
    batch = TrainingPairs([make_example("q " * 5000, "a " * 600)], VECTORS).batch(torch.tensor([0]))

    assert batch.question.lengths.tolist() == [MAX_WORDS]
    assert batch.candidate.lengths.tolist() == [MAX_WORDS]


def test_ten_thousand_candidates_fit() -> None:
    texts = [f"word{place % 50} and more" for place in range(10_000)]

    batch = TrainingPairs([make_example("word7 word8", *texts)], VECTORS).batch(torch.tensor([0]))

    assert batch.labels.shape == (10_000,)
    assert batch.question.related.view(-1, 2)[7, 0].item() == pytest.approx(1)


def test_many_words_are_related_in_each_batch_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examples = [make_example("a b", "c a d", "b"), make_example("d", "a d", "c", "d e f")]
    kept = TrainingPairs(iter(examples), VECTORS).batch(torch.tensor([1, 0]))
    monkeypatch.setattr("rejoinder.models.ranker.module.pairs.MAX_RELATED_WORDS", 0)
    pairs = TrainingPairs(iter(examples), VECTORS)

    batch = pairs.batch(torch.tensor([1, 0]))

    assert pairs._sides is None
    assert batch.vectors.equal(kept.vectors)
    for side, expected in ((batch.question, kept.question), (batch.candidate, kept.candidate)):
        assert side.words.equal(expected.words)
        assert side.related.equal(expected.related)
        assert side.lengths.equal(expected.lengths)


def test_targets_must_match_the_examples() -> None:
    with pytest.raises(ValueError, match="shorter"):
        TrainingPairs([make_example("a", "b"), make_example("c", "d")], VECTORS, targets=[[0.5]])


def test_descriptions_differ_with_the_data() -> None:
    one, other = (
        TrainingPairs([make_example("a", text)], VECTORS).describe() for text in ("b c", "b d e")
    )

    assert one != other
