"""Cuts text into words and word pieces the way BERT's uncased tokenizer does.

A word is a run of characters between white space and punctuation; each punctuation mark
and each Chinese character is a word too.  A word becomes the longest pieces of the
vocabulary from left to right (Schuster & Nakajima 2012; Devlin et al. 2019), or the
unknown piece where that fails.  Words repeat, so each is cut once and remembered: that
makes plain Python as fast here as a compiled tokenizer (docs/decisions).
"""

import re
import sys
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256

CLS, SEP = "[CLS]", "[SEP]"
MAX_WORD_LENGTH = 100
MAX_REMEMBERED = 500_000


class WordPiece:
    """A vocabulary of word pieces, and how words are made of them."""

    def __init__(self, vocabulary: Sequence[str], *, unknown: str = "[UNK]") -> None:
        self.vocabulary = tuple(vocabulary)
        self._ids = {piece: id_ for id_, piece in enumerate(self.vocabulary)}
        self.unknown = self._ids[unknown]
        self._remembered: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.vocabulary)

    @cached_property
    def hash(self) -> str:
        """What tells this vocabulary from every other: stored pieces are keyed by it."""
        return hash_vocabulary(self.vocabulary)

    def cut_text(self, text: str) -> list[tuple[int, ...]]:
        """Return the pieces of each word of a text."""
        return self.cut_words(split_words(text))

    def cut_words(self, words: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the pieces of each word."""
        remembered = self._remembered
        return [
            found if (found := remembered.get(word)) is not None else self._cut_word(word)
            for word in words
        ]

    def encode(self, text: str) -> bytes:
        """Return the pieces of a text in a form to store: 32-bit numbers, low byte first.

        A piece that begins a word is its id; one that goes on is -1 - id.
        """
        numbers = array("i")
        for first, *rest in self.cut_text(text):
            numbers.append(first)
            numbers.extend(-1 - piece for piece in rest)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()

    def _cut_word(self, word: str) -> tuple[int, ...]:
        pieces = self._match(word)
        if len(self._remembered) < MAX_REMEMBERED:
            self._remembered[word] = pieces
        return pieces

    def _match(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_LENGTH:
            return (self.unknown,)
        pieces: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                id_ = self._ids.get(mark + word[start:end])
                if id_ is not None:
                    break
            else:
                return (self.unknown,)
            pieces.append(id_)
            start, mark = end, "##"
        return tuple(pieces)


def hash_vocabulary(vocabulary: Iterable[str]) -> str:
    """Return what tells word pieces from others."""
    return sha256("\n".join(vocabulary).encode()).hexdigest()[:16]


def split_words(text: str) -> list[str]:
    """Return the words of a text, lower-cased and without accents.

    >>> split_words("Café-bar, 3.5 km!")
    ['cafe', '-', 'bar', ',', '3', '.', '5', 'km', '!']
    """
    if text.isascii() and text.isprintable():
        return _PRINTABLE_WORD.findall(text.lower())
    return unicodedata.normalize("NFD", text).translate(_CHARACTERS).split()


class _Characters(dict[int, str | None]):
    """What becomes of each character; filled as characters are met, there are a million."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        # Letter by letter: Python's own lower() looks around a Greek sigma, BERT's does not.
        becomes: str | None = character.lower()
        if character in "\t\n\r" or category in {"Zs", "Zl", "Zp"}:
            becomes = " "
        elif category == "Mn" or category.startswith("C") or code == 0xFFFD:
            becomes = None
        elif category.startswith("P") or _ASCII_SYMBOL.match(character) or _is_chinese(code):
            becomes = f" {character} "
        self[code] = becomes
        return becomes


_CHARACTERS = _Characters()
_ASCII_SYMBOL = re.compile(r"[!-/:-@\[-`{-~]")
_PRINTABLE_WORD = re.compile(r"[a-z0-9]+|[!-/:-@\[-`{-~]")
_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B81F),
    (0x2B920, 0x2CEAF),  # the tokenizers library leaves 256 characters out before this
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_chinese(code: int) -> bool:
    return any(first <= code <= last for first, last in _CHINESE)
