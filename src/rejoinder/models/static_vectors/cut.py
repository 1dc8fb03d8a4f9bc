"""Published word vectors, cut to the words that training needs."""

from collections.abc import Iterable
from pathlib import Path

from rejoinder.models.static_vectors.files import read_vector_file
from rejoinder.models.static_vectors.vectors import StaticVectors, quantise
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Example

MOST_FREQUENT = 50_000
"""Published files go from frequent to rare; so many are kept for texts yet to come."""


def cut_vectors(path: Path, examples: Iterable[Example]) -> StaticVectors:
    """Read the vectors of the examples' words, and of the first words of the file.

    Raises:
        DataError: the file is torn, or holds none of the words.
    """
    needed = {
        word
        for example in examples
        for text in (example.question, *(item.text for item in example.candidates))
        for word in pretokenize(text)
    }
    seen = 0

    def is_wanted(word: str) -> bool:
        nonlocal seen
        seen += 1
        return word in needed or (seen <= MOST_FREQUENT and pretokenize(word) == [word])

    words, matrix = read_vector_file(path, is_wanted, required=needed)
    return StaticVectors(words, *quantise(matrix), are_pieces=False)
