import json
import random
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from weakref import WeakSet

import pytest

torch = pytest.importorskip("torch")

from rejoinder.datasets.readers.judged import Judged, to_ordered_example, to_unordered_example  # noqa: E402
from rejoinder.datasets.stream import ExampleStream  # noqa: E402
from rejoinder.errors import TrainingError  # noqa: E402
from rejoinder.models.onnx_session import to_feed  # noqa: E402
from rejoinder.models.selector.context import ContextConfig  # noqa: E402
from rejoinder.models.selector.pair_reader import (  # noqa: E402
    PairReader,
    PairTokens,
)
from rejoinder.text.wordpiece import WordPiece  # noqa: E402
from rejoinder.training.batches import CandidateLists, choose_candidates, make_chunks  # noqa: E402
from rejoinder.training.mixing import AnsweredQuestions, read_parts  # noqa: E402
from rejoinder.types import Document, Example  # noqa: E402

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


def get_digest(lists: CandidateLists) -> str:
    """Return a hash of all lists: their texts and labels, in order."""
    chosen = [
        [(item.id, item.text, bool(label)) for item, label in pairs] for pairs in lists._lists
    ]
    return sha256(json.dumps(chosen).encode()).hexdigest()[:16]


def test_the_lists_of_published_models_stay_the_same(data_folder: Path) -> None:
    parts = read_parts(["wikiqa", "trecqa"], data_folder)
    assert get_digest(CandidateLists(AnsweredQuestions(parts), READER)) == "c6943ca932e9ff9e"


def draw_examples(count: int) -> list[Example]:
    """Return random lists of 1 to 30 sentences about 4 pages; some sentences occur twice."""
    rng = random.Random(0)
    examples = []
    for number in range(count):
        texts = [" ".join(rng.choices(WORDS, k=3)) for _ in range(rng.randint(1, 30))]
        judged = [Judged(text, place % 9 == 0) for place, text in enumerate(texts)]
        title = f"page {number % 4}"
        examples.append(to_ordered_example(f"q{number}", texts[0], judged, title=title))
    return examples


def test_lists_depend_on_the_seed_alone_not_on_how_examples_are_read() -> None:
    examples = draw_examples(60)
    stream = ExampleStream(lambda: iter(draw_examples(60)))
    digests = [get_digest(CandidateLists(given, READER)) for given in (examples, stream)]
    assert digests == ["88878e44be9fa607"] * 2
    assert get_digest(CandidateLists(examples, READER, seed=1)) != digests[0]


class CountedText(str):
    """A text whose life can be followed."""

    __slots__ = ("__weakref__",)


def test_only_chosen_candidates_stay_in_memory() -> None:
    alive: WeakSet[CountedText] = WeakSet()
    most = 0

    def read() -> Iterator[Example]:
        nonlocal most
        for number in range(200):
            texts = [CountedText(f"w{number % 60} n{number}x{place}") for place in range(100)]
            alive.update(texts)
            most = max(most, len(alive))
            judged = [Judged(text, place == 0) for place, text in enumerate(texts)]
            del texts
            yield to_ordered_example(str(number), f"w{number % 60}", judged)
            del judged

    lists = CandidateLists(ExampleStream(read), READER)

    assert lists.describe()["pairs"] == 200 * 9
    assert len(alive) <= 200 * 9
    assert most <= 200 * 9 + 3 * 100


def test_context_keeps_the_documents_once() -> None:
    reader = PairReader(PairTokens(PIECES, max_tokens=40), ContextConfig("local"), None)
    lists = CandidateLists(ExampleStream(lambda: iter(draw_examples(60))), reader)
    chosen = [item.document for pairs in lists._lists for item, _ in pairs]
    assert {document.id for document in chosen if document} == {f"q{at}" for at in range(60)}
    assert len({id(document) for document in chosen}) == 60


def test_all_candidates_are_kept_without_a_limit() -> None:
    passes = 0

    def read() -> Iterator[Example]:
        nonlocal passes
        passes += 1
        return iter([make_example("a", 6, 20), make_example("b", 1, 20)])

    lists = CandidateLists(ExampleStream(read), READER, max_candidates=None)

    assert lists.batch(torch.tensor([0, 1])).list_lengths.tolist() == [26, 21]
    assert passes == 1


def test_targets_keep_all_candidates_in_their_order_and_add_none() -> None:
    passes = 0
    examples = [make_example("a", 6, 20), make_example("b", 0, 3)]
    targets = [[at / 26 for at in range(26)], [0.5, 0.0, 0.25]]

    def read() -> Iterator[Example]:
        nonlocal passes
        passes += 1
        return iter(examples)

    lists = CandidateLists(ExampleStream(read), READER, max_candidates=8, targets=iter(targets))

    assert [[item.text for item, _ in pairs] for pairs in lists._lists] == [
        [item.text for item in example.candidates] for example in examples
    ]
    batch = lists.batch(torch.tensor([1, 0]))
    assert batch.list_lengths.tolist() == [3, 26]
    assert batch.labels.tolist() == pytest.approx(targets[1] + targets[0])
    assert passes == 1


def test_targets_must_be_as_many_as_the_candidates() -> None:
    with pytest.raises(ValueError, match="zip"):
        CandidateLists([make_example("a", 1, 2)], READER, targets=[[1.0, 0.0]])


@pytest.mark.parametrize("form", ["title", "headings", "prefix"])
@pytest.mark.parametrize("targets", [None, [[1.0, 0.0, 0.0]]])
def test_a_topic_keeps_titles_and_headings_without_the_sentences(
    form: str, targets: list[list[float]] | None
) -> None:
    reader = PairReader(PairTokens(PIECES, max_tokens=40), ContextConfig(form), None)
    example = make_example("a", 1, 2, title="w7 w8")
    candidates = [replace(item, headings=("w9",)) for item in example.candidates]
    candidates[2] = replace(candidates[2], document=None)
    given = replace(example, candidates=tuple(candidates))

    lists = CandidateLists([given], reader, targets=targets)

    kept = [item for item, _ in lists._lists[0]]
    assert [item.document for item in kept] == [Document("a", "w7 w8")] * 2 + [None]
    assert [item.headings for item in kept] == [("w9",)] * 3
    assert [item.position for item in kept] == [0, 1, 2]
    (chunk,) = lists.batch(torch.tensor([0])).chunks
    read = [[PIECES.vocabulary[id_] for id_ in row] for row in chunk.inputs["ids"].tolist()]
    assert sum("w7" in row for row in read) == 2
    assert sum("w9" in row for row in read) == (0 if form == "title" else 3)


def test_examples_that_change_between_the_passes_are_an_error() -> None:
    with pytest.raises(TrainingError, match="give a list instead of a generator"):
        CandidateLists(iter(draw_examples(10)), READER)
    first = [draw_examples(10)]

    def read() -> Iterator[Example]:
        if first:
            return iter(first.pop())
        return (replace(item, candidates=item.candidates[::-1]) for item in draw_examples(10))

    with pytest.raises(TrainingError, match="do not change the files"):
        CandidateLists(ExampleStream(read), READER)


def test_no_examples_make_no_lists() -> None:
    assert CandidateLists([], READER).describe() == {"questions": 0, "pairs": 0, "characters": 0}


def test_other_targets_are_other_lists_to_a_checkpoint() -> None:
    example = make_example("a", 1, 2)
    described = [
        CandidateLists([example], READER, targets=[own]).describe()
        for own in ([1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.75, 0.25, 0.0])
    ]

    assert described[0] != described[1] == described[2]


def test_fewer_targets_than_lists_are_an_error() -> None:
    with pytest.raises(ValueError, match="shorter"):
        CandidateLists([make_example("a", 1, 2)], READER, targets=[])
