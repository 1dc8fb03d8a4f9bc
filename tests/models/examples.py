"""Small examples and small word vectors for tests of rankers."""

import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.types import Candidate, Document, Example

WIDTH = 8


class SpelledVectors:
    """A unit vector per word, drawn from its spelling."""

    width = WIDTH

    def embed(self, words: Sequence[str]) -> NDArray[np.float32]:
        rows = [
            np.random.default_rng(zlib.crc32(word.encode())).normal(size=WIDTH) for word in words
        ]
        matrix = np.array(rows, dtype=np.float32).reshape(-1, WIDTH)
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def make_examples() -> list[Example]:
    """Return twelve questions over one page each; the answer names what the question asks for."""
    things = ["cat", "dog", "cow", "owl", "hen", "fox", "bee", "ant", "ape", "eel", "elk", "emu"]
    examples = []
    for number, thing in enumerate(things):
        sentences = (f"the {thing} is here", "it rained all day", "a tree", "no word of it")
        document = Document(thing, thing, sentences)
        candidates = tuple(
            Candidate(str(at), text, document, at) for at, text in enumerate(sentences)
        )
        order = [0, 1, 2, 3] if number % 2 else [1, 0, 2, 3]
        examples.append(
            Example(
                thing,
                f"where is the {thing}",
                tuple(candidates[at] for at in order),
                tuple(at == 0 for at in order),
            )
        )
    return examples
