"""How related a question is to what stands around a candidate: features for a small ranker.

Of the sentence before, the one after and the title: the mean over the question's words of the
largest cosine to a word there; 0 where there is none.  Each distinct text meets the question once.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rejoinder.models.ranker.relatedness import take_closest
from rejoinder.models.selector.context import MAX_TITLE, get_place
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate

COUNT = 3
MAX_WORDS = 64
"""Words of a text around that are looked at."""

Features = NDArray[np.float32]
Embed = Callable[[Sequence[str]], NDArray[np.float32]]


def relate_surroundings(question: str, candidates: Sequence[Candidate], embed: Embed) -> Features:
    """Return the features of each candidate, shape (C, 3).

    Args:
        embed: gives words vectors of length 1.
    """
    around = [_look_around(candidate) for candidate in candidates]
    words = {text: pretokenize(text)[:MAX_WORDS] for texts in around for text in texts}
    known = [text for text, found in words.items() if found]
    asked = pretokenize(question)[:MAX_WORDS]
    related = dict.fromkeys(words, 0.0)
    if known and asked:
        related |= zip(known, _relate(asked, [words[text] for text in known], embed), strict=True)
    found = [[related[text] for text in texts] for texts in around]
    return np.array(found, dtype=np.float32).reshape(len(candidates), COUNT)


def _look_around(candidate: Candidate) -> tuple[str, str, str]:
    """Return the sentence before, the one after, and the title; empty where there is none."""
    document, place = candidate.document, get_place(candidate)
    if document is None:
        return "", "", ""
    title = document.title[:MAX_TITLE]
    if place is None:
        return "", "", title
    before = document.sentences[place - 1] if place > 0 else ""
    after = document.sentences[place + 1] if place + 1 < len(document.sentences) else ""
    return before, after, title


def _relate(asked: Sequence[str], texts: Sequence[Sequence[str]], embed: Embed) -> list[float]:
    distinct = list(dict.fromkeys(word for text in texts for word in text))
    numbers = {word: number for number, word in enumerate(distinct)}
    vectors = embed([*asked, *distinct])
    cosines = vectors[: len(asked)] @ vectors[len(asked) :].T
    flat = np.array([numbers[word] for text in texts for word in text], dtype=np.int64)
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    _, of_question = take_closest(cosines, flat, lengths)
    means: list[float] = of_question.mean(axis=1).tolist()
    return means
