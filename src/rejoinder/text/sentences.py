"""Sentence splitting, with offsets into the text.

The text is first split by its lines into blocks: paragraphs, list items, headings, table rows.
A heading or a list item often has no punctuation, and no sentence crosses the border of a block.
Inside a block, sentencex finds the ends of sentences.  The rules are for English.  Other
languages are split by the same rules: their punctuation is known, their abbreviations are not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from sentencex import get_sentence_boundaries

from rejoinder.errors import is_panic

MAX_HEADING_WORDS = 12


@dataclass(frozen=True, slots=True)
class SentenceSpan:
    """A sentence at `text[start:end]`, without white space at its ends."""

    start: int
    end: int
    is_heading: bool = False

    def extract(self, text: str) -> str:
        """Return the sentence on one line: line breaks inside it become spaces."""
        return " ".join(text[self.start : self.end].split())


def split_sentences(text: str) -> list[SentenceSpan]:
    """Return the sentences of a text in order; they never overlap.

    Only white space, list marks, heading marks and rules are between them, so no text is lost.

    >>> text = "Dr. Smith came. He left."
    >>> [text[s.start : s.end] for s in split_sentences(text)]
    ['Dr. Smith came.', 'He left.']
    """
    # sentencex needs text that can be encoded; a lone surrogate cannot.
    encodable = _SURROGATE.sub("\ufffd", text)
    return [
        sentence for block in _find_blocks(encodable) for sentence in _split_block(encodable, block)
    ]


_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class _Block:
    """Text at `text[start:end]`, without its list or heading mark."""

    start: int
    end: int
    is_heading: bool = False


def _split_block(text: str, block: _Block) -> list[SentenceSpan]:
    pieces = [(block.start, block.end)] if block.is_heading else _split_prose(text, block)
    trimmed = (_trim(text, start, end) for start, end in pieces)
    return [SentenceSpan(start, end, block.is_heading) for start, end in trimmed if start < end]


def _split_prose(text: str, block: _Block) -> list[tuple[int, int]]:
    # Multi-byte white space, such as the no-break space, makes sentencex panic.
    prose = _WIDE_SPACE.sub(" ", text[block.start : block.end])
    try:
        boundaries = get_sentence_boundaries("en", prose)
    except BaseException as error:
        if not is_panic(error):
            raise
        return [(block.start, block.end)]
    return [
        (block.start + boundary["start_index"], block.start + boundary["end_index"])
        for boundary in boundaries
    ]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _find_blocks(text: str) -> Iterator[_Block]:
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


def _split_paragraph(lines: list[_Line]) -> Iterator[_Block]:
    begin: int | None = None
    end = 0
    for line, kind, offset in _classify(lines):
        if begin is not None and kind is not _Kind.PROSE:
            yield _Block(begin, end)
            begin = None
        match kind:
            case _Kind.HEADING | _Kind.ROW:
                yield _Block(line.start + offset, line.end, is_heading=kind is _Kind.HEADING)
            case _Kind.ITEM | _Kind.PROSE:
                begin = line.start + offset if begin is None else begin
                end = line.end
    if begin is not None:
        yield _Block(begin, end)


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
