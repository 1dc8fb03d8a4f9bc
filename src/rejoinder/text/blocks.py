"""The blocks of a plain or Markdown text: paragraphs, list items, headings.

A sentence never crosses the border of a block.  Sentence splitters see only punctuation,
and a heading or a list item often has none, so the text is first split by its lines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

MAX_HEADING_WORDS = 12


@dataclass(frozen=True, slots=True)
class Block:
    """Text at `text[start:end]`, without its list or heading mark."""

    start: int
    end: int
    is_heading: bool = False


def find_blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order; only marks and white space are between them."""
    for paragraph in _PARAGRAPH.finditer(text):
        lines = [
            _Line(match.start() + paragraph.start(), match.group())
            for match in _LINE.finditer(paragraph.group())
        ]
        yield from _split_paragraph(lines)


class _Line(NamedTuple):
    start: int
    text: str

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Kind(Enum):
    PROSE = auto()  # continues the block before it
    ITEM = auto()  # begins a block, which the lines after it may continue
    ROW = auto()  # is a block
    HEADING = auto()  # is a block
    RULE = auto()  # is not text


_PARAGRAPH = re.compile(r"[^\r\n]*\S[^\r\n]*(?:(?:\r\n|\r|\n)[^\r\n]*\S[^\r\n]*)*")
_LINE = re.compile(r"[^\r\n]+")
_HEADING = re.compile(r"\s{0,3}#{1,6}(?=\s)\s*")
_UNDERLINE = re.compile(r"\s*(?:={3,}|-{3,}|~{3,})\s*")
_RULE = re.compile(r"[-*_=~|:+\s]+|\s*`{3,}.*")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-zA-Z])[.)])\s+(?=\S)")
_ROW = re.compile(r"\s*\|.*\|\s*")
_ENDS_SENTENCE = re.compile(r"""[.!?:;…。！？।؟]["'”’)\]]*\s*$""")


def _split_paragraph(lines: list[_Line]) -> Iterator[Block]:
    begin: int | None = None
    end = 0
    for line, kind, offset in _classify(lines):
        if begin is not None and kind is not _Kind.PROSE:
            yield Block(begin, end)
            begin = None
        match kind:
            case _Kind.HEADING | _Kind.ROW:
                yield Block(line.start + offset, line.end, is_heading=kind is _Kind.HEADING)
            case _Kind.ITEM | _Kind.PROSE:
                begin = line.start + offset if begin is None else begin
                end = line.end
    if begin is not None:
        yield Block(begin, end)


def _classify(lines: list[_Line]) -> Iterator[tuple[_Line, _Kind, int]]:
    """Yield each line with its kind and the length of its mark."""
    for number, line in enumerate(lines):
        underlined = number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1].text)
        if heading := _HEADING.match(line.text):
            yield line, _Kind.HEADING, heading.end()
        elif _RULE.fullmatch(line.text):
            yield line, _Kind.RULE, 0
        elif underlined or (len(lines) == 1 and _looks_like_heading(line.text)):
            yield line, _Kind.HEADING, 0
        elif item := _ITEM.match(line.text):
            yield line, _Kind.ITEM, item.end()
        elif _ROW.fullmatch(line.text):
            yield line, _Kind.ROW, 0
        else:
            yield line, _Kind.PROSE, 0


def _looks_like_heading(line: str) -> bool:
    """Whether a line on its own is a title rather than a sentence."""
    is_short = len(line.split()) <= MAX_HEADING_WORDS
    return is_short and not _ITEM.match(line) and not _ENDS_SENTENCE.search(line)
