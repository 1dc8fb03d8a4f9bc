"""Glyphs of a page → spans: text in one font on one baseline, with spaces from positions.

A PDF draws glyphs at positions; spaces are often not drawn, and pdfium's own guess loses some.
A span's spaces follow from the distance between one glyph's advance and the next glyph.

Each call into pdfium costs half a microsecond, which is most of the time that a PDF takes.  There
is one call per glyph (its box); the rest is asked once per word, font or style.
"""

import ctypes
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import pairwise, repeat
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np
import pypdfium2.raw as pdfium

from rejoinder.documents.formats.pdf.styles import PageStyles, Style, Typeface, bind, find_address

SPACE = 0.11
"""A wider gap, in heights of the glyph's box, separates words; kerning stays far below it."""
DRAWN_SPACE = 0.05
"""The same, where the PDF draws a space; some draw spaces of no width inside words."""
_GET_BOX = bind(
    pdfium.FPDFText_GetLooseCharBox, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)
_REPLACED: dict[int, str | None] = {
    0x200B: None,
    0xAD: "-",
    0x02: "-",  # pdfium's mark for a hyphen at the end of a line
    0xFFFE: "-",
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}


_COMPOSED = 0x200B
"""Stands for a letter that an accent before it has taken in."""
_ACCENTS = {
    "`": "\u0300",
    "\xb4": "\u0301",
    "\u02c6": "\u0302",
    "\u02dc": "\u0303",
    "\xa8": "\u0308",
    "\xb8": "\u0327",
    "\u02c7": "\u030c",
    "\u02da": "\u030a",
    "\xaf": "\u0304",
    "\u02d8": "\u0306",
    "\u02d9": "\u0307",
}
"""The combining form of an accent; old TeX fonts draw accents and letters one by one."""
_ACCENT = re.compile(f"([{''.join(_ACCENTS)}])([A-Za-z\u0131])")


_Word = tuple[str, int, Style | None, float, float, bool, bool]
"""Text, index of the first glyph, style, left and right edge; whether it is on a line with the word
before it, and whether a space is drawn between them."""


class GlyphSpan(NamedTuple):
    """Text in one typeface and size on one baseline."""

    text: str
    left: float
    right: float
    baseline: float
    size: float
    face: Typeface
    pitch: float
    """Average advance of a glyph; the width of a column in monospaced text."""
    spaced: bool
    """Whether a space is drawn before it."""


def read_spans(page: Any) -> list[GlyphSpan]:
    """Return the spans of a pdfium text page, in the order in which they are drawn."""
    text, boxes, indices, quarters = _read_glyphs(page)
    if not text:
        return []
    left, top, right, bottom = boxes
    height = (top - bottom)[1:]
    gap = left[1:] - right[:-1]
    text = _ACCENT.sub(lambda found: _compose(found, gap / height), text)
    level = (abs(np.diff(bottom)) < 0.03 * height) & (gap > -1.5 * height)
    spaced = (np.diff(indices) > 1) & (gap > DRAWN_SPACE * height)
    starts = np.flatnonzero(~level | spaced | (gap > SPACE * height)) + 1
    bounds = [0, *starts.tolist(), len(text)]
    firsts = indices[bounds[:-1]].tolist()
    styles = PageStyles(page, quarters)
    words = zip(
        (text[start:stop] for start, stop in pairwise(bounds)),
        firsts,
        styles.find(firsts),
        left[bounds[:-1]].tolist(),
        right[np.array(bounds[1:]) - 1].tolist(),
        [False, *level[starts - 1].tolist()],
        [False, *spaced[starts - 1].tolist()],
        strict=True,
    )
    return list(_join_words(styles, words))


def _compose(found: re.Match[str], gaps: Any) -> str:
    """Return an accent that is drawn over a letter as one character, and a mark for the letter."""
    composed = normalize("NFC", found[2].replace("\u0131", "i") + _ACCENTS[found[1]])
    over = gaps[found.start()] < -0.15 and len(composed) == 1
    return composed + chr(_COMPOSED) if over else found[0]


def _join_words(styles: PageStyles, words: Iterable[_Word]) -> Iterator[GlyphSpan]:
    """Yield words of one style that follow each other on one baseline as one span."""
    parts: list[str] = []
    begin = end = base = 0.0
    current: Style | None = None
    after_space = False
    for text, index, style, left, right, level, spaced in words:
        if style is None:
            continue
        if style is not current or not level or left - end > style.widest_space:
            if parts and current is not None:
                yield _make_span(parts, begin, end, base, current, after_space)
            parts, begin, current, after_space = [], left, style, spaced
            base = styles.find_baseline(index)
        parts.append(text)
        end = right
    if parts and current is not None:
        yield _make_span(parts, begin, end, base, current, after_space)


def _make_span(
    parts: list[str], left: float, right: float, baseline: float, style: Style, spaced: bool
) -> GlyphSpan:
    text = " ".join(parts)
    pitch = (right - left) / len(text)
    text = text.translate(_REPLACED)
    return GlyphSpan(text, left, right, baseline, style.size, style.face, pitch, spaced)


def _read_glyphs(page: Any) -> tuple[str, Any, Any, int]:
    """Return the visible glyphs: characters, boxes, indices, and quarter turns of the page.

    Boxes are rows of left, top, right and bottom edges.
    """
    count = pdfium.FPDFText_CountChars(page)
    if count <= 0:
        return "", None, None, 0
    text = _read_characters(page, count)
    boxes = (pdfium.FS_RECTF * count)()
    start, size = ctypes.addressof(boxes), ctypes.sizeof(pdfium.FS_RECTF)
    places = range(start, start + size * count, size)
    deque(map(_GET_BOX, repeat(find_address(page)), range(count), places), maxlen=0)
    edges = np.frombuffer(boxes, dtype=np.float32).reshape(count, 4).T
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    shown = (codes > 32) & (codes != 0xA0) | (codes == 2)
    indices = np.flatnonzero(shown & (edges[1] > edges[3]) & np.isfinite(edges).all(axis=0))
    if not len(indices):
        return "", None, None, 0
    text = codes[indices].tobytes().decode("utf-32-le", "surrogatepass")
    sample = indices[:: max(1, len(indices) // 9)].tolist()
    quarters = [_count_quarters(page, index) for index in sample]
    most = max(set(quarters), key=quarters.count)
    return text, _turn(edges[:, indices], most), indices, most


def _read_characters(page: Any, count: int) -> str:
    units = (ctypes.c_ushort * (count + 1))()
    length = pdfium.FPDFText_GetText(page, 0, count, units)
    text = bytes(units)[: 2 * max(0, length - 1)].decode("utf-16-le", "surrogatepass")
    if len(text) == count:
        return text
    # Glyphs without a character are missing in the text; their boxes are not.
    codes = map(pdfium.FPDFText_GetUnicode, repeat(page), range(count))
    return "".join(chr(code) if 0 < code < 0x110000 else "\0" for code in codes)


def _turn(edges: Any, quarters: int) -> Any:
    """Return boxes as seen with the page turned so that its text is upright."""
    left, top, right, bottom = edges
    if quarters == 1:
        return np.stack([bottom, -left, top, -right])
    if quarters == 2:
        return np.stack([-right, -bottom, -left, -top])
    if quarters == 3:
        return np.stack([-top, right, -bottom, left])
    return edges


def _count_quarters(page: Any, index: int) -> int:
    angle = pdfium.FPDFText_GetCharAngle(page, index)
    return -round(angle / (math.pi / 2)) % 4 if angle > 0 else 0
