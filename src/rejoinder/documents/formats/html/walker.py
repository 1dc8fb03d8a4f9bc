"""Walks through a page once and drafts its blocks."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from lxml import etree

from rejoinder.documents.blocks import Kind
from rejoinder.documents.formats.html.code import HOLDS_BLOCKS, read_code
from rejoinder.documents.formats.html.drafts import MAX_DEPTH, Draft, define, join
from rejoinder.documents.formats.html.inline import Inline
from rejoinder.documents.formats.html.manpage import read_manpage
from rejoinder.documents.formats.html.mathml import read_math
from rejoinder.documents.formats.html.navigation import (
    Part,
    is_line_of_links,
    is_navigation,
    part_of,
)
from rejoinder.documents.formats.html.tables import HtmlCell, HtmlTable

_SKIPPED = frozenset(
    {"script", "style", "template", "noscript", "svg", "iframe", "object", "embed", "applet"}
    | {"canvas", "audio", "video", "map", "select", "button", "textarea", "input", "datalist"}
    | {"label", "progress", "meter", "head", "title", "rp", "rt", "noframes", "search"}
)
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details"}
    | {"dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form"}
    | {"h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "html", "legend", "li"}
    | {"main", "menu", "nav", "ol", "p", "section", "summary", "table", "tbody", "td", "tfoot"}
    | {"th", "thead", "tr", "ul", "pre", "listing", "xmp", "plaintext"}
)
_CODE = frozenset({"pre", "listing", "xmp", "plaintext"})
_LEVELS = {f"h{level}": level for level in range(1, 7)}
_TABLE = frozenset({"table", "tr", "td", "th"})
_HELD = frozenset({"heading", "caption", "td", "th", "dt"})
_LISTS = frozenset({"ul", "ol", "dl", "table", "menu", "dir"})
_DIVISIONS = frozenset(
    {
        "div",
        "section",
        "aside",
        "center",
        "form",
        "fieldset",
        "details",
        "footer",
        "address",
        "body",
    }
)
_ENDS_SECTION = {"div": 3, "section": 2, "aside": 2, "li": 2, "blockquote": 2, "details": 2}
"""A heading of this level or below, at the start of such an element, ends with it."""
_MAX_TERM = 500
_MAX_TERMS = 12
_MAX_LABEL = 80
"""Characters of a line that heads navigation, such as "On this page"."""
_STOPS = (".", "!", "?")
_MAIN_SHARE = 0.5
"""Of the page's text that `<main>` or `<article>` must hold to be all that is read."""


@dataclass(slots=True)
class _Frame:
    """An open block element."""

    tag: str
    start: int  # in drafts
    part: Part = ""
    level: int = 0  # of a heading
    span: tuple[int, int] = (1, 1)  # columns and rows of a cell


@dataclass(slots=True)
class _Terms:
    """An open definition list."""

    waiting: list[Draft] = field(default_factory=list)
    last: str = ""
    section: str = ""  # anchor to return to


class Walker:
    """Drafts the blocks of a page."""

    def __init__(self) -> None:
        self.drafts: list[Draft] = []
        self._sums = [(0, 0, 0, 0, 0)]  # of all drafts before: size, linked, links, steps, content
        self._inline = Inline()
        self._frames: list[_Frame] = []
        self._tables: list[HtmlTable] = []
        self._lists: list[_Terms] = []
        self._kind: Kind = "paragraph"  # of the next block
        self._section = ""  # anchor
        self._sections: list[tuple[int, str]] = []  # levels and anchors of the headings above
        self._held = 0  # open cells, terms, headings and captions, in which links are content
        self._mains = 0
        self._candidates: list[tuple[int, int]] = []  # where main content starts and ends
        self._ends: dict[str, Callable[[_Frame], None]] = {
            "heading": self._end_heading,
            "caption": self._end_caption,
            "banner": self._end_banner,
            "td": self._end_cell,
            "th": self._end_cell,
            "dt": self._end_term,
            "dd": self._end_definition,
            "li": self._end_item,
        }

    def walk(self, root: Any) -> None:
        """Draft the blocks below an element."""
        walk = etree.iterwalk(root, events=("start", "end"))
        skipped = False
        for event, element in walk:
            tag = element.tag
            if event == "start":
                skipped = not self._start(tag, element)
                if skipped:
                    walk.skip_subtree()
                elif text := element.text:
                    self._inline.add(text, element)
                continue
            if skipped:
                skipped = False
            elif tag in _BLOCKS:
                self._end_block(self._frames.pop())
            else:
                self._inline.end(tag, element)
            if tail := element.tail:
                self._inline.add(tail, element, (element.text or "").count("\n"))
        self._flush()
        self._narrow()

    def _start(self, tag: str, element: Any) -> bool:
        """Open an element; False if it is not read."""
        if tag in _SKIPPED:
            self._inline.words.append(" ")
            return False
        attributes = element.items()
        part: Part = ""
        block = tag in _BLOCKS
        if block:
            self._flush()
        if attributes or block:
            part = part_of(tag, attributes)
            if self._is_dropped(tag, part):
                if block and part != "hidden":
                    self._append(Draft("dropped"))
                return False
            self._note_anchor(tag, element)
        if not block:
            if tag == "math":
                self._inline.add(f" {read_math(element)} ", element)
                return False
            self._inline.start(tag, element)
            return True
        if (tag in _CODE or (part == "code" and tag == "div")) and not HOLDS_BLOCKS(element):
            self._add_code(element)
            return False
        self._start_block(tag, element, part)
        return True

    def _is_dropped(self, tag: str, part: Part) -> bool:
        beside_main = not self._mains and (tag == "footer" or part == "aside")
        return part == "hidden" or part == "navigation" or beside_main

    def _note_anchor(self, tag: str, element: Any) -> None:
        if self._inline.blank and (
            anchor := element.get("id") or (tag == "a" and element.get("name"))
        ):
            self._inline.anchor = anchor

    def _start_block(self, tag: str, element: Any, part: Part) -> None:
        frame = _Frame(tag, len(self.drafts), part)
        if tag in _LEVELS or part in {"heading", "title", "rubric"}:
            frame.tag, frame.level = "heading", _level(tag, element, part)
        elif part == "caption" or tag == "figcaption":
            frame.tag = "caption"
        elif part == "item":
            frame.tag = "li"
        elif part == "banner" and not any(open_.tag == "section" for open_ in self._frames):
            frame.tag = "banner"  # of the page, not of a section
        elif tag in _TABLE:
            self._start_table(frame, element)
        elif tag == "dl":
            self._lists.append(_Terms(section=self._section))
        elif tag in {"dt", "dd"} and self._frames and self._frames[-1].tag == tag:
            self._end_early(self._frames[-1])
            frame.start = len(self.drafts)
        self._held += frame.tag in _HELD
        self._mains += part == "main"
        if frame.tag == "li":
            self._kind = "item"
        self._frames.append(frame)

    def _start_table(self, frame: _Frame, element: Any) -> None:
        if frame.tag in {"td", "th"}:
            frame.span = _number(element, "colspan"), _number(element, "rowspan")
        elif frame.tag == "table":
            if len(self._tables) < MAX_DEPTH:
                self._tables.append(HtmlTable(layout=frame.part == "layout"))
            else:
                frame.tag = "div"
        elif self._tables:
            in_head = bool(self._frames) and self._frames[-1].tag == "thead"
            self._tables[-1].rows.append(([], in_head))

    def _end_block(self, frame: _Frame) -> None:
        self._flush()
        tag = frame.tag
        self._held -= tag in _HELD
        if end := self._ends.get(tag):
            end(frame)
        elif tag in _LISTS or tag in _DIVISIONS:
            self._end_container(frame)
        if tag in _ENDS_SECTION:
            self._end_section(frame)
        if frame.part == "main":
            self._mains -= 1
            if not self._tables:
                self._candidates.append((frame.start, len(self.drafts)))

    def _end_early(self, frame: _Frame) -> None:
        """End a term or definition that the next one ends for browsers, but not for libxml2."""
        self._ends[frame.tag](frame)
        self._held -= frame.tag in _HELD
        frame.tag = "div"

    def _end_caption(self, frame: _Frame) -> None:
        if caption := self._join("caption", frame):
            self._append(caption)

    def _end_heading(self, frame: _Frame) -> None:
        if heading := self._join("heading", frame):
            heading.level = frame.level
            self._leave(frame.level)
            self._sections.append((frame.level, heading.anchor))
            self._section = heading.anchor
            self._append(heading)

    def _end_cell(self, frame: _Frame) -> None:
        if self._tables:
            rows = self._tables[-1].rows
            if not rows:
                rows.append(([], False))
            rows[-1][0].append(HtmlCell(self._cut(frame.start), frame.tag == "th", *frame.span))

    def _end_term(self, frame: _Frame) -> None:
        if not self._lists or sum(len(d.text) for d in self.drafts[frame.start :]) > _MAX_TERM:
            return
        if term := self._join("paragraph", frame):
            self._lists[-1].waiting.append(term)
            self._section = term.anchor

    def _end_definition(self, frame: _Frame) -> None:
        if not self._lists or len(self.drafts) == frame.start:
            return  # the term waits for the next definition
        terms, self._lists[-1].waiting = self._lists[-1].waiting, []
        body = self._cut(frame.start)
        if terms:
            *others, last = terms
            if len(terms) <= _MAX_TERMS:
                last = join("paragraph", terms, ", ")
            else:
                self._extend(chain.from_iterable(define(term, []) for term in others))
            self._lists[-1].last = last.text
            self._extend(define(last, body))
        else:
            self._extend([Draft("open", self._lists[-1].last), *body, Draft("close")])

    def _end_item(self, frame: _Frame) -> None:
        self._kind = "paragraph"
        drafts = self.drafts[frame.start : frame.start + 2]
        if len(drafts) == 2 and drafts[0].emphatic and drafts[1].kind == "paragraph":
            term, *body = self._cut(frame.start)
            self._extend(define(term, body))
        elif len(drafts) == 2 and drafts[1].kind == "dropped":
            self._drop_navigation(frame)

    def _end_container(self, frame: _Frame) -> None:
        """Drop a list, table or division that is navigation."""
        if frame.tag == "table":
            self._extend(self._tables.pop().to_drafts())
        elif frame.tag == "dl":
            terms = self._lists.pop()
            self._extend(chain.from_iterable(define(term, []) for term in terms.waiting))
            self._section = terms.section
        if not self._held or frame.tag in _LISTS:
            self._drop_navigation(frame)

    def _drop_navigation(self, frame: _Frame) -> None:
        before, after = self._sums[frame.start], self._sums[-1]
        size, linked, links, steps, content = (b - a for a, b in zip(before, after, strict=True))
        drop = is_navigation(size, linked, links + (frame.tag in _LISTS), steps)
        if content <= 1 and size <= _MAX_LABEL and frame.tag != "body":
            drop = drop or _is_label(self.drafts[frame.start :])
        if drop:
            self._keep_title(frame)

    def _end_banner(self, frame: _Frame) -> None:
        """Keep the title of the page that stands in its header."""
        if not self._mains:
            self._keep_title(frame)

    def _keep_title(self, frame: _Frame) -> None:
        """Drop all of an element but the title of the page."""
        drafts = self._cut(frame.start)
        self._append(Draft("dropped"))
        self._extend(filter(_is_title, drafts))

    def _end_section(self, frame: _Frame) -> None:
        if len(self.drafts) > frame.start + 1:
            first = self.drafts[frame.start]
            if first.kind == "heading" and first.level >= _ENDS_SECTION[frame.tag]:
                self._append(Draft("end", level=first.level))
                self._leave(first.level)

    def _leave(self, level: int) -> None:
        """Return to the anchor of the section above."""
        while self._sections and self._sections[-1][0] >= level:
            self._sections.pop()
        self._section = self._sections[-1][1] if self._sections else ""

    def _flush(self) -> None:
        """End the block that is being read."""
        inline = self._inline
        if inline.blank:
            if inline.words:
                inline.words = []
            return
        for draft in inline.take(self._kind, code=not self._held):
            self._kind = "paragraph"
            draft.anchor = draft.anchor or self._section
            is_text = draft.kind == "paragraph" or draft.kind == "item"
            if draft.links and is_text and not self._held and is_line_of_links(draft):
                self._append(Draft("dropped"))
            else:
                self._append(draft)

    def _add_code(self, element: Any) -> None:
        text = read_code(element)
        line = element.sourceline
        drafts = [] if self._held else read_manpage(text, line)
        anchor = self._inline.anchor or self._section
        self._inline.anchor = ""
        if not drafts and text:
            drafts = [Draft("code", text, line, size=len(text))]
        for draft in drafts:
            draft.anchor = anchor
            self._append(draft)

    def _append(self, draft: Draft) -> None:
        size, linked, links, steps, content = self._sums[-1]
        self.drafts.append(draft)
        if draft.kind != "heading" and draft.text:
            size += draft.size
            linked += draft.linked
            links += draft.links
            steps += draft.steps
            content += draft.kind != "open"
        self._sums.append((size, linked, links, steps, content))

    def _extend(self, drafts: Iterable[Draft]) -> None:
        for draft in drafts:
            self._append(draft)

    def _cut(self, start: int) -> list[Draft]:
        """Take away the drafts from a place on."""
        drafts = self.drafts[start:]
        del self.drafts[start:], self._sums[start + 1 :]
        return drafts

    def _join(self, kind: Kind, frame: _Frame) -> Draft | None:
        """Take away the drafts of an element as one; None if it holds none."""
        drafts = [draft for draft in self._cut(frame.start) if draft.text]
        return join(kind, drafts) if drafts else None

    def _narrow(self) -> None:
        """Keep main content alone, where the page marks it and most of the text is there."""
        sizes = [
            (self._sums[end][0] - self._sums[start][0], start, end)
            for start, end in self._candidates
            if end < len(self._sums)
        ]
        if not sizes:
            return
        size, start, end = max(sizes)
        if size >= _MAIN_SHARE * self._sums[-1][0]:
            before, self.drafts = self.drafts[:start], self.drafts[start:end]
            if not any(draft.kind == "heading" and draft.level <= 1 for draft in self.drafts):
                self.drafts[:0] = list(filter(_is_title, before))[-1:]


def _is_title(draft: Draft) -> bool:
    return draft.kind == "heading" and draft.level <= 1 and not draft.links


def _is_label(drafts: list[Draft]) -> bool:
    """Say whether all that is left around navigation is a line that heads it."""
    if not any(draft.kind == "dropped" for draft in drafts):
        return False
    texts = [draft.text for draft in drafts if draft.text and draft.kind != "heading"]
    if any(text.endswith(_STOPS) for text in texts):
        return False
    return drafts[-1].kind == "dropped" or not any(draft.kind == "heading" for draft in drafts)


def _level(tag: str, element: Any, part: Part) -> int:
    if tag in _LEVELS:
        return _LEVELS[tag]
    if part == "rubric":
        return 7
    return 0 if part == "title" else min(_number(element, "aria-level", 2), 6)


def _number(element: Any, name: str, default: int = 1) -> int:
    value = (element.get(name) or "").strip()[:4]
    return max(1, int(value)) if value.isdecimal() else default
