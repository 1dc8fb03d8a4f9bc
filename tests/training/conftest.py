"""Small examples and small word vectors for training tests."""

import zlib
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from rejoinder.types import Candidate, Document, Example

WIDTH = 8


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Small work is slower on two threads, and much slower where the machine is shared."""
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)


class SpelledVectors:
    """A unit vector drawn from each word's spelling."""

    width = WIDTH

    def embed(self, words: Sequence[str]) -> NDArray[np.float32]:
        rows = [
            np.random.default_rng(zlib.crc32(word.encode())).normal(size=WIDTH) for word in words
        ]
        matrix = np.array(rows, dtype=np.float32).reshape(-1, WIDTH)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


@pytest.fixture
def vectors() -> SpelledVectors:
    return SpelledVectors()


@pytest.fixture
def examples() -> list[Example]:
    """Return twelve questions over one page each; the answer names what was asked for."""
    things = ["cat", "dog", "cow", "owl", "hen", "fox", "bee", "ant", "ape", "eel", "elk", "emu"]
    found = []
    for place, thing in enumerate(things):
        sentences = (f"the {thing} is here", "it rained all day", "a tree", "no word of it")
        document = Document(thing, thing, sentences)
        candidates = tuple(
            Candidate(str(at), text, document, at) for at, text in enumerate(sentences)
        )
        order = [0, 1, 2, 3] if place % 2 else [1, 0, 2, 3]
        found.append(
            Example(
                thing,
                f"where is the {thing}",
                tuple(candidates[at] for at in order),
                tuple(at == 0 for at in order),
            )
        )
    return found


MakeExample = Callable[..., Example]


@pytest.fixture
def make_example() -> MakeExample:
    """Return an example with these candidate texts, the first of them the answer."""

    def make(question: str, *texts: str, in_order: bool = True) -> Example:
        candidates = tuple(
            Candidate(str(place), text, position=place if in_order else None)
            for place, text in enumerate(texts)
        )
        return Example("q", question, candidates, tuple(place == 0 for place in range(len(texts))))

    return make
