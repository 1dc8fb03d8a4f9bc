"""Splits blocks into sentences, and decides which of them may answer.

Code is no answer on its own, but "Type this:" is none without its code.  So a block takes in the
code that follows it, and a sentence that ends with a colon takes in the first lines of the code.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from rejoinder.documents.answerable import may_answer
from rejoinder.documents.blocks import Block, Kind
from rejoinder.documents.parsed import SegmentedBlock, Sentence
from rejoinder.text.sentences import MAX_SENTENCE, fold_lines, split_prose

MAX_BLOCK = 1_500
"""Characters of a block; a longer one is divided between sentences."""

LEADS_IN: frozenset[Kind] = frozenset({"paragraph", "item", "definition"})
"""Kinds that take in the code after them."""

LOOK_AHEAD = 20_000
"""Blocks whose headings are known before the first of them is split."""

MAX_HEADING = 120
"""Characters of a sentence that may repeat a heading."""

Span = tuple[int, int]

_LINE_END = re.compile(r"\r\n|\r|\n")
_NOT_LETTERS = re.compile(r"[\W_]+")


def segment(blocks: Iterable[Block]) -> Iterator[SegmentedBlock]:
    """Yield blocks of at most `MAX_BLOCK` characters, with their sentences."""
    number = position = offset = 0
    for group, headings in _find_headings(_join_code(blocks)):
        head = group[0]
        text = "".join([head.text, *(_get_gap(part) + part.text for part in group[1:])])
        rows = _find_sentences(group, text, headings)
        for first, last in _divide(rows):
            begin = rows[first].start if first else 0
            end = rows[last - 1].end if last < len(rows) else len(text)
            gap = (
                text[rows[first - 1].end : begin] if first else _get_gap(head, is_first=not number)
            )
            offset += len(gap)
            sentences = tuple(
                Sentence(
                    position + place,
                    row.text,
                    offset + row.start - begin,
                    offset + row.end - begin,
                    row.line,
                    head.page,
                    number,
                    row.may_answer,
                )
                for place, row in enumerate(rows[first:last])
            )
            kind = head.kind if begin < len(head.text) else "code"
            yield SegmentedBlock(
                number, kind, text[begin:end], head.path, head.anchor, gap, offset, sentences
            )
            offset += end - begin
            position += len(sentences)
            number += 1


class _Row(NamedTuple):
    """A sentence at `text[start:end]` of its group."""

    start: int
    end: int
    text: str
    line: int | None
    may_answer: bool


def _join_code(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield each block with the code that follows it."""
    group: list[Block] = []
    for block in blocks:
        if not block.text.strip():
            continue
        if group and not _leads_in(group[0], block):
            yield group
            group = []
        group.append(block)
    if group:
        yield group


def _leads_in(head: Block, block: Block) -> bool:
    """Whether a block is code that belongs to the block before it."""
    if block.kind != "code" or head.kind not in LEADS_IN:
        return False
    # Below a definition, its term is the last heading.
    is_below = head.kind == "definition" and block.path[:-1] == head.path
    return is_below or block.path == head.path


def _get_gap(block: Block, *, is_first: bool = False) -> str:
    if block.gap is not None:
        return block.gap
    return "" if is_first else "\n\n"


def _divide(rows: Sequence[_Row]) -> Iterator[Span]:
    """Yield ranges of sentences that fit into one block."""
    first = 0
    for place, row in enumerate(rows):
        if place > first and row.end - rows[first].start > MAX_BLOCK:
            yield first, place
            first = place
    if rows:
        yield first, len(rows)


def _find_headings(
    groups: Iterator[list[Block]],
) -> Iterator[tuple[list[Block], set[str]]]:
    """Yield each group with the headings of its document, as far as one can look ahead."""
    headings: set[str] = set()
    while ahead := list(islice(groups, LOOK_AHEAD)):
        headings.update(
            _get_letters(group[0].text) for group in ahead if group[0].kind == "heading"
        )
        for group in ahead:
            yield group, headings


def _get_letters(text: str) -> str:
    return _NOT_LETTERS.sub("", text).casefold()


def _find_sentences(group: Sequence[Block], text: str, headings: Collection[str]) -> list[_Row]:
    head = group[0]
    rows = [] if head.kind == "code" else list(_split_head(head, headings))
    code = list(_split_code(group))
    if rows and code and rows[-1].text.endswith(":"):
        rows.append(_take_in(rows.pop(), code, text, head.kind))
    return rows + code


def _split_head(head: Block, headings: Collection[str]) -> Iterator[_Row]:
    """Yield the sentences of a block that is not code; one that repeats a heading is context."""
    text, place, line = head.text, 0, head.line
    is_one = head.kind in {"heading", "row"} and len(text) <= MAX_SENTENCE
    for start, end in [(0, len(text))] if is_one else split_prose(text):
        line, place = _count_lines(text, place, start, line), start
        sentence = fold_lines(text[start:end])
        is_offered = may_answer(head.kind, sentence)
        if is_offered and len(sentence) <= MAX_HEADING:
            is_offered = _get_letters(sentence) not in headings
        yield _Row(start, end, sentence, line, is_offered)


def _split_code(group: Sequence[Block]) -> Iterator[_Row]:
    """Yield the code of a group in pieces of whole lines."""
    offset = -len(_get_gap(group[0]))
    for block in group:
        offset += len(_get_gap(block))
        if block.kind == "code":
            place, line = 0, block.line
            for start, end in _split_lines(block.text):
                line, place = _count_lines(block.text, place, start, line), start
                yield _Row(offset + start, offset + end, block.text[start:end], line, False)
        offset += len(block.text)


def _take_in(lead: _Row, code: list[_Row], text: str, kind: Kind) -> _Row:
    """Return a lead-in with the lines of its code that fit; they are taken from `code`."""
    end, limit = lead.end, lead.start + MAX_SENTENCE
    while code and code[0].end <= limit:
        end = code.pop(0).end
    if code and (cut := text.rfind("\n", code[0].start, limit) + 1):
        row, end = code[0], cut
        line = _count_lines(text, row.start, cut, row.line)
        code[0] = _Row(cut, row.end, text[cut : row.end], line, False)
    if end == lead.end:
        return lead
    sentence = lead.text + "\n" + text[lead.end : end].strip("\r\n")
    return lead._replace(end=end, text=sentence, may_answer=may_answer(kind, sentence))


def _split_lines(text: str) -> Iterator[Span]:
    """Yield spans of whole lines; a line longer than `MAX_SENTENCE` is cut."""
    begin = stop = 0
    for line in text.splitlines(keepends=True):
        end = stop + len(line)
        if end - begin > MAX_SENTENCE and stop > begin:
            yield begin, stop
            begin = stop
        while end - begin > MAX_SENTENCE:
            yield begin, begin + MAX_SENTENCE
            begin += MAX_SENTENCE
        stop = end
    if begin < stop:
        yield begin, stop


def _count_lines(text: str, start: int, end: int, line: int | None) -> int | None:
    """Return the line of `end`, given that of `start`."""
    if line is None:
        return None
    if "\r" in text:
        return line + sum(1 for _ in _LINE_END.finditer(text, start, end))
    return line + text.count("\n", start, end)
