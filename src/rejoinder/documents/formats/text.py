"""Reads plain text: `.txt`, `.text`, and texts from memory.

The document's text is the file's text exactly: each block holds the characters before it as its
`gap`.  A file is read piece by piece, so that memory does not grow with its size.
"""

from collections.abc import Iterable, Iterator
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument, Outline, fold, sanitize
from rejoinder.documents.encoding import decode_stream
from rejoinder.text.blocks import UNMARKED, TextBlock, find_blocks

MAX_PIECE = 1 << 20
"""Characters that are held at once; a longer text without a blank line is cut at a line end."""


def read(file: IO[bytes]) -> Iterable[ExtractedDocument]:
    """Read a text file as one document without a title."""
    yield ExtractedDocument("", _read_blocks(_cut_pieces(decode_stream(file))))


def read_text(text: str) -> Iterator[Block]:
    """Yield the blocks of a text."""
    return _read_blocks([text])


def _cut_pieces(decoded: Iterable[str]) -> Iterator[str]:
    """Yield the text in pieces that end at a blank line, if there is one."""
    rest = ""
    for piece in decoded:
        rest += piece
        cut = max(rest.rfind(mark) + len(mark) for mark in ("\n\n", "\n\r\n", "\r\r"))
        if cut < 4 and len(rest) > MAX_PIECE:
            cut = max(rest.rfind("\n"), rest.rfind("\r")) + 1 or rest.rfind(" ") + 1 or len(rest)
        if cut > 3:
            yield rest[:cut]
            rest = rest[cut:]
    yield rest


def _read_blocks(pieces: Iterable[str]) -> Iterator[Block]:
    sections = _Sections()
    gap, line = "", 1
    for piece in pieces:
        text, place = sanitize(piece), 0
        for found in find_blocks(text):
            gap += text[place : found.start]
            content = text[found.start : found.end]
            line += _count_lines(gap)
            path = sections.place(found, content)
            yield Block(found.kind, content, path, line, gap=gap)
            line += _count_lines(content)
            gap, place = "", found.end
        gap += text[place:]


def _count_lines(text: str) -> int:
    lines = text.count("\n")
    return lines + text.count("\r") - text.count("\r\n") if "\r" in text else lines


class _Sections:
    """The path of each block, by the levels of headings and by indentation.

    What is indented below a heading without a mark, or below a term, belongs to it until the
    indentation ends.
    """

    def __init__(self) -> None:
        self._outline = Outline()
        self._margin: int | None = None
        """Indentation of the last heading without a mark, or of the last term."""
        self._is_hanging = False

    def place(self, block: TextBlock, content: str) -> tuple[str, ...]:
        """Return the path of the next block."""
        if block.kind == "heading":
            self._margin = block.indent if block.level >= UNMARKED else None
            self._is_hanging = False
            return self._outline.enter(block.level, fold(content))
        if self._margin is not None:
            if block.indent > self._margin:
                self._is_hanging = True
            elif self._is_hanging:
                self._outline.leave(UNMARKED + block.indent)
                self._margin = None
        path = self._outline.path
        if block.kind == "definition":
            term = content[: block.term_end - block.start]
            self._outline.enter(UNMARKED + block.indent, fold(term))
            self._margin, self._is_hanging = block.indent, True
        return path
