"""Spans → lines, with raised and lowered text as super- and subscripts."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rejoinder.documents.blocks import fold
from rejoinder.documents.formats.pdf.glyphs import GlyphSpan
from rejoinder.documents.formats.pdf.styles import CELL
from rejoinder.documents.notation import subscript, superscript

_SPACE = 0.14
"""A wider gap between spans, in font sizes, separates words."""
_SMALL = 0.87
"""Scripts are smaller than this share of the text that they belong to."""
_FOOTNOTE = re.compile(r"[0-9]{1,3}|[*†‡§¶]+")
_WORD_BEFORE = re.compile(r"[A-Za-z]{2,}[.,;:!?\"”’]*$|[.,;!?\"”’]$")
_BASE = re.compile(r"(?:\b[^\W\d_]|[\d)\]])$")
"""What may have an exponent: a variable, a number, parentheses."""
_CALLOUT = re.compile("[\u2460-\u24ff\u2776-\u2793]")
_RAISED = re.compile(r"\b(?:[cdkmnµ]?m|ms|sec|ft|in|inch|kg|rad|sin|cos|tan|log|ln|exp)$")
"""Units and functions, whose exponents are none of a footnote's numbers."""


@dataclass
class Fragment:
    """Spans that follow each other on one baseline, such as a line or a table cell."""

    spans: list[GlyphSpan]
    baseline: float
    size: float
    left: float
    right: float
    notes: frozenset[str] = frozenset()
    """The marks of the footnotes on its page."""

    @cached_property
    def text(self) -> str:
        """Text with scripts; it may hold several spaces in a row."""
        return "".join(_write(self))

    @cached_property
    def bold(self) -> bool:
        """Whether all of it is bold."""
        return all(span.face.bold for span in self.spans)

    @cached_property
    def mono(self) -> bool:
        """Whether all of it is monospaced."""
        return all(span.face.mono for span in self.spans)


@dataclass
class TextLine:
    """Fragments on one baseline of one column."""

    fragments: list[Fragment]
    page: int
    column: int = 0
    """Counts the columns and the parts between them, in reading order, on each page."""
    text: str = field(init=False)
    baseline: float = field(init=False)
    size: float = field(init=False)
    left: float = field(init=False)
    right: float = field(init=False)
    bold: bool = field(init=False)
    mono: bool = field(init=False)

    def __post_init__(self) -> None:
        fragments = self.fragments
        main = max(fragments, key=lambda fragment: fragment.right - fragment.left)
        self.text = fold(" ".join(fragment.text for fragment in fragments))
        self.baseline = main.baseline
        sizes: Counter[float] = Counter()
        for fragment in fragments:
            for span in fragment.spans:
                sizes[span.size] += len(span.text)
        self.size = max(sizes, key=lambda size: sizes[size])
        self.left = fragments[0].left
        self.right = max(fragment.right for fragment in fragments)
        self.bold = all(fragment.bold for fragment in fragments)
        self.mono = all(fragment.mono for fragment in fragments)


def join_spans(spans: Iterable[GlyphSpan]) -> list[Fragment]:
    """Return fragments in the order in which they are drawn."""
    fragments: list[Fragment] = []
    for span in spans:
        if fragments and _continues(fragments[-1], span):
            _append(fragments[-1], span)
        else:
            fragments.append(Fragment([span], span.baseline, span.size, span.left, span.right))
    notes = frozenset(mark for fragment in fragments if (mark := _find_mark(fragment)))
    for fragment in fragments:
        fragment.notes = notes
    return [fragment for fragment in fragments if not _is_callout(fragment)]


def _find_mark(fragment: Fragment) -> str:
    """Return the raised number that a footnote begins with."""
    first = fragment.spans[0]
    raised = len(fragment.spans) > 1 and first.baseline > fragment.baseline + 0.08 * fragment.size
    return first.text if raised and _FOOTNOTE.fullmatch(first.text) else ""


def _is_callout(fragment: Fragment) -> bool:
    """Whether a fragment is only a number in a circle, which points from code to its text."""
    short = len(fragment.spans) < 3 and len(fragment.text) < 5
    return short and _CALLOUT.search(fragment.text) is not None


def _continues(fragment: Fragment, span: GlyphSpan) -> bool:
    gap = span.left - fragment.right
    size = max(fragment.size, span.size)
    rise = abs(span.baseline - fragment.baseline)
    if rise < 0.12 * size:
        return -0.6 * size < gap < CELL * size
    if min(span.size, fragment.size) > _SMALL * size or rise > 0.7 * size:
        return False
    # The mark of a footnote may stand apart from its text.
    apart = span.size == size and _FOOTNOTE.fullmatch(fragment.spans[0].text)
    widest = 1.5 if apart else 0.5
    return -1.2 * size < gap < widest * size


def _append(fragment: Fragment, span: GlyphSpan) -> None:
    if span.size > fragment.size / _SMALL:  # begins with a script
        fragment.size, fragment.baseline = span.size, span.baseline
    fragment.spans.append(span)
    fragment.right = max(fragment.right, span.right)
    fragment.left = min(fragment.left, span.left)


def _write(fragment: Fragment) -> Iterable[str]:
    written = ""
    end: float | None = None
    for span in fragment.spans:
        text = _write_span(fragment, span, written)
        if end is not None and span.left - end > (0 if span.spaced else _SPACE * fragment.size):
            yield " "
        yield text
        written = text or written
        end = span.right


def _write_span(fragment: Fragment, span: GlyphSpan, before: str) -> str:
    rise = (span.baseline - fragment.baseline) / fragment.size
    if span.size > _SMALL * fragment.size or abs(rise) < 0.08:
        return span.text
    if rise < 0:
        return subscript(span.text)
    is_mark = _is_footnote_mark(span.text, before[-30:], fragment.notes)
    return "" if is_mark else superscript(span.text)


def _is_footnote_mark(text: str, before: str, notes: frozenset[str]) -> bool:
    """Tell a footnote's number, which follows a word or begins a line, from an exponent."""
    if not _FOOTNOTE.fullmatch(text):
        return False
    if text in notes and (len(text) > 1 or not _BASE.search(before)):
        return True
    return not before or bool(_WORD_BEFORE.search(before) and not _RAISED.search(before))


def join_fragments(fragments: Sequence[Fragment], page: int, column: int) -> list[TextLine]:
    """Return the lines of one column from top to bottom."""
    rows: list[list[Fragment]] = []
    for fragment in sorted(fragments, key=lambda fragment: -fragment.baseline):
        row = rows[-1] if rows else None
        if row and row[0].baseline - fragment.baseline < 0.3 * min(row[0].size, fragment.size):
            row.append(fragment)
        else:
            rows.append([fragment])
    return [TextLine(sorted(row, key=lambda fragment: fragment.left), page, column) for row in rows]
