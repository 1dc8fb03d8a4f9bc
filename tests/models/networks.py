"""The same pairs and the same weights for torch and for the runtime."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from rejoinder.bundle.folder import open_bundle
from rejoinder.models.compare_aggregate.network import (
    CompareAggregateBilstmNetwork,
    CompareAggregateNetwork,
)
from rejoinder.models.cosinet.network import CosinetNetwork
from rejoinder.models.kernel import Ids, Matrix
from rejoinder.models.ranker.network import Network, PairArrays, Weights
from rejoinder.models.ranker.relatedness import max_relatedness
from rejoinder.models.ranker.scorer import RankerScorer
from rejoinder.models.rel_cnn.network import RelCnnNetwork
from rejoinder.models.scorer import find_segments
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate, Document, Example
from tests.models.examples import WIDTH, SpelledVectors

if TYPE_CHECKING:
    from rejoinder.models.ranker.module.ranker import Ranker

QUESTION = "who fed the old cat"
LISTS = {
    "one candidate": (QUESTION, ["the cat was fed by the neighbour of an old aunt"]),
    "one word": (QUESTION, ["cat"]),
    "several lengths": (
        QUESTION,
        ["a cat", "it rained all day and the old cat slept", "cat", "so"],
    ),
    "duplicates": (QUESTION, ["the cat the cat", "no word of it", "the cat the cat", "the"]),
    "question of one word": ("cat", ["a cat", "dog", "the old cat and the other cat"]),
    "candidate without words": (QUESTION, ["a cat", "", "fed"]),
    "question without words": ("", ["a cat was fed here", "", "fed"]),
    "long": (QUESTION, [f"the {n} of {n * n} cats " * (1 + n % 7) for n in range(40)]),
}
"""Questions with the texts of their candidates."""

NETWORKS: dict[str, type[Network]] = {
    "rel-cnn": RelCnnNetwork,
    "cosinet": CosinetNetwork,
    "compare-aggregate": CompareAggregateNetwork,
    "compare-aggregate-bilstm": CompareAggregateBilstmNetwork,
}


def open_ranker(folder: Path, *, compiled: bool = True) -> RankerScorer:
    """Return the scorer of a bundle, with the compiled kernel or without."""
    bundle = open_bundle(folder)
    return RankerScorer(bundle, NETWORKS[bundle.manifest.kind], compiled=compiled)


def make_pairs(question: str, texts: Sequence[str]) -> PairArrays:
    """Return what the runtime reads."""
    rows: dict[str, int] = {"": 0}
    question_rows, *answers = (
        np.array([rows.setdefault(word, len(rows)) for word in pretokenize(text) or [""]])
        for text in [question, *texts]
    )
    vectors = SpelledVectors().embed(list(rows))
    vectors[0] = 0
    lengths = np.array([len(answer) for answer in answers], dtype=np.int64)
    words = np.concatenate([*answers, np.empty(0, dtype=np.int64)])
    related = max_relatedness(vectors[question_rows] @ vectors.T, words, lengths)
    return PairArrays(vectors, question_rows, words, lengths, *related, vectors[:, :0])


def make_example(question: str, texts: Sequence[str], documents: Sequence[str] = ()) -> Example:
    """Return an example whose candidates stand in these documents, or in one."""
    names = documents or ["d"] * len(texts)
    candidates = tuple(
        Candidate(str(place), text, Document(name), place)
        for place, (text, name) in enumerate(zip(texts, names, strict=True))
    )
    return Example("q", question, candidates, (True,) + (False,) * (len(texts) - 1))


def read_example(example: Example) -> tuple[PairArrays, Ids]:
    """Return what the runtime reads of an example: pairs, and the lengths of its segments."""
    segments = find_segments(example.candidates)
    texts = [example.candidates[place].text for segment in segments for place in segment]
    lengths = np.array([len(segment) for segment in segments])
    return make_pairs(example.question, texts), lengths


def make_ranker(model: str, head: str = "none", seed: int = 0) -> "Ranker":
    """Return a new torch network, or skip the test where there is no torch."""
    torch = pytest.importorskip("torch")
    from rejoinder.models.ranker.module.ranker import RankerConfig, initialise

    torch.set_num_threads(1)
    return initialise(RankerConfig(model, vector_width=WIDTH, head=head), seed).eval()


def make_batch(example: Example) -> Any:
    """Return what the torch network reads of an example."""
    import torch

    from rejoinder.models.ranker.module.pairs import TrainingPairs

    return TrainingPairs([example], SpelledVectors()).batch(torch.tensor([0]))


def take_weights(ranker: "Ranker", part: str) -> Weights:
    """Return the arrays of the encoder, the head or the output, by their names inside of it."""
    return {
        name.removeprefix(f"{part}."): tensor.numpy()
        for name, tensor in ranker.state_dict().items()
        if name.startswith(f"{part}.")
    }


def encode_with_torch(ranker: "Ranker", example: Example) -> Matrix:
    """Return the pairs that the torch network encodes."""
    import torch

    with torch.no_grad():
        encoded: Matrix = ranker.encoder(make_batch(example)).numpy()
    return encoded


def score_with_torch(ranker: "Ranker", example: Example) -> Matrix:
    """Return the scores of the torch network."""
    import torch

    with torch.no_grad():
        scores: Matrix = ranker(make_batch(example)).numpy()
    return scores


def draw(shapes: dict[str, tuple[int, ...]]) -> Weights:
    """Return arrays of these shapes, for tests that need no torch."""
    rng = np.random.default_rng(0)
    return {
        name: (rng.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)
        for name, shape in shapes.items()
    }
