"""Headings: the entries of a PDF's outline on their pages, and lines that look like headings."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
        number = 0
        while number < len(lines):
            count = sum(heading.lines for heading in found.get(number, ()))
            if not count and (heading := self._find_styled(lines, number)):
                found.setdefault(number, []).append(heading)
                count = heading.lines
            number += max(1, count)
        return found

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

    def _find_styled(self, lines: Sequence[TextLine], number: int) -> Heading | None:
        """Return the heading that lines are by their size or weight."""
        line = lines[number]
        size = round(line.size, 1)
        large = size in self._levels
        if not (large or self._stands_out(lines, number)):
            return None
        count = 1
        for after, before in zip(lines[number + 1 :], lines[number:], strict=False):
            alike = abs(after.size - line.size) < 0.1 and after.bold == line.bold
            if not alike or not 0 < before.baseline - after.baseline < 1.6 * line.size:
                break
            count += 1
        text = " ".join(part.text for part in lines[number : number + count])
        if count > _MAX_LINES or len(text) > 200 or not _WORD.search(text):
            return None
        return Heading(self._find_level(text, size, large), text, count)

    def _stands_out(self, lines: Sequence[TextLine], number: int) -> bool:
        """Tell a bold heading at body size from bold text and from terms of definitions."""
        line = lines[number]
        if not line.bold or line.mono or self._outline:
            return False
        if len(line.fragments) > 1 and not (len(line.fragments) == 2 and _NUMBER.match(line.text)):
            return False
        if line.size < 0.97 * self.body_size or line.text.endswith((".", ",", ";", ":")):
            return False
        if _ADMONITION.fullmatch(line.text):
            return False
        left = min(other.left for other in lines if other.column == line.column)
        right = max(other.right for other in lines if other.column == line.column)
        centred = abs(line.left - left - (right - line.right)) < line.size
        return line.left < left + line.size or (centred and not _is_term(lines, number))

    def _find_level(self, text: str, size: float, large: bool) -> int:
        base = _BELOW_OUTLINE if self._outline else 0
        numbered = _NUMBER.match(text)
        if numbered and not self._outline:
            return 1 + len(numbered[2].split(".")) if numbered[2] else 2
        return base + (self._levels[size] if large else len(self._levels) + 1)


def _is_term(lines: Sequence[TextLine], number: int) -> bool:
    """Whether the next line is indented below this one."""
    following = lines[number + 1] if number + 1 < len(lines) else None
    return following is not None and following.left > lines[number].left + lines[number].size


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
