"""The sentences of a plain text, each with what makes it readable: its headings and its lead-in.

A list item or the sentence after a colon is not understood without the sentence that introduces
it, and a section's sentences not without its headings.
"""

from collections.abc import Sequence
from typing import NamedTuple

from rejoinder.text.sentences import SentenceSpan, split_blocks


class HeadingSpan(NamedTuple):
    """A heading at `text[start:end]`, with the marks before it on its line."""

    start: int
    end: int
    text: str
    level: int


class PlacedSentence(NamedTuple):
    """A sentence, the headings above it, outermost first, and the sentence that introduces it."""

    span: SentenceSpan
    headings: tuple[HeadingSpan, ...]
    lead_in: int | None
    """Its index among the sentences; it ends with a colon."""
    start: int
    """Where it begins with the mark of its list item."""


def place_sentences(text: str) -> list[PlacedSentence]:
    r"""Return the sentences of a text in order; headings are none, unless there is nothing else.

    >>> found = place_sentences("# Tea\n\nYou need:\n\n- hot water\n- a cup\n\nWait.")
    >>> [(item.span.extract("# Tea\n\nYou need:\n\n- hot water\n- a cup\n\nWait."), item.lead_in)
    ...  for item in found]
    [('You need:', None), ('hot water', 0), ('a cup', 0), ('Wait.', None)]
    """
    placed: list[PlacedSentence] = []
    headings: list[HeadingSpan] = []
    titles: list[SentenceSpan] = []
    lead_in: int | None = None
    previous: str | None = None
    for block, sentences in split_blocks(text):
        if block.kind == "paragraph" and previous == "item" and lead_in != len(placed) - 1:
            lead_in = None  # the list that it introduces is over
        previous = block.kind
        if block.kind == "heading":
            while headings and headings[-1].level >= block.level:
                headings.pop()
            start = _find_line_start(text, block.start)
            shown = " ".join(text[block.start : block.end].split())
            headings.append(HeadingSpan(start, block.end, shown, block.level))
            titles += sentences
            lead_in = None
            continue
        marked = block.kind == "item" and sentences[:1]
        for sentence in sentences:
            if not _has_word(text, sentence):
                continue
            is_first = marked and sentence == marked[0]
            start = _find_line_start(text, block.start) if is_first else sentence.start
            placed.append(PlacedSentence(sentence, tuple(headings), lead_in, start))
            if text[sentence.start : sentence.end].endswith((":", "\uff1a")):
                lead_in = len(placed) - 1
            elif block.kind == "paragraph":
                lead_in = None  # items of one list share their lead-in
    return placed or [
        PlacedSentence(sentence, (), None, sentence.start)
        for sentence in titles
        if _has_word(text, sentence)
    ]


def _find_line_start(text: str, place: int) -> int:
    """Return where the line begins, without white space."""
    start = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
    return place - len(text[start:place].lstrip())


def _has_word(text: str, sentence: SentenceSpan) -> bool:
    return any(map(str.isalnum, text[sentence.start : sentence.end]))


def find_kept(sentences: Sequence[PlacedSentence], chosen: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of chosen sentences with their headings and lead-ins, in text order.

    A chosen lead-in says nothing by itself: the sentence that it introduces first is kept, too.
    """
    kept: dict[int, int] = {}
    for place in chosen:
        is_lead_in = place + 1 < len(sentences) and sentences[place + 1].lead_in == place
        at: int | None = place + 1 if is_lead_in else place
        while at is not None:
            span, headings, lead_in, start = sentences[at]
            kept[start] = span.end
            kept.update((heading.start, heading.end) for heading in headings)
            at = lead_in
    return sorted(kept.items())


def join_spans(text: str, spans: Sequence[tuple[int, int]]) -> str:
    r"""Return the parts of a text; where something was dropped, a space or an empty line is left.

    >>> join_spans("One. Two. Three.\n\nFour.", [(0, 4), (10, 16), (18, 23)])
    'One. Three.\n\nFour.'
    """
    parts: list[str] = []
    last = 0
    for start, end in spans:
        between = text[last:start]
        if parts:
            if not between.strip():
                parts.append(between)
            else:
                parts.append("\n\n" if "\n\n" in between else "\n" if "\n" in between else " ")
        parts.append(text[start:end])
        last = end
    return "".join(parts)
