"""What the words of a statement and of a sentence have in common, as numbers for the head."""

import re
from collections.abc import Hashable, Sequence, Set

import numpy as np

from rejoinder.models.scorer import Scores
from rejoinder.text.words import word_set
from rejoinder.types import Candidate

NAMES = (
    "words",
    "words_with_title",
    "pairs",
    "numbers_missing",
    "names_missing",
    "negation_added",
    "negation_differs",
    "statement_length",
    "sentence_length",
)
"""The features, in their order."""

MAX_MISSING = 2
NEAR = 3
"""Words between which a pair of the statement is still together in a sentence."""
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*")
_STOP = word_set(
    """a an and are as at be been by can could did do does for from had has have he her him his i in
    is it its of on or she so such than that the their them then there these they this those to was
    we were what when where which who whom whose will with would you your s"""
)
_NEGATIONS = word_set(
    "no not never none nor neither without cannot t only refuses failed unable unlike"
)
_ENDINGS = ("ing", "ed", "es", "ly", "s")
MIN_STEM = 4


def compare_words(statement: str, candidates: Sequence[Candidate]) -> Scores:
    """Return the features of each candidate, (candidates, `NAMES`)."""
    own = _Words(statement)
    return np.array([own.compare(candidate) for candidate in candidates], dtype=np.float64)


class _Words:
    """The words of a statement that say something."""

    def __init__(self, statement: str) -> None:
        words = _WORD.findall(statement)
        content = [word for word in words if word.lower() not in _STOP]
        self._stems = [_stem(word) for word in content]
        self._pairs = list(zip(self._stems, self._stems[1:], strict=False))
        self._numbers = {_stem(word) for word in content if word[0].isdigit()}
        self._names = {
            _stem(word) for word in words[1:] if word[0].isupper() and word.lower() not in _STOP
        }
        self._is_negative = _is_negative(words)

    def compare(self, candidate: Candidate) -> list[float]:
        words = _WORD.findall(candidate.text)
        stems = [_stem(word) for word in words]
        found = set(stems)
        title = candidate.document.title if candidate.document else ""
        known = found | {
            _stem(word)
            for text in (title.replace("_", " "), *candidate.headings)
            for word in _WORD.findall(text)
        }
        is_negative = _is_negative(words)
        return [
            _count_share(self._stems, found),
            _count_share(self._stems, known),
            _count_share(self._pairs, set(_list_pairs(stems))),
            min(MAX_MISSING, len(self._numbers - known)),
            min(MAX_MISSING, len(self._names - known)),
            float(self._is_negative and not is_negative),
            float(self._is_negative != is_negative),
            float(np.log1p(len(self._stems))),
            float(np.log1p(len(stems))),
        ]


def _stem(word: str) -> str:
    """Return a word in lower case without its ending.

    >>> _stem("Operated"), _stem("operates")
    ('operat', 'operat')
    """
    low = word.lower()
    for ending in _ENDINGS:
        if low.endswith(ending) and len(low) - len(ending) >= MIN_STEM:
            return low.removesuffix(ending)
    return low


def _is_negative(words: Sequence[str]) -> bool:
    return any(word.lower() in _NEGATIONS for word in words)


def _list_pairs(stems: Sequence[str]) -> list[tuple[str, str]]:
    return [
        (first, other)
        for place, first in enumerate(stems)
        for other in stems[place + 1 : place + 1 + NEAR]
    ]


def _count_share(wanted: Sequence[Hashable], found: Set[Hashable]) -> float:
    return sum(item in found for item in wanted) / len(wanted) if wanted else 0.0
