"""Blocks: what every reader makes of a file, whatever its format.

A block is a paragraph, a heading, a list item, a definition, a table row, a caption or code, with
the headings above it.  Readers yield blocks in reading order; `segment.py` splits them into
sentences.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

Kind = Literal["heading", "paragraph", "item", "definition", "row", "caption", "code"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""In storage a kind is its place here; append new ones."""


class Block(NamedTuple):
    """A block as a reader yields it.

    The document's text is the `gap` and `text` of all blocks, one after the other.
    """

    kind: Kind
    text: str
    """Without list and heading marks.  White space is folded, but code keeps its lines."""
    path: tuple[str, ...] = ()
    """The headings above it, outermost first; the document's title is not one of them."""
    line: int | None = None
    """Where it begins in the file, from 1."""
    page: int | None = None
    anchor: str = ""
    """The part of a link to this place that follows the file's name, without `#`."""
    gap: str | None = None
    """The characters between it and the block before it; by default an empty line."""


@dataclass(frozen=True, slots=True)
class ExtractedDocument:
    """One document of a file, with its blocks; a table may hold one document per row."""

    title: str
    """Empty where the file gives none."""
    blocks: Iterable[Block] = field(repr=False)
    """Read once, as a stream."""
    row: str = ""
    """Names the document inside its file, where the file holds several."""
    metadata: Mapping[str, str] = field(default_factory=dict)


class Outline:
    """The headings above the place that is being read.

    >>> outline = Outline()
    >>> outline.enter(1, "Tea"), outline.enter(2, "Green"), outline.enter(2, "Black")
    ((), ('Tea',), ('Tea',))
    >>> outline.path
    ('Tea', 'Black')
    """

    def __init__(self) -> None:
        self._headings: list[tuple[int, str]] = []
        self.path: tuple[str, ...] = ()

    def enter(self, level: int, heading: str) -> tuple[str, ...]:
        """Begin the section of a heading, and return the path of the heading itself."""
        self.leave(level)
        above = self.path
        self._headings.append((level, heading))
        self.path = (*above, heading)
        return above

    def leave(self, level: int) -> None:
        """End the sections of headings of this level, and of those below it."""
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self.path = tuple(text for _, text in self._headings)


def fold(text: str) -> str:
    """Return text on one line, with single spaces."""
    return " ".join(text.split())


def sanitize(text: str) -> str:
    r"""Replace control characters and lone surrogates one by one, so that offsets hold.

    >>> sanitize("a\x1b[31mb\tc\n")
    'a [31mb\tc\n'
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
