"""Parsed documents: text, where its parts are in the file, and its sentences.

Every format becomes text with Markdown's marks for headings, list items and table rows, so that
one sentence splitter serves them all.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal, NamedTuple

Unit = Literal["line", "page"]


class Locations(NamedTuple):
    """Lines or pages of the file: `numbers[i]` applies from `starts[i]` of the text on."""

    unit: Unit
    starts: Sequence[int]
    numbers: Sequence[int]

    def find(self, start: int) -> int | None:
        """Return the line or page of a character; None before the first."""
        place = bisect_right(self.starts, start) - 1
        return self.numbers[place] if place >= 0 else None


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """The text of one document in a file; a table has one document per row."""

    text: str
    title: str = ""
    row: str = ""
    """Names the document inside its file, where the file holds several."""
    locations: Locations | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


class Sentence(NamedTuple):
    """A sentence on one line, with its place in the document's text and in the file.

    Readers make it, and the index stores it as it is.
    """

    position: int
    """Counts from 0 inside the document."""
    text: str
    start: int
    """The sentence is `text[start:end]` of the document's text, in code points."""
    end: int
    line: int | None = None
    page: int | None = None
    paragraph: int = 0
    is_heading: bool = False
    tokens: bytes | None = None
    """The WordPiece tokens (`WordPiece.encode`), once they are known."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document with its text and sentences, ready to be stored."""

    name: str
    title: str
    text: str = field(repr=False)
    sentences: tuple[Sentence, ...] = field(repr=False)
    metadata: Mapping[str, str] = field(default_factory=dict)


def locate_lines(text: str) -> Locations:
    """Return the lines of a text that is the file itself."""
    starts = (0, *(match.end() for match in _LINE_END.finditer(text)))
    return Locations("line", starts, range(1, 1 + len(starts)))


def join_blocks(
    title: str, blocks: Sequence[str], unit: Unit, numbers: Sequence[int]
) -> ExtractedText:
    """Return blocks as one text with an empty line between them; each has a line or page."""
    starts = tuple(accumulate((len(block) + 2 for block in blocks), initial=0))[: len(blocks)]
    locations = Locations(unit, starts, tuple(numbers))
    return ExtractedText("\n\n".join(blocks), title, locations=locations)


def sanitize(text: str) -> str:
    r"""Replace control characters and lone surrogates one by one, so that offsets hold.

    >>> sanitize("a\x1b[31mb\tc\n")
    'a [31mb\tc\n'
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
