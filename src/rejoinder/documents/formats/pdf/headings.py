"""Headings: the entries of a PDF's outline on their pages, and lines that look like headings."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rejoinder.documents.blocks import fold, sanitize
from rejoinder.documents.formats.pdf.lines import TextLine

_MAX_LINES = 3
"""A heading takes no more lines than this."""
_BELOW_OUTLINE = 100
"""Levels of headings that the outline does not list are deeper than all that it does."""
_MAX_ENTRIES = 20_000
_NUMBER = re.compile(
    r"(?:(?:Chapter|Section|Appendix|Part) )?(\d+|[A-Z](?=\.\d))((?:\.\d+)*)\.? \S"
)
_LABEL = re.compile(r"(?:chapter|section|appendix|part)?[0-9a-z]{0,6}")
_WORD = re.compile(r"[^\W\d_]{2}")
_NOT_LETTERS = re.compile(r"[\W_]+")
_ADMONITION = re.compile(r"(?:Notes?|Warning|Caution|Tip|Important|Danger|Remark|Hint)\W*")


class Heading(NamedTuple):
    """A heading that begins at a line of a page."""

    level: int
    text: str
    lines: int
    """How many lines it takes; 0 where only the outline has it."""


class OutlineEntry(NamedTuple):
    """A bookmark."""

    level: int
    title: str
    top: float | None


def read_outline(file: Any) -> dict[int, list[OutlineEntry]]:
    """Return the bookmarks of a pdfium document by page, counted from 0."""
    entries: dict[int, list[OutlineEntry]] = {}
    for number, bookmark in enumerate(file.get_toc(max_depth=15)):
        if number >= _MAX_ENTRIES:
            break
        target = bookmark.get_dest()
        title = fold(sanitize(bookmark.get_title()))
        page = target.get_index() if target else None
        if page is None or not title:
            continue
        view, place = target.get_view()
        top = place[1] if view == 1 and len(place) > 1 else None
        entries.setdefault(page, []).append(OutlineEntry(bookmark.level + 1, title, top))
    return entries


class HeadingFinder:
    """Finds the headings of a document, given all its lines."""

    def __init__(
        self, pages: Iterable[Sequence[TextLine]], outline: Mapping[int, Sequence[OutlineEntry]]
    ) -> None:
        sizes: Counter[float] = Counter()
        for lines in pages:
            for line in lines:
                sizes[round(line.size, 1)] += len(line.text)
        self.body_size = max(sizes, key=lambda size: sizes[size], default=10.0)
        large = sorted((size for size in sizes if size > 1.1 * self.body_size), reverse=True)
        self._levels = {size: level for level, size in enumerate(large, start=1)}
        self._outline = outline

    def find(self, lines: Sequence[TextLine], page: int) -> dict[int, list[Heading]]:
        """Return the headings of a page (counted from 0), by the line that they begin with."""
        found = self._find_entries(lines, self._outline.get(page, ()))
        sides = _find_sides(lines)
        number = 0
        while number < len(lines):
            count = sum(heading.lines for heading in found.get(number, ()))
            if not count:
                count = self._count_alike(lines, number, found)
                shown = lines[number : number + count]
                if heading := self._find_styled(shown, lines[number + count :], sides):
                    found.setdefault(number, []).append(heading)
            number += count
        return found

    def _count_alike(
        self, lines: Sequence[TextLine], number: int, found: Mapping[int, Sequence[Heading]]
    ) -> int:
        """Return how many lines are large or bold like the first one, and close below it."""
        first = lines[number]
        count = 1
        if not first.bold and round(first.size, 1) not in self._levels:
            return count
        for before, after in pairwise(lines[number:]):
            alike = abs(after.size - first.size) < 0.1 and after.bold == first.bold
            near = 0 < before.baseline - after.baseline < 1.6 * first.size
            if not alike or not near or number + count in found:
                break
            count += 1
        return count

    def _find_entries(
        self, lines: Sequence[TextLine], entries: Sequence[OutlineEntry]
    ) -> dict[int, list[Heading]]:
        found: dict[int, list[Heading]] = {}
        texts = [_normalize(line.text) for line in lines] if entries else []
        for entry in entries:
            place = _find_text(lines, texts, entry)
            if place and not any(heading.lines for heading in found.get(place[0], ())):
                number, count = place
            else:
                top = entry.top
                below = (n for n, line in enumerate(lines) if top and line.baseline < top)
                number, count = next(below, len(lines) if top and lines else 0), 0
            found.setdefault(number, []).append(Heading(entry.level, entry.title, count))
        return found

    def _find_styled(
        self, lines: Sequence[TextLine], below: Sequence[TextLine], sides: "_Sides"
    ) -> Heading | None:
        """Return the heading that lines are by their size or weight."""
        size = round(lines[0].size, 1)
        large = size in self._levels
        if len(lines) > _MAX_LINES or not (large or self._stands_out(lines, below, sides)):
            return None
        text = " ".join(line.text for line in lines)
        if len(text) > 200 or not _WORD.search(text):
            return None
        return Heading(self._find_level(text, size, large), text, len(lines))

    def _stands_out(
        self, lines: Sequence[TextLine], below: Sequence[TextLine], sides: "_Sides"
    ) -> bool:
        """Tell a bold heading at body size from bold text and from terms of definitions."""
        first, last = lines[0], lines[-1]
        if not first.bold or first.mono or self._outline:
            return False
        cells = len(first.fragments)
        if cells > 1 and not (cells == 2 and _NUMBER.match(first.text)):
            return False
        if first.size < 0.97 * self.body_size or last.text.endswith((".", ",", ";", ":")):
            return False
        if _ADMONITION.fullmatch(first.text):
            return False
        left, right = sides[first.column]
        if first.left < left + first.size:
            return True
        centred = abs(first.left - left - (right - first.right)) < first.size
        return centred and not (below and below[0].left > first.left + first.size)

    def _find_level(self, text: str, size: float, large: bool) -> int:
        base = _BELOW_OUTLINE if self._outline else 0
        numbered = _NUMBER.match(text)
        if numbered and not self._outline:
            return 1 + len(numbered[2].split(".")) if numbered[2] else 2
        return base + (self._levels[size] if large else len(self._levels) + 1)


_Sides = dict[int, tuple[float, float]]
"""The left and right edge of each column of a page."""


def _find_sides(lines: Sequence[TextLine]) -> _Sides:
    sides: _Sides = {}
    for line in lines:
        left, right = sides.get(line.column, (line.left, line.right))
        sides[line.column] = min(left, line.left), max(right, line.right)
    return sides


def _normalize(text: str) -> str:
    return _NOT_LETTERS.sub("", text.lower())


def _find_text(
    lines: Sequence[TextLine], texts: Sequence[str], entry: OutlineEntry
) -> tuple[int, int] | None:
    """Return the first line and the count of lines that show an entry, nearest to its place."""
    wanted = _normalize(entry.title)
    places = []
    for number in range(len(texts)):
        shown = ""
        for count in range(1, _MAX_LINES + 1):
            shown += "".join(texts[number + count - 1 : number + count])
            if len(shown) > len(wanted) + 20:
                break
            if wanted and shown.endswith(wanted) and _LABEL.fullmatch(shown[: -len(wanted)]):
                places.append((number, count))
                break
    top = entry.top
    return min(places, key=lambda at: abs(lines[at[0]].baseline - top) if top else 0, default=None)
