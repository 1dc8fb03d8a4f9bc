"""Lines → running text: hyphens at line ends that only break a word are removed."""

import re
from collections import Counter
from collections.abc import Iterable

from rejoinder.documents.blocks import fold

_HYPHENS = ("-", "\u2010")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(r"([^\W\d_]+)[-\u2010]$")
_BROKEN_NAME = re.compile(r"(?:://\S*[/.#?=&_-]|\w_)$")
_NAME_GOES_ON = re.compile(r"[^\s./_=#%:]+[./_=#%:]\w")
"""What follows a URL or an identifier that is broken at a line's end: more than a plain word."""
_BEGINNING = re.compile(r"[^\W\d_]+")


class Hyphens:
    """Joins lines, with the words of the document as a dictionary."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        broken = False
        for line in lines:
            words = _WORD.findall(line.lower())
            # The halves of a broken word are no words.
            breaks = line.endswith(_HYPHENS) and _BROKEN.search(line[-30:]) is not None
            self._words.update(words[broken : len(words) - breaks])
            broken = breaks

    def join(self, lines: Iterable[str]) -> str:
        """Return lines as one text."""
        text = ""
        for line in lines:
            folded = fold(line)
            if not text or not folded:
                text = text or folded
            elif text[-1] in _HYPHENS:
                text = self._join_word(text, folded)
            elif _BROKEN_NAME.search(text[-200:]) and _NAME_GOES_ON.match(folded):
                text += folded
            else:
                text += " " + folded
        return text

    def _join_word(self, text: str, line: str) -> str:
        broken, rest = _BROKEN.search(text[-30:]), _BEGINNING.match(line)
        if not broken or not rest:
            # A dash between words has a blank before it, and gets one after it.
            return text + (" " if text[-2:-1] in ("", " ") else "") + line
        head, tail = broken[1].lower(), rest[0].lower()
        if broken[1].isupper() == rest[0].islower() or self._is_compound(head, tail):
            return text + line
        return text[:-1] + line

    def _is_compound(self, head: str, tail: str) -> bool:
        """Tell a hyphen that is written also inside a line from one that breaks a word."""
        words = self._words
        joined, compound = words[head + tail], words[f"{head}-{tail}"]
        if joined or compound:
            return compound > joined
        return len(head) > 2 and len(tail) > 2 and bool(words[head]) and bool(words[tail])
