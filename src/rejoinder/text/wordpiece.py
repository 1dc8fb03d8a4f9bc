"""WordPiece tokenisation as BERT's uncased tokenizer does it.

A word is a run of characters between white space and punctuation; each punctuation mark
and each Chinese character is a word too.  A word is split into the longest tokens of the
vocabulary from left to right (Schuster & Nakajima 2012; Devlin et al. 2019), or becomes the
unknown token where that fails.  Words repeat, so the tokens of each are cached: that makes
plain Python as fast here as a compiled tokenizer (docs/decisions).
"""

import re
import sys
import unicodedata
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from itertools import chain

from rejoinder.text.tokenizer import Frame

CLS, SEP = "[CLS]", "[SEP]"
MAX_WORD_LENGTH = 100
MAX_CACHED_WORDS = 500_000


class WordPiece:
    """A WordPiece vocabulary and its tokenizer."""

    def __init__(self, vocabulary: Sequence[str], *, unknown: str = "[UNK]") -> None:
        self.vocabulary = tuple(vocabulary)
        self._ids = {token: id_ for id_, token in enumerate(self.vocabulary)}
        self.unknown = self._ids[unknown]
        self._cache: dict[str, tuple[int, ...]] = {}

    def __len__(self) -> int:
        return len(self.vocabulary)

    @cached_property
    def hash(self) -> str:
        """Identifies the vocabulary; stored tokens are keyed by it."""
        return hash_vocabulary(self.vocabulary)

    @cached_property
    def frame(self) -> Frame:
        """The special tokens around texts; ValueError if the vocabulary lacks them."""
        cls, sep = (self.vocabulary.index(token) for token in (CLS, SEP))
        return Frame((cls,), (sep,), (sep,))

    def to_ids(self, text: str) -> list[int]:
        """Return the ids of a text, without special tokens around it."""
        return list(chain.from_iterable(self.tokenize(text)))

    def tokenize(self, text: str) -> list[tuple[int, ...]]:
        """Return the token ids of each word of a text."""
        return self.tokenize_words(pretokenize(text))

    def tokenize_words(self, words: Iterable[str]) -> list[tuple[int, ...]]:
        """Return the token ids of each word."""
        cache = self._cache
        return [
            ids if (ids := cache.get(word)) is not None else self._tokenize_word(word)
            for word in words
        ]

    def encode(self, text: str) -> bytes:
        """Return the token ids of a text for storage: 32-bit numbers, little-endian.

        A token that begins a word is its id; one that continues a word is -1 - id.
        """
        numbers = array("i")
        for first, *rest in self.tokenize(text):
            numbers.append(first)
            numbers.extend(-1 - id_ for id_ in rest)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tobytes()

    def _tokenize_word(self, word: str) -> tuple[int, ...]:
        ids = self._match(word)
        if len(self._cache) < MAX_CACHED_WORDS:
            self._cache[word] = ids
        return ids

    def _match(self, word: str) -> tuple[int, ...]:
        if len(word) > MAX_WORD_LENGTH:
            return (self.unknown,)
        ids: list[int] = []
        start, mark = 0, ""
        while start < len(word):
            for end in range(len(word), start, -1):
                id_ = self._ids.get(mark + word[start:end])
                if id_ is not None:
                    break
            else:
                return (self.unknown,)
            ids.append(id_)
            start, mark = end, "##"
        return tuple(ids)


def hash_vocabulary(vocabulary: Iterable[str]) -> str:
    """Return a hash that identifies a vocabulary."""
    return sha256("\n".join(vocabulary).encode()).hexdigest()[:16]


def pretokenize(text: str) -> list[str]:
    """Split a text into BERT's words, lower-cased and without accents.

    >>> pretokenize("Café-bar, 3.5 km!")
    ['cafe', '-', 'bar', ',', '3', '.', '5', 'km', '!']
    """
    if text.isascii() and text.isprintable():
        return _PRINTABLE_WORD.findall(text.lower())
    return unicodedata.normalize("NFD", text).translate(_CHARACTERS).split()


class _Characters(dict[int, str | None]):
    """A translation table that is filled on demand, because Unicode has a million characters."""

    def __missing__(self, code: int) -> str | None:
        character = chr(code)
        category = unicodedata.category(character)
        # Letter by letter: str.lower() looks at the letters around a Greek sigma, BERT does not.
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
    (0x2B920, 0x2CEAF),  # the tokenizers library omits the 256 characters before this range
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_chinese(code: int) -> bool:
    return any(first <= code <= last for first, last in _CHINESE)
