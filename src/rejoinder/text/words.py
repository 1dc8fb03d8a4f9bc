"""Word splitters: text into words with their offsets.

The splitters have names, because a count of shared words means nothing without one:
`unicode` (runs of letters, marks and digits; each Chinese or Japanese character is a
word), `whitespace`, and `spacy` (English, needs the extra `reproduce`; only for
reproducing published figures).
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from rejoinder.errors import MissingExtraError, UnknownNameError

MAX_CACHED_LENGTH = 500


class Word(NamedTuple):
    """A word of a text and its offsets: `text[start:end] == word.text`."""

    text: str
    start: int
    end: int


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list in the source code, which white space separates."""
    return frozenset(text.split())


FUNCTION_WORDS = word_set(
    """
    a about also am an and any are aren as at be because been being but by can cannot could couldn
    d did didn do does doesn don else ever for from get had has hasn have haven he her here him his
    how i if in into is isn it its just ll m many may me might much must my of on or our re s shall
    she should shouldn so some such t than that the their them then there these they this those to
    too us ve very want was wasn we were weren what when where which who whom whose why will with
    won would wouldn you your
    """
)
"""Words of English questions that say nothing about their topic, and parts of contractions."""

WordSplitter = Callable[[str], list[Word]]


def split_words(text: str) -> list[Word]:
    """Split a text into words by Unicode category.

    >>> [word.text for word in split_words("Dr. Smith's 3 cats")]
    ['Dr', 'Smith', 's', '3', 'cats']
    """
    return _to_words(_choose_pattern(text).finditer(text))


def split_whitespace(text: str) -> list[Word]:
    """Split a text at white space; punctuation stays attached."""
    return _to_words(_NOT_SPACE.finditer(text))


def split_spacy(text: str) -> list[Word]:
    """Split a text with spaCy's English tokenizer."""
    return [
        Word(token.text, token.idx, token.idx + len(token.text))
        for token in _spacy_tokenizer()(text)
        if not token.is_space
    ]


WORD_SPLITTERS: dict[str, WordSplitter] = {
    "unicode": split_words,
    "whitespace": split_whitespace,
    "spacy": split_spacy,
}


def get_word_splitter(name: str) -> WordSplitter:
    """Return the word splitter of this name."""
    if name not in WORD_SPLITTERS:
        raise UnknownNameError("word splitter", name, WORD_SPLITTERS)
    return WORD_SPLITTERS[name]


def normalise(word: str) -> str:
    """Return the form in which words are compared: NFKC, case-folded.

    >>> normalise("Straße") == normalise("STRASSE")
    True
    """
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def normalise_words(text: str, split: WordSplitter) -> tuple[str, ...]:
    """Split a text and normalise its words.

    The words of sentences are cached, because candidate lists repeat sentences across
    questions and scorers.  Longer texts are not: a server may receive megabytes of new ones.
    """
    is_long = len(text) > MAX_CACHED_LENGTH
    return _normalise_words(text, split) if is_long else _normalise_words_cached(text, split)


def _normalise_words(text: str, split: WordSplitter) -> tuple[str, ...]:
    if split is split_words and text.isascii():
        # The same words without their offsets, which cost more than the words.
        return tuple(_ASCII_LOWER_WORD.findall(text.lower()))
    return tuple(normalise(word.text) for word in split(text))


_normalise_words_cached = lru_cache(maxsize=16_384)(_normalise_words)


_NOT_SPACE = re.compile(r"\S+")
_ASCII_LOWER_WORD = re.compile(r"[a-z0-9]+")
# Latin, Greek and Cyrillic letters, dashes and quotes: no combining mark, no ideograph.
_PLAIN = re.compile("[\x00-\u02ff\u0370-\u0482\u048a-\u058f\u2000-\u20cf]*")
_PLAIN_WORD = re.compile(r"[^\W_]+")
# Han, kana and their extensions: scripts without spaces between words.
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


def _choose_pattern(text: str) -> re.Pattern[str]:
    """Return the fastest pattern that finds the words of this text."""
    return _PLAIN_WORD if text.isascii() or _PLAIN.fullmatch(text) else _unicode_word()


@cache
def _unicode_word() -> re.Pattern[str]:
    # Python's \w does not match combining marks, which would break Hindi and Arabic words;
    # `re` has no class for them, so they are listed here, on first use.
    marks = "".join(
        re.escape(character)
        for character in map(chr, range(0x300, 0x1F000))
        if unicodedata.category(character).startswith("M")
    )
    letter = rf"(?:(?![{_IDEOGRAPH}])[^\W_])"
    return re.compile(rf"[{_IDEOGRAPH}]|{letter}(?:{letter}|[{marks}])*")


def _to_words(matches: Iterable[re.Match[str]]) -> list[Word]:
    return [Word(match.group(), match.start(), match.end()) for match in matches]


@cache
def _spacy_tokenizer() -> Any:
    try:
        import spacy
    except ImportError as error:
        raise MissingExtraError("the word splitter 'spacy'", extra="reproduce") from error
    return spacy.blank("en").tokenizer
