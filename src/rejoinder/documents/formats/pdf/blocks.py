"""Lines → blocks: headings, paragraphs, list items, definitions, code, captions and table rows."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from rejoinder.documents.blocks import Block, Kind, Outline, fold, sanitize
from rejoinder.documents.formats.pdf.headings import Heading, HeadingFinder
from rejoinder.documents.formats.pdf.hyphens import Hyphens
from rejoinder.documents.formats.pdf.lines import TextLine
from rejoinder.documents.formats.pdf.rules import Rule
from rejoinder.documents.formats.pdf.tables import TableRows, find_table
from rejoinder.documents.notation import format_row, join_term, strip_code

_BULLET = re.compile(
    r"(?:[•‣◦▪▫●○■□➢➤✓✔–—*·∙\uf0b7\uf0a7\uf0d8-](?= |$)|\(?(?:\d{1,2}|[a-z])[.)](?= \S)) ?"
)
_CAPTION = re.compile(
    r"(?:Figure|Fig\.|Table|Listing|Example|Algorithm|Scheme|Plate|Box|Abbildung|Tabelle|Tableau)"
    r" ?[0-9A-Z]{1,3}(?:[.-][0-9]{1,3})*(?: ?[:.–—]|$)"
)
_ENDS = re.compile(r"[.!?:;][\"”’)\]]*$")
_GAP = 1.3
"""A wider gap, in the usual distance of lines, separates paragraphs."""
_MAX_CODE_COLUMNS = 300


@dataclass
class _Draft:
    """A block in the making."""

    kind: Kind
    lines: list[TextLine]
    text: str = ""
    """Where it is not simply the text of the lines."""
    term: str = ""
    heading: Heading | None = None
    open: bool = field(default=False)
    """Whether the text may go on on the next page."""
    full: bool = field(default=False)
    """Whether its last line reaches the right margin."""


class PageAssembler:
    """Makes blocks of the lines of pages, in reading order."""

    def __init__(self, headings: HeadingFinder, hyphens: Hyphens) -> None:
        self._headings = headings
        self._hyphens = hyphens
        self._outline = Outline()
        self._waiting: _Draft | None = None
        self._notes: list[_Draft] = []
        self._columns: list[str] = []

    def add_page(
        self, lines: Sequence[TextLine], rules: Sequence[Rule], page: int
    ) -> Iterator[Block]:
        """Yield the blocks that end with or before this page (counted from 0)."""
        drafts = list(self._draft_page(lines, rules, page))
        notes: list[_Draft] = []
        while len(drafts) > 1 and self._is_note(drafts[-1]):
            notes.insert(0, drafts.pop())
        for number, draft in enumerate(drafts):
            if self._waiting and number == 0 and _goes_on(self._waiting, draft):
                self._waiting.lines += draft.lines
                self._waiting.open, self._waiting.full = draft.open, draft.full
            else:
                yield from self.close()
                self._waiting = draft
        self._notes += notes

    def close(self) -> Iterator[Block]:
        """Yield the last block, and the footnotes of the pages that it stands on."""
        drafts = [self._waiting] if self._waiting else []
        drafts += self._notes
        self._waiting, self._notes = None, []
        for draft in drafts:
            yield from self._finish(draft)

    def _is_note(self, draft: _Draft) -> bool:
        small = draft.lines[0].size < 0.95 * self._headings.body_size
        return small and draft.kind in ("paragraph", "item")

    def _draft_page(
        self, lines: Sequence[TextLine], rules: Sequence[Rule], page: int
    ) -> Iterator[_Draft]:
        headings = self._headings.find(lines, page)
        margins = _Margins(lines)
        number = 0
        while number < len(lines):
            count = 0
            for heading in headings.get(number, ()):
                shown = list(lines[number : number + max(1, heading.lines)])
                yield _Draft("heading", shown, heading.text, heading=heading)
                count += heading.lines
            number += count
            if count:
                continue
            rest = lines[number:]
            limit = next((n for n in range(1, len(rest)) if number + n in headings), len(rest))
            drafts, taken = self._draft_text(rest[:limit], rules, margins)
            yield from drafts
            number += taken
        for heading in headings.get(len(lines), ()) if lines else ():
            yield _Draft("heading", [lines[-1]], heading.text, heading=heading)

    def _draft_text(
        self, lines: Sequence[TextLine], rules: Sequence[Rule], margins: "_Margins"
    ) -> tuple[list[_Draft], int]:
        """Return the drafts that the first of the lines begins, and how many lines they take."""
        first = lines[0]
        if first.mono and (body := _take_body(lines, margins)):
            return [_Draft("definition", body, term=first.text)], 1 + len(body)
        if first.mono:
            code = _take_code(lines)
            return [_Draft("code", code, open=True)], len(code)
        if table := find_table(lines, rules, self._hyphens):
            return self._draft_rows(lines, table), table.count
        taken = _take_paragraph(lines, margins)
        draft = _draft_paragraph(taken, margins)
        draft.full = margins.find(taken[-1]) - taken[-1].right < 2 * first.size
        if draft.kind != "item" and len(taken) == 1 and (body := _take_body(lines, margins)):
            return [_Draft("definition", body, term=first.text)], 1 + len(body)
        return [draft], len(taken)

    def _draft_rows(self, lines: Sequence[TextLine], table: TableRows) -> list[_Draft]:
        headings = table.headings
        if not headings and self._continues_table(table):
            headings = self._columns
        self._columns = headings
        drafts = []
        for row in table.rows:
            if text := format_row(headings, row):
                drafts.append(_Draft("row", [lines[0]], text))
        return drafts

    def _continues_table(self, table: TableRows) -> bool:
        """Whether rows without column headings follow rows of as many columns."""
        after_row = self._waiting is not None and self._waiting.kind == "row"
        return after_row and any(len(row) == len(self._columns) for row in table.rows[:1])

    def _finish(self, draft: _Draft) -> Iterator[Block]:
        page = draft.lines[0].page
        text = sanitize(self._write(draft))
        if not text:
            return
        if draft.heading:
            path = self._outline.enter(draft.heading.level, text)
            yield Block("heading", text, path, page=page)
        else:
            yield Block(draft.kind, text, self._outline.path, page=page)

    def _write(self, draft: _Draft) -> str:
        if draft.kind == "code":
            return _write_code(draft.lines)
        if draft.text:
            return fold(draft.text)
        text = self._hyphens.join(line.text for line in draft.lines)
        if draft.kind == "item":
            return _BULLET.sub("", text, count=1)
        return join_term(draft.term, text) if draft.term else text


def _ends(text: str) -> bool:
    """Whether a sentence ends here."""
    return _ENDS.search(text[-6:]) is not None


def _goes_on(draft: _Draft, following: _Draft) -> bool:
    """Whether a block continues on the next page."""
    if draft.kind == "code":
        return following.kind == "code"
    if not draft.open or following.kind != "paragraph":
        return False
    last, first = draft.lines[-1], following.lines[0]
    if abs(last.size - first.size) > 0.1:
        return False
    return draft.full or first.text[:1].islower() or last.text.endswith(("-", ","))


def _take_code(lines: Sequence[TextLine]) -> list[TextLine]:
    taken = [lines[0]]
    for line in lines[1:]:
        if not line.mono or not 0 < taken[-1].baseline - line.baseline < 4 * line.size:
            break
        taken.append(line)
    return taken


def _write_code(lines: Sequence[TextLine]) -> str:
    """Return code with indentation, alignment and empty lines from positions."""
    spans = [span for line in lines for fragment in line.fragments for span in fragment.spans]
    pitches = sorted(span.pitch for span in spans if len(span.text) > 3) or [lines[0].size * 0.6]
    pitch = max(0.1, pitches[len(pitches) // 2])
    left = min(line.left for line in lines)
    gaps = sorted(
        before.baseline - line.baseline
        for before, line in pairwise(lines)
        if before.baseline > line.baseline
    )
    leading = gaps[len(gaps) // 4] if gaps else 1.2 * lines[0].size
    written: list[str] = []
    before = lines[0]
    for line in lines:
        if before.baseline - line.baseline > 1.6 * leading:
            written.append("")
        row = ""
        for span in (span for fragment in line.fragments for span in fragment.spans):
            column = min(_MAX_CODE_COLUMNS, round((span.left - left) / pitch))
            row = row.ljust(column) if not row or column > len(row) else row
            row += span.text
        written.append(row)
        before = line
    return strip_code("\n".join(written))


class _Margins:
    """Margins of a page; on the right, how far lines reach that begin at the same place."""

    def __init__(self, lines: Sequence[TextLine]) -> None:
        alike: dict[tuple[int, int, int], list[TextLine]] = {}
        self._left: dict[int, float] = {}
        for line in lines:
            self._left[line.column] = min(line.left, self._left.get(line.column, line.left))
            alike.setdefault(self._key(line), []).append(line)
        self._right = {
            key: _find_edge(some) or max(line.right for line in some) for key, some in alike.items()
        }

    def find(self, line: TextLine) -> float:
        """Return the right margin of a line of the page."""
        return self._right[self._key(line)]

    def is_title(self, line: TextLine) -> bool:
        """Whether a line is bold and not indented."""
        return line.bold and line.left < self._left[line.column] + line.size

    def _key(self, line: TextLine) -> tuple[int, int, int]:
        return line.column, round(line.left / 2), round(line.size)


def _find_edge(lines: Sequence[TextLine]) -> float:
    """Return where justified lines end, or 0 where no three lines end at one place."""
    ends = Counter(round(line.right / 2) for line in lines)
    end, count = ends.most_common(1)[0]
    return 2.0 * end if count > 2 else 0.0


def _take_paragraph(lines: Sequence[TextLine], margins: _Margins) -> list[TextLine]:
    """Return the lines of the paragraph that begins with the first one."""
    run = _take_run(lines)
    edge = _find_edge(run) or margins.find(run[-1]) or max(line.right for line in run)
    taken = [run[0]]
    leading = _find_leading(run)
    for line in run[1:]:
        before = taken[-1]
        if before.baseline - line.baseline > _GAP * leading or _begins_item(before, line):
            break
        if _is_broken(before, line, edge) or _is_indented(taken, line):
            break
        taken.append(line)
    return taken


def _begins_item(before: TextLine, line: TextLine) -> bool:
    """Tell the mark of an item from a number or a dash inside a sentence."""
    mark = _BULLET.match(line.text)
    if not mark:
        return False
    return (not mark[0].strip("().- –—").isalnum() and mark[0][0] not in "-–—*") or bool(
        _ends(before.text) or _BULLET.match(before.text)
    )


def _take_run(lines: Sequence[TextLine]) -> list[TextLine]:
    """Return lines of one size and column that stand close below each other."""
    run = [lines[0]]
    for line in lines[1:]:
        before = run[-1]
        distance = before.baseline - line.baseline
        if line.mono and not _is_inline(before, line):
            break
        if abs(line.size - run[0].size) > 0.12 * run[0].size:
            break
        if line.column != before.column or not 0 < distance < 2 * line.size:
            break
        if line.left > before.right or line.right < run[0].left:
            break
        run.append(line)
    return run


def _is_inline(before: TextLine, line: TextLine) -> bool:
    """Tell a line of a sentence that is all in a code font from code."""
    if before.mono or _ends(before.text) or abs(line.left - before.left) > 1:
        return False
    return before.baseline - line.baseline < 1.35 * before.size


def _find_leading(run: Sequence[TextLine]) -> float:
    """Return the least usual distance of lines."""
    gaps = sorted(a.baseline - b.baseline for a, b in pairwise(run))
    return max(gaps[len(gaps) // 4], 0.9 * run[0].size) if gaps else 1.2 * run[0].size


def _is_broken(before: TextLine, line: TextLine, edge: float) -> bool:
    """Whether a line ends early: the first word of the next one would have fitted on it."""
    word = line.text.split(" ", 1)[0]
    share = len(word) / max(1, len(line.text))
    width = share * (line.right - line.left) + 0.6 * line.size
    if before.text.endswith("-"):
        return False
    return before.right + width < edge - 0.5 * line.size


def _is_indented(taken: Sequence[TextLine], line: TextLine) -> bool:
    """Whether a line begins a paragraph by its indentation, in or out."""
    before = taken[-1]
    shift = line.left - before.left
    if shift > 0.8 * line.size:
        # The second line of an item or a definition may hang; later ones do not.
        return len(taken) > 1 or (_ends(before.text) and not _BULLET.match(before.text))
    return shift < -0.8 * line.size and len(taken) > 1


def _draft_paragraph(lines: list[TextLine], margins: "_Margins") -> _Draft:
    text = lines[0].text
    kind: Kind = "paragraph"
    if _CAPTION.match(text):
        kind = "caption"
    elif _BULLET.match(text):
        kind = "item"
    elif len(lines) < 3 and not _ends(text) and all(map(margins.is_title, lines)):
        kind = "caption"
    return _Draft(kind, lines, open=kind != "caption" and not _ends(lines[-1].text))


def _take_body(lines: Sequence[TextLine], margins: "_Margins") -> list[TextLine]:
    """Return the indented paragraph below a term."""
    term = lines[0]
    if len(lines) < 2 or len(term.text) > 100 or _ends(term.text):
        return []
    if _CAPTION.match(term.text):
        return []
    first = lines[1]
    distance = term.baseline - first.baseline
    indent = first.left - term.left
    if not (0 < distance < 1.6 * term.size and 0.8 * term.size < indent < 12 * term.size):
        return []
    if first.mono or abs(first.size - term.size) > 0.5 or _BULLET.match(first.text):
        return []
    second = lines[2] if len(lines) > 2 else first
    near = first.baseline - second.baseline < distance + 1
    if near and first.left - second.left > 0.5 * term.size:
        return []  # only the first line is indented: a paragraph
    return _take_paragraph(lines[1:], margins)
