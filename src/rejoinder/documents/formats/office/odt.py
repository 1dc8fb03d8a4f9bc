"""Reads OpenDocument files: texts (.odt), and the text of spreadsheets and presentations.

Footnotes, comments, deleted text and generated indexes are left out.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.office.archive import (
    Archive,
    PartHandler,
    get,
    get_number,
    local_name,
)
from rejoinder.documents.formats.office.flow import MAX_COLUMNS, Flow, Script
from rejoinder.documents.formats.office.paragraph import Paragraph
from rejoinder.documents.formats.office.styles import Properties, StyleSheet, is_monospaced
from rejoinder.errors import InputError

_MAX_BEFORE_TITLE = 8
_BLANKS = re.compile(r"[ \t\r\n]+")
_FURNITURE = frozenset({"date-time", "footer", "header", "page-number"})


def read(file: IO[bytes]) -> Iterable[ExtractedDocument]:
    """Yield the document of an OpenDocument file.

    Its title is the one in the file's properties, or a paragraph near the beginning that is
    styled as a title.
    """
    archive = Archive(file, "an OpenDocument file")
    manifest = archive.parse("META-INF/manifest.xml")
    if any(local_name(element.tag) == "encryption-data" for element in manifest.iter()):
        raise InputError("encrypted; remove its password")
    handler = _ContentHandler()
    if "styles.xml" in archive:
        named = _StyleHandler(handler.styles)
        list(archive.stream("styles.xml", named))
    blocks = archive.stream("content.xml", handler)
    first = list(islice(blocks, _MAX_BEFORE_TITLE))
    title = archive.read_title("meta.xml") or handler.flow.title
    yield ExtractedDocument(title, chain(first, blocks))


class _StyleHandler(PartHandler[Block]):
    """Collects styles: those with names, and those of single paragraphs."""

    def __init__(self, styles: dict[str, StyleSheet] | None = None) -> None:
        super().__init__()
        self.styles = styles or {"paragraph": StyleSheet(), "text": StyleSheet()}
        self._style: Mapping[str, str] | None = None
        self._properties: Properties = {}

    def take(self) -> list[Block]:
        """Return nothing: styles are not blocks."""
        return []

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        if name == "style":
            self._style, self._properties = attributes, {}
        elif name == "text-properties" and self._style is not None:
            self._properties = _read_properties(attributes)

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        style = self._style
        if name != "style" or style is None:
            return
        self._style = None
        if sheet := self.styles.get(get(style, "family")):
            id_, based_on = get(style, "name"), get(style, "parent-style-name")
            if id_ == "Standard":
                self._properties.pop("monospaced", None)  # the font of all text is not for code
            shown = get(style, "display-name") or id_.replace("_20_", " ")
            sheet.add(id_, shown, based_on, self._properties)


@dataclass(slots=True)
class _Paragraph(Paragraph):
    runs: list[Properties] = field(default_factory=list)  # of spans that are open


@dataclass(slots=True)
class _Grid:
    """Where a table is being read, and which columns cells from above reach into."""

    column: int = 0
    reaching: dict[int, tuple[int, int]] = field(default_factory=dict)  # rows left, columns


class _ContentHandler(_StyleHandler):
    """Makes blocks of the elements of `content.xml`."""

    skipped = frozenset(
        {
            *("tracked-changes", "annotation", "note", "ruby-text", "hidden-text"),
            *("table-of-content", "illustration-index", "table-index", "object-index"),
            *("user-index", "alphabetical-index", "sequence-decls", "content-validations"),
            *("title", "desc", "math", "binary-data", "forms", "scripts", "event-listeners"),
        }
    )

    def __init__(self) -> None:
        super().__init__()
        self.flow = Flow()
        self._paragraphs: list[_Paragraph] = []  # a text box is inside a paragraph
        self._items: list[bool] = []  # list items that are open: is their first paragraph to come?
        self._grids: list[_Grid] = []
        self._header_depth = 0
        self._pages = 0
        self._is_spreadsheet = False
        self._frames: list[str] = []  # what frames of a slide are for

    def take(self) -> list[Block]:
        """Return the blocks that are complete."""
        return self.flow.take()

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        if name in {"p", "h"}:
            self._paragraphs.append(self._begin_paragraph(name, attributes))
        elif name in _TABLE_ELEMENTS:
            self._begin_in_table(name, attributes)
        elif name in {"list-item", "list-header"}:
            self._items.append(name == "list-item")
        elif name in {"frame", "custom-shape"}:
            self._begin_frame(attributes)
        elif name == "page":
            self._pages += 1
            self.flow.begin_page(self._pages)
        elif name == "section" and get(attributes, "display") == "none":
            self.skip()
        elif name == "spreadsheet":
            self._is_spreadsheet = True
        elif self._paragraphs:
            self._begin_in_paragraph(self._paragraphs[-1], name, attributes)
        else:
            super().begin(name, attributes)

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        if name in {"p", "h"} and self._paragraphs:
            self._paragraphs.pop().write(self.flow)
        elif name == "span" and self._paragraphs and self._paragraphs[-1].runs:
            self._paragraphs[-1].runs.pop()
        elif name in {"list-item", "list-header"} and self._items:
            self._items.pop()
        elif name in {"frame", "custom-shape"} and self._frames:
            self._frames.pop()
        elif name == "table-header-rows":
            self._header_depth -= 1
        elif name == "table-row":
            self.flow.end_row()
        elif name == "table" and self._grids:
            self._grids.pop()
            self.flow.end_table()
        elif name == "body":
            self.flow.end()
        else:
            super().finish(name)

    def text(self, text: str) -> None:
        """Receive a piece of text, in which white space is only a separator."""
        if self._paragraphs:
            self._add_text(_BLANKS.sub(" ", text))

    def _add_text(self, text: str) -> None:
        paragraph = self._paragraphs[-1]
        run = paragraph.runs[-1] if paragraph.runs else paragraph.properties
        paragraph.add(text, run)

    def _begin_paragraph(self, name: str, attributes: Mapping[str, str]) -> _Paragraph:
        style = self.styles["paragraph"].find(get(attributes, "style-name"))
        properties: Properties = {**style}
        if name == "h":
            properties["level"] = get_number(attributes, "outline-level", 1)
        elif "title" in self._frames:
            properties["level"] = 1
        elif self._items and self._items[-1]:
            self._items[-1], properties["item"] = False, True
        return _Paragraph(properties)

    def _begin_in_paragraph(
        self, paragraph: _Paragraph, name: str, attributes: Mapping[str, str]
    ) -> None:
        if name == "span":
            outer = paragraph.runs[-1] if paragraph.runs else paragraph.properties
            style = self.styles["text"].find(get(attributes, "style-name"))
            paragraph.runs.append({**outer, **style})
        elif name == "s":
            self._add_text(" " * min(get_number(attributes, "c", 1), 200))
        elif name in {"tab", "line-break"}:
            self._add_text("\t" if name == "tab" else "\n")

    def _begin_frame(self, attributes: Mapping[str, str]) -> None:
        purpose = get(attributes, "class")
        if purpose in _FURNITURE or get(attributes, "placeholder") == "true":
            self.skip()
        else:
            self._frames.append(purpose)

    def _begin_in_table(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "table":
            if self._is_spreadsheet and not self._grids:
                self.flow.add("heading", get(attributes, "name"), 1)
            self._grids.append(_Grid())
            self.flow.begin_table()
        elif name == "table-header-rows":
            self._header_depth += 1
        elif name == "table-row" and self._grids:
            self._grids[-1].column = 0
            if self._header_depth:
                self.flow.mark_header()
        elif self._grids:
            self._begin_cell(name, self._grids[-1], attributes)

    def _begin_cell(self, name: str, grid: _Grid, attributes: Mapping[str, str]) -> None:
        count = get_number(attributes, "number-columns-repeated", 1)
        if name == "covered-table-cell":
            for _ in range(min(count, MAX_COLUMNS)):
                rows, columns = grid.reaching.pop(grid.column, (0, 1))
                if rows:
                    cell = self.flow.begin_cell()
                    cell.continues, cell.span = True, columns
                if rows > 1:
                    grid.reaching[grid.column] = rows - 1, columns
                grid.column += 1
            return
        cell = self.flow.begin_cell()
        columns = get_number(attributes, "number-columns-spanned", 1)
        rows = get_number(attributes, "number-rows-spanned", 1)
        cell.span, cell.repeats = max(columns, count), count > 1
        if rows > 1:
            grid.reaching[grid.column] = rows - 1, columns
        grid.column += count


_TABLE_ELEMENTS = frozenset(
    {"table", "table-header-rows", "table-row", "table-cell", "covered-table-cell"}
)


def _read_properties(attributes: Mapping[str, str]) -> Properties:
    """Return what `style:text-properties` says."""
    properties: Properties = {}
    if font := get(attributes, "font-name") or get(attributes, "font-family"):
        properties["monospaced"] = is_monospaced(font)
    if weight := get(attributes, "font-weight"):
        properties["bold"] = weight == "bold"
    if position := get(attributes, "text-position"):
        properties["script"] = _read_position(position)
    if display := get(attributes, "display"):
        properties["hidden"] = display == "none"
    return properties


def _read_position(position: str) -> Script:
    """Return the script of a position: `super 58%`, `sub 58%`, `33% 58%`, `0% 100%`."""
    start = position.split(" ")[0]
    if start == "sub" or start.startswith("-"):
        return "sub"
    return "super" if start == "super" or start.strip("+0%") else ""
