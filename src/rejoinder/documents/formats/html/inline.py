"""The text of one block while it is read: words, links, scripts, line breaks."""

import re
from typing import Any

from rejoinder.documents.blocks import Kind, fold, sanitize
from rejoinder.documents.formats.html.drafts import Draft
from rejoinder.documents.formats.html.navigation import SYMBOLS, is_step
from rejoinder.documents.notation import strip_code, subscript, superscript

CODE = frozenset({"code", "tt", "kbd", "samp"})
_MARKED = frozenset({"a", "sup", "sub", "b", "strong"}) | CODE
_BREAK = "\x1e"  # a line break; white space for Python, and no character of a page
_BREAKS = re.compile(rf"{_BREAK}[ \t\r\n\xa0]*{_BREAK}[ \t\r\n\xa0{_BREAK}]*")
_BULLET = re.compile(r"(?:[·•▪o§\uf0b7\uf0a7–-]|\(?\w{1,4}[.)])[ \xa0]*\xa0\s*")
_BLANKS = re.compile(r"[ \t\r\n]+")  # but no-break spaces indent code
_SHORT = 40  # characters; in longer text without links, separators do not count
_NOT_WORD = re.compile(r"[\W_]+")


class Inline:
    """The text of the block that is being read."""

    def __init__(self) -> None:
        self.anchor = ""  # of the block itself
        self._open: list[tuple[str, int, bool]] = []  # tag, its first word, whether it is a link
        self._linked = self._styled = 0  # open elements
        self._reset()

    def _reset(self) -> None:
        self.words: list[str] = []
        self.blank = True
        self.line: int | None = None
        self._size_linked = self._size_styled = self._links = self._steps = 0
        self._coded = False

    def add(self, text: str, element: Any, after: int = 0) -> None:
        """Add the text inside an element, or after it, which is `after` lines below its start."""
        self.words.append(text)
        if self.blank and not text.isspace():
            self.blank = False
            before = text[: len(text) - len(text.lstrip())]
            self.line = (element.sourceline or 0) + after + before.count("\n")
        if self._linked or self._styled:
            size = len(_NOT_WORD.sub("", text))
            self._size_linked += size if self._linked else 0
            self._size_styled += size if self._styled else 0

    def start(self, tag: str, element: Any) -> None:
        """Open an inline element."""
        if tag == "br":
            self.words.append(_BREAK)
        elif tag in _MARKED:
            link = tag == "a" and element.get("href") is not None
            self._open.append((tag, len(self.words), link))
            if tag == "a":
                self._linked += link
                self._links += link
            elif tag not in {"sup", "sub"}:
                self._styled += 1
                self._coded = self._coded or tag in CODE

    def end(self, tag: str, element: Any) -> None:
        """Close an inline element."""
        if tag not in _MARKED or not self._open:
            return
        _, start, link = self._open.pop()
        if tag == "a":
            self._linked -= link
            text = "".join(self.words[start:]) if link and len(self.words) < start + 9 else ""
            if text.strip().casefold() in SYMBOLS:
                del self.words[start:]
            elif link and is_step(text, element.get("rel"), element.get("accesskey")):
                self._steps += 1
        elif tag in {"sup", "sub"}:
            self._end_script(tag, start, element)
        else:
            self._styled -= 1

    def _end_script(self, tag: str, start: int, element: Any) -> None:
        text = fold("".join(self.words[start:]))
        del self.words[start:]
        if tag == "sub":
            script = subscript(text) if text else ""
        elif self._linked or element.find(".//a[@href]") is not None:
            script = ""
        else:
            script = _superscript(text, "".join(self.words[-3:]))
        self.words.append(script)

    def take(self, kind: Kind, *, code: bool) -> list[Draft]:
        """End the block, and return it; two line breaks divide it.

        `code` says that a paragraph whose words are all code is a block of code.
        """
        if self.blank:
            self._reset()
            return []
        text = "".join(self.words)
        parts = [text]
        if code and self._is_code(kind, text):
            kind = "code"
            lines = (_BLANKS.sub(" ", line).strip(" ") for line in text.split(_BREAK))
            parts = [strip_code(sanitize("\n".join(lines)).replace("\xa0", " "))]
        else:
            if kind == "item" and (bullet := _BULLET.match(text.lstrip())):
                text = text.lstrip()[bullet.end() :]
            pieces = _BREAKS.split(text) if _BREAK in text else [text]
            parts = [fold(sanitize(piece)) for piece in pieces]
        drafts = []
        for part in filter(None, parts):
            drafts.append(self._draft(kind, part))
            kind = "paragraph" if kind == "item" else kind
            self._size_linked = self._links = self._steps = 0
        self.anchor = ""
        self._open = [(tag, 0, link) for tag, _, link in self._open]
        self._reset()
        return drafts

    def _is_code(self, kind: Kind, text: str) -> bool:
        """Say whether a paragraph is code alone."""
        return (
            self._coded
            and kind == "paragraph"
            and self._size_styled >= len(_NOT_WORD.sub("", text)) > 0
        )

    def _draft(self, kind: Kind, text: str) -> Draft:
        exact = self._links or self._size_styled or len(text) < _SHORT
        words = _NOT_WORD.sub("", text) if exact else text
        return Draft(
            kind,
            text,
            self.line,
            self.anchor,
            size=len(words),
            linked=self._size_linked,
            links=self._links,
            steps=self._steps,
            emphatic=0 < len(words) <= self._size_styled,
        )


_SIGNS = {"TM": "™", "tm": "™", "(TM)": "™", "SM": "℠", "R": "®", "(R)": "®", "®": "®", "™": "™"}
_NOTE = re.compile(r"\[[^\]]{1,20}\]|[*†‡§¶]+")
_UNIT = re.compile(
    r"(?:met(?:er|re)|second|feet|foot|inch|mile|yard|pixel)(?:e?s)?$", re.IGNORECASE
)
_TAKES_NOTE = re.compile(r"[^\W\d_]{4}$|[.,;:!?)\]\"'”’]$")


def _superscript(text: str, before: str) -> str:
    """Return raised text; nothing for the mark of a footnote, which follows a word or a stop."""
    if not text or _NOTE.fullmatch(text):
        return ""
    is_note = text.isdecimal() and len(text) <= 2 and (not before or _TAKES_NOTE.search(before))
    if is_note and not (text in {"2", "3"} and _UNIT.search(before)):
        return ""
    if text.isalpha() and len(text) > 1 and before[-1:].isdigit():
        return text  # an ordinal: 5th, 1er
    return _SIGNS.get(text) or superscript(text)
