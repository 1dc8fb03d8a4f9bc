import random

import pytest

torch = pytest.importorskip("torch")

from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example  # noqa: E402
from rejoinder.models.onnx_session import to_feed  # noqa: E402
from rejoinder.models.selector.context import ContextConfig  # noqa: E402
from rejoinder.models.selector.pair_reader import (  # noqa: E402
    PairReader,
    PairTokens,
)
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.training.batches import CandidateLists, choose_candidates, make_chunks  # noqa: E402
from rejoinder.types import Example  # noqa: E402

WORDS = [f"w{at}" for at in range(60)]
PIECES = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])
READER = PairReader(PairTokens(PIECES, max_tokens=40), ContextConfig(), None)


def make_example(id: str, answers: int, wrong: int, *, title: str = "page") -> Example:
    judged = [Judged(f"w{at} w1", True) for at in range(answers)]
    judged += [Judged(f"w{30 + at} w{at % 3}", False) for at in range(wrong)]
    return to_ordered_example(id, "w0 w1 w2", judged, title=title)


def test_a_short_list_is_not_truncated() -> None:
    example = make_example("q", 2, 3)
    chosen = choose_candidates(example, limit=8, rng=random.Random(0))
    assert [label for _, label in chosen] == [True] * 2 + [False] * 3


def test_a_long_list_is_truncated_to_answers_and_hard_negatives() -> None:
    example = make_example("q", 6, 25)
    chosen = choose_candidates(example, limit=8, rng=random.Random(0))
    assert [label for _, label in chosen] == [True] * 4 + [False] * 4
    words = set(example.question.split())
    assert all(words & set(item.text.split()) for item, _ in chosen[4:6])


def test_the_chosen_candidates_depend_only_on_the_seed() -> None:
    example = make_example("q", 6, 25)
    runs = [choose_candidates(example, limit=8, rng=random.Random(seed)) for seed in (1, 1, 2)]
    assert runs[0] == runs[1] != runs[2]


def test_a_sentence_of_another_list_is_added_as_a_negative() -> None:
    examples = [make_example("a", 1, 2), make_example("b", 1, 20)]
    batch = CandidateLists(examples, READER, max_candidates=30).batch(torch.tensor([0]))
    assert batch.list_lengths.tolist() == [4]
    assert batch.labels.tolist() == [1, 0, 0, 0]


def test_no_negative_is_added_without_other_sentences() -> None:
    alone = to_unordered_example("q", "w0", [Judged("w1", True), Judged("w2", False)])
    assert CandidateLists([alone], READER).batch(torch.tensor([0])).list_lengths.tolist() == [2]


def test_a_batch_holds_every_pair_once_in_chunks_of_similar_length(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rejoinder.training.batches.CHUNK", 4)
    lists = CandidateLists([make_example("a", 1, 4), make_example("b", 2, 5)], READER)
    batch = lists.batch(torch.tensor([1, 0]))
    places = torch.cat([chunk.places for chunk in batch.chunks])
    assert sorted(places.tolist()) == list(range(len(batch.labels)))
    assert max(len(chunk.places) for chunk in batch.chunks) == 4


def test_padding_is_masked() -> None:
    (chunk,) = make_chunks([to_feed([5, 6, 7], [0, 0, 1]), to_feed([5, 6], [0, 1])])
    assert chunk.places.tolist() == [1, 0]
    assert chunk.inputs["ids"].tolist() == [[5, 6, 0], [5, 6, 7]]
    assert chunk.inputs["mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert chunk.inputs["kinds"].tolist() == [[0, 1, 0], [0, 0, 1]]


def test_lists_describe_themselves() -> None:
    lists = CandidateLists([make_example("a", 1, 2)], READER)
    assert lists.describe() == {"questions": 1, "pairs": 3, "characters": 17}
