"""Shows which words of a question an answer matches: Cosinet's relatedness.

Bonadiman & Moschitti 2020: each word of the question keeps its largest cosine to a word of the
sentence; here with the word that it belongs to.
"""

from typing import NamedTuple

from rejoinder.models.static_vectors.vectors import StaticVectors
from rejoinder.text.wordpiece import split_words


class Match(NamedTuple):
    """A word of the question, the word of the sentence that is closest, and their cosine."""

    asked: str
    found: str
    relatedness: float


def match_words(question: str, sentence: str, vectors: StaticVectors) -> list[Match]:
    """Return the closest word of a sentence for each word of a question, in its order."""
    asked = _list_words(question)
    words = _list_words(sentence)
    if not asked or not words:
        return []
    cosines = vectors.embed(asked) @ vectors.embed(words).T
    places = cosines.argmax(axis=1).tolist()
    return [
        Match(word, words[place], round(float(row[place]), 3))
        for word, place, row in zip(asked, places, cosines, strict=True)
    ]


def _list_words(text: str) -> list[str]:
    return [word for word in dict.fromkeys(split_words(text)) if any(map(str.isalnum, word))]
