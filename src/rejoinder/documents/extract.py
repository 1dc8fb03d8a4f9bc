"""What a reader takes out of a file: plain text, and where its parts stand in the file.

Every format becomes text with Markdown's marks for headings, list items and table rows, so
that one way to find sentences serves them all.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Unit = Literal["line", "page"]


@dataclass(frozen=True, slots=True)
class Places:
    """Lines or pages of the file: `numbers[i]` holds from `starts[i]` of the text on."""

    unit: Unit
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def find(self, start: int) -> int | None:
        """Return the line or page of a character; None before the first."""
        place = bisect_right(self.starts, start) - 1
        return self.numbers[place] if place >= 0 else None


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of one document in a file; a table has one document per row."""

    text: str
    title: str = ""
    row: str = ""
    """Names the document inside its file, where the file holds several."""
    places: Places | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)


def count_lines(text: str, *, first: int = 1) -> Places:
    """Return the lines of a text that is the file itself, or a part from a line on."""
    starts = (0, *(match.end() for match in _LINE_END.finditer(text)))
    return Places("line", starts, tuple(range(first, first + len(starts))))


def clean(text: str) -> str:
    r"""Replace characters that are not text one by one, so that offsets hold.

    >>> clean("a\x1b[31mb\tc\n")
    'a [31mb\tc\n'
    """
    return _SURROGATE.sub("\ufffd", _CONTROL.sub(" ", text))


_LINE_END = re.compile(r"\r\n|\r|\n")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f]")
_SURROGATE = re.compile("[\ud800-\udfff]")
