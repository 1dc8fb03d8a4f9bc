"""Layout of pages: columns in reading order, and what is not text of the document.

Running heads and feet repeat from page to page; a table of contents or an index has page numbers
at the end of its lines.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from rejoinder.documents.formats.pdf.lines import Fragment, TextLine, join_fragments
from rejoinder.documents.formats.pdf.rules import Rule

_EDGE = 3
"""How many lines at the top and at the bottom of a page may be running heads and feet."""
_LEADER = re.compile(r"(?:\. ?){4}|\.{4}|…{2}|(?:· ?){4}|_{5}")
_NUMBERED = re.compile(r"(?:^|[ ,.])(?:[0-9]{1,4}|[ivxlc]{1,6})$")
_INDEXED = re.compile(r", [0-9]{1,4}(?:[-–][0-9]{1,4})?$")
_PAGE_NUMBER = re.compile(r"[-–]? ?(?:[0-9]{1,4}|[ivxlc]{1,7}) ?[-–]?")
_ROMAN = re.compile(r"[ivxlcdm]{1,7}", re.IGNORECASE)


def order_lines(fragments: list[Fragment], rules: Sequence[Rule], page: int) -> list[TextLine]:
    """Return the lines of a page in reading order, column after column."""
    parts = enumerate(_split_columns(fragments, rules))
    return [line for column, part in parts for line in join_fragments(part, page, column)]


def _split_columns(
    fragments: list[Fragment], rules: Sequence[Rule], depth: int = 2
) -> Iterator[list[Fragment]]:
    """Yield the parts of a page that are read one after the other.

    Fragments that cross the gutter, such as a title over both columns, end the columns above them.
    """
    gutter = _find_gutter(fragments, rules) if depth and len(fragments) >= 16 else None
    if gutter is None:
        yield fragments
        return
    crossing = sorted(
        (fragment for fragment in fragments if _find_side(fragment, gutter) is None),
        key=lambda fragment: -fragment.baseline,
    )
    levels = [-fragment.baseline for fragment in crossing]
    # Even places are columns, odd ones are what crosses the gutter below them.
    bands: list[list[Fragment]] = [[] for _ in range(2 * len(crossing) + 1)]
    for fragment in fragments:
        crosses = _find_side(fragment, gutter) is None
        bands[2 * bisect_left(levels, -fragment.baseline) + crosses].append(fragment)
    above: list[Fragment] = []
    for number, band in enumerate(bands):
        if number % 2:
            above += band
        elif band:
            if above:
                yield above
            above = []
            for side in (0, 1):
                part = [fragment for fragment in band if _find_side(fragment, gutter) == side]
                if part:
                    yield from _split_columns(part, rules, depth - 1)
    if above:
        yield above


def _find_side(fragment: Fragment, gutter: float) -> int | None:
    """Return 0 for left and 1 for right of the gutter, or None for a fragment across it."""
    share = (gutter - fragment.left) / max(0.1, fragment.right - fragment.left)
    return None if 0.1 < share < 0.9 else int(share < 0.5)


def _find_gutter(fragments: list[Fragment], rules: Sequence[Rule]) -> float | None:
    """Return the middle of the white space between two columns of text, if there are two."""
    left = min(fragment.left for fragment in fragments)
    width = max(fragment.right for fragment in fragments) - left
    wide = sum(fragment.right - fragment.left > 0.6 * width for fragment in fragments)
    if not 50 < width < 10_000 or wide > 0.2 * len(fragments):
        return None
    covered = np.zeros(int(width) + 2, dtype=int)
    for fragment in fragments:
        covered[int(fragment.left - left) : int(fragment.right - left) + 1] += 1
    low, high = int(0.2 * width), int(0.8 * width)
    covered = covered[low:high]
    free = covered <= 0.12 * len(fragments)
    # A sentinel at both ends, so that each run of free positions begins and ends.
    edges = np.flatnonzero(np.diff(np.concatenate([[0], free, [0]])))
    runs = [
        (stop - start, start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True)
    ]
    for size, start, stop in sorted(runs, reverse=True)[:3]:
        least = np.flatnonzero(covered[start:stop] == covered[start:stop].min())
        gutter = left + low + float(start + least[len(least) // 2]) + 0.5
        if size >= 8 and not _is_ruled(rules, gutter) and _are_columns(fragments, gutter):
            return gutter
    return None


def _is_ruled(rules: Sequence[Rule], gutter: float) -> bool:
    """Whether horizontal rules of a table cross a gutter."""
    return len({round(rule.top) for rule in rules if rule.left < gutter < rule.right}) > 4


def _are_columns(fragments: list[Fragment], gutter: float) -> bool:
    """Tell columns of text from columns of a table.

    A table is drawn row by row, and its cells are short; the lines of a column are drawn one after
    the other, or they are long.
    """
    sides = [_find_side(fragment, gutter) for fragment in fragments]
    drawn = [side for side in sides if side is not None]
    small = min(drawn.count(0), drawn.count(1))
    if small < 8:
        return False
    changes = sum(side != after for side, after in pairwise(drawn))
    if changes <= 0.25 * small:
        return True
    widths = [
        (fragment.right - fragment.left) / fragment.size
        for fragment, side in zip(fragments, sides, strict=True)
        if side is not None
    ]
    return float(np.median(widths)) > 12 and len(drawn) > 0.9 * len(sides)


class RunningLines:
    """Running heads and feet of a document, found by the lines at the edges of all pages."""

    def __init__(self, pages: Sequence[Sequence[TextLine]]) -> None:
        self._texts: Counter[tuple[int, str]] = Counter()
        places: Counter[tuple[int, int]] = Counter()
        for lines in pages:
            edge = [(line, _place(line)) for side in _find_edges(lines) for line in side]
            self._texts.update({key for line, _ in edge for key in _make_keys(line)})
            places.update({place for _, place in edge})
        self._least = 2 if len(pages) < 6 else 3
        repeated: Counter[tuple[int, int]] = Counter()
        for lines in pages:
            edge = [(line, _place(line)) for side in _find_edges(lines) for line in side]
            repeated.update({place for line, place in edge if self._repeats(line)})
        # Where most lines repeat, the others are running heads too: they name the section.
        self._places = {
            place
            for place, count in repeated.items()
            if count > max(2, 0.6 * places[place], 0.1 * len(pages))
        }

    def remove(self, lines: Sequence[TextLine]) -> list[TextLine]:
        """Return the lines of a page without running heads and feet."""
        removed: set[int] = set()
        for side in _find_edges(lines):
            for number, line in enumerate(side):
                # Heads of two columns stand side by side.
                gaps = (abs(line.baseline - other.baseline) for other in side[number + 1 :])
                gap = next((gap for gap in gaps if gap > 0.5 * line.size), None)
                if not self._is_running(line, gap):
                    break
                removed.add(id(line))
        return [line for line in lines if id(line) not in removed]

    def _is_running(self, line: TextLine, gap: float | None) -> bool:
        """Decide by the line itself and by the gap to the next one, if there is one."""
        usual = _place(line) in self._places
        if gap is None:
            return usual
        if _PAGE_NUMBER.fullmatch(line.text):
            return usual or self._repeats(line) or gap > 2 * line.size
        return (usual or self._repeats(line)) and gap > 1.4 * line.size

    def _repeats(self, line: TextLine) -> bool:
        return any(self._texts[key] >= self._least for key in _make_keys(line))


def _find_edges(lines: Sequence[TextLine]) -> tuple[list[TextLine], list[TextLine]]:
    """Return the first and the last lines of a page, from the edge inwards, and one more."""
    ordered = sorted(lines, key=lambda line: -line.baseline)
    count = min(_EDGE + 1, len(ordered) // 2 + 1)
    return ordered[:count], ordered[::-1][:count]


def _place(line: TextLine) -> tuple[int, int]:
    return round(line.baseline / 3), round(line.size)


def _make_keys(line: TextLine) -> Iterator[tuple[int, str]]:
    """Yield the place and the text without digits of each part of a line."""
    for fragment in line.fragments:
        text = fragment.text.strip()
        letters = "" if _ROMAN.fullmatch(text) else re.sub(r"[\d\s]+", "", text)
        yield round(fragment.baseline / 3), letters


def _has_leader(text: str) -> bool:
    # The regular expression alone takes ten times as long.
    may = ". ." in text or ".." in text or "……" in text or "· ·" in text or "__" in text
    return may and _LEADER.search(text) is not None


def remove_contents(lines: list[TextLine]) -> list[TextLine]:
    """Return the lines of a page without a table of contents, or nothing of an index."""
    leaders = [number for number, line in enumerate(lines) if _has_leader(line.text)]
    if len(leaders) >= 3 and leaders[-1] - leaders[0] < 3 * len(leaders):
        first, last = leaders[0], leaders[-1]
        # Chapters have no leaders, but a number at the end.
        while first and _NUMBERED.search(lines[first - 1].text):
            first -= 1
        while last + 1 < len(lines) and _NUMBERED.search(lines[last + 1].text):
            last += 1
        return lines[:first] + lines[last + 1 :]
    indexed = sum(bool(_INDEXED.search(line.text)) for line in lines)
    return [] if indexed >= 8 and indexed > 0.5 * len(lines) else lines
