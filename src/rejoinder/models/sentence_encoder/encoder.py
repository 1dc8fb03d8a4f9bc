"""The protocol of sentence encoders, which semantic search needs.

An encoder turns a question, and each sentence with its title, headings and neighbours, into a
vector of length 1.  The nearer a sentence's vector is to the question's, the likelier it answers.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rejoinder.documents.passages import Passage

Vector = NDArray[np.float32]
Matrix = NDArray[np.float32]


class SentenceEncoder(Protocol):
    """Encodes questions and sentences."""

    @property
    def folder(self) -> Path:
        """The folder of the bundle."""
        ...

    @property
    def hash(self) -> str:
        """Identifies the weights: encoders with the same hash make the same vectors."""
        ...

    @property
    def tokenizer(self) -> str | None:
        """The hash of the tokenizer whose stored tokens it reads; None where it reads texts."""
        ...

    @property
    def width(self) -> int:
        """Numbers of a vector; a multiple of 64."""
        ...

    @property
    def min_cosine(self) -> float:
        """Sentences whose cosine with a question is smaller are not about it."""
        ...

    def encode_question(self, question: str) -> Vector:
        """Return the vector of a question, of length 1; zeros where it has no known word."""
        ...

    def encode_passages(self, title: str, passages: Sequence[Passage]) -> Matrix:
        """Return the vectors of the sentences of one document, shape (passages, width).

        Args:
            title: the title of the document.
        """
        ...
