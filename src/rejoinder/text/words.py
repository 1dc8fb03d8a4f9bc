"""Cuts text into words, each with its place in the text.

Three ways to cut have names, because a count of shared words means nothing without
one: `unicode` (ours: runs of letters, marks and digits; a Chinese or Japanese
character is a word of its own), `whitespace`, and `spacy` (English, the extra
`reproduce`; only there to repeat published figures).
"""

import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from typing import Any, NamedTuple

from rejoinder.errors import MissingExtraError, UnknownNameError

MAX_KEPT_CHARACTERS = 500


class Word(NamedTuple):
    """A word as it stands in the text: `text[start:end] == word.text`."""

    text: str
    start: int
    end: int


Cut = Callable[[str], list[Word]]


def cut_words(text: str) -> list[Word]:
    """Return the words of a text in order.

    >>> [word.text for word in cut_words("Dr. Smith's 3 cats")]
    ['Dr', 'Smith', 's', '3', 'cats']
    """
    return _to_words(_choose_pattern(text).finditer(text))


def cut_at_whitespace(text: str) -> list[Word]:
    """Return what stands between white space, punctuation included."""
    return _to_words(_NOT_SPACE.finditer(text))


def cut_like_spacy(text: str) -> list[Word]:
    """Return the tokens of spaCy's English tokenizer.

    Raises:
        MissingExtraError: spaCy is not installed.
    """
    return [
        Word(token.text, token.idx, token.idx + len(token.text))
        for token in _spacy_tokenizer()(text)
        if not token.is_space
    ]


CUTS: dict[str, Cut] = {
    "unicode": cut_words,
    "whitespace": cut_at_whitespace,
    "spacy": cut_like_spacy,
}


def get_cut(name: str) -> Cut:
    """Return the function that cuts words the named way."""
    if name not in CUTS:
        raise UnknownNameError("way to cut words", name, CUTS)
    return CUTS[name]


def normalise(word: str) -> str:
    """Return the form in which words are compared: compatible characters, no case.

    >>> normalise("Straße") == normalise("STRASSE")
    True
    """
    if word.isascii():
        return word.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())


def list_normalised(text: str, cut: Cut) -> tuple[str, ...]:
    """Return the words of a text in their compared form.

    Those of a sentence are kept, because candidate lists repeat sentences across questions and
    scorers.  Those of longer texts are not: a server may be sent megabytes, each time others.
    """
    is_long = len(text) > MAX_KEPT_CHARACTERS
    return _list_normalised(text, cut) if is_long else _keep_normalised(text, cut)


def _list_normalised(text: str, cut: Cut) -> tuple[str, ...]:
    if cut is cut_words and text.isascii():
        # The same words; their places, which cost more than they do, are left out.
        return tuple(_ASCII_LOWER_WORD.findall(text.lower()))
    return tuple(normalise(word.text) for word in cut(text))


_keep_normalised = lru_cache(maxsize=16_384)(_list_normalised)


_NOT_SPACE = re.compile(r"\S+")
_ASCII_LOWER_WORD = re.compile(r"[a-z0-9]+")
# Latin, Greek and Cyrillic letters, dashes and quotes: no mark to combine, no ideograph.
_PLAIN = re.compile("[\x00-\u02ff\u0370-\u0482\u048a-\u058f\u2000-\u20cf]*")
_PLAIN_WORD = re.compile(r"[^\W_]+")
# Han, kana and their extensions: scripts that put no space between words.
_IDEOGRAPH = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"


def _choose_pattern(text: str) -> re.Pattern[str]:
    """Return the simplest pattern that finds the words of this text: they differ in speed."""
    return _PLAIN_WORD if text.isascii() or _PLAIN.fullmatch(text) else _unicode_word()


@cache
def _unicode_word() -> re.Pattern[str]:
    # Python's \w leaves out combining marks, which would cut Hindi or Arabic words to
    # pieces; `re` has no class for them, so it is listed once, on first need.
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
        raise MissingExtraError("cutting words like spaCy", extra="reproduce") from error
    return spacy.blank("en").tokenizer
