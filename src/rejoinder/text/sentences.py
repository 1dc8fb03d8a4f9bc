"""Sentence splitting, with offsets into the text.

sentencex finds the ends of sentences inside one block (blocks.py) at a time.  The rules
are for English.  Other languages are split by the same rules: their punctuation is known,
their abbreviations are not.
"""

import re
from dataclasses import dataclass

from sentencex import get_sentence_boundaries

from rejoinder.errors import is_panic
from rejoinder.text.blocks import Block, find_blocks


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
        sentence for block in find_blocks(encodable) for sentence in _split_block(encodable, block)
    ]


_SURROGATE = re.compile("[\ud800-\udfff]")
_WIDE_SPACE = re.compile(r"[^\S\x00-\x7f]")


def _split_block(text: str, block: Block) -> list[SentenceSpan]:
    pieces = [(block.start, block.end)] if block.is_heading else _split_prose(text, block)
    trimmed = (_trim(text, start, end) for start, end in pieces)
    return [SentenceSpan(start, end, block.is_heading) for start, end in trimmed if start < end]


def _split_prose(text: str, block: Block) -> list[tuple[int, int]]:
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
