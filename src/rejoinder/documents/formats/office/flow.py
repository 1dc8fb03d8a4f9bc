"""The flow of an office document: blocks in reading order, whatever elements they come from."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

from rejoinder.documents.blocks import Block, Kind, Outline, fold, sanitize
from rejoinder.documents.formats.rows import RowFormatter
from rejoinder.documents.notation import ENDINGS, join_term, strip_code, subscript, superscript

MAX_HEADING = 300
"""Characters of a heading; a longer one is a paragraph that was styled as a heading."""
MAX_COLUMNS = 1000
MAX_REPEATED = 300
"""Characters of a cell that is repeated in all rows it spans."""

SOFT_HYPHEN = "\xad"

Script = Literal["", "super", "sub"]


class Spans:
    """The text of a paragraph that is being read, with its raised and lowered parts."""

    def __init__(self) -> None:
        self._spans: list[tuple[Script, str]] = []
        self._has_scripts = False

    def add(self, text: str, script: Script = "") -> None:
        """Append text."""
        self._spans.append((script, text))
        if script:
            self._has_scripts = True

    def join(self) -> str:
        """Return the text of all parts."""
        if self._has_scripts:
            text = "".join(_convert(*group) for group in groupby(self._spans, key=itemgetter(0)))
        else:
            text = "".join([text for _, text in self._spans])
        return sanitize(text.replace(SOFT_HYPHEN, ""))


def _convert(script: Script, spans: Iterable[tuple[Script, str]]) -> str:
    text = "".join(text for _, text in spans)
    if not script or text.isspace():
        return text
    return superscript(text) if script == "super" else subscript(text)


class _Part(NamedTuple):
    """A block before it has a path."""

    kind: Kind
    text: str
    level: int = 0


@dataclass(slots=True)
class FlowCell:
    """A table cell that is being read."""

    span: int = 1
    """Columns."""
    continues: bool = False
    """It belongs to the cell above, and repeats its text."""
    is_head: bool = False
    """It looks like the head of its row or column."""
    repeats: bool = False
    """It has the same text in all its columns."""
    parts: list[_Part] = field(default_factory=list)


@dataclass(slots=True)
class _Table:
    rows: RowFormatter = field(default_factory=RowFormatter)
    cells: list[FlowCell] = field(default_factory=list)
    above: list[str] = field(default_factory=list)
    is_first_row: bool = True
    is_header: bool = False


class Flow:
    """Collects blocks, with the headings above them and their tables as rows.

    A table row with a single cell, or with a heading in a cell, is layout: its cells are read
    as if they were outside.  A table inside a cell becomes a part of the cell's text.
    """

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._outline = Outline()
        self._code: list[str] = []
        self._term = ""
        self._tables: list[_Table] = []
        self._page: int | None = None
        self.title = ""
        """The first paragraph that is styled as a title."""

    def take(self) -> list[Block]:
        """Return the blocks that are complete."""
        blocks, self._blocks = self._blocks, []
        return blocks

    def add(self, kind: Kind, text: str, level: int = 0, *, is_head: bool = False) -> None:
        """Add a block; lines of code that follow each other become one.

        Headings have levels from 1.  In a table, `is_head` says that the text looks like the
        head of a row or column.
        """
        if kind == "heading" and len(text) > MAX_HEADING:
            kind = "paragraph"
        part = _Part(kind, text if kind == "code" else fold(text), level)
        if not self._tables:
            self._write(part)
        elif part.text or kind == "code":
            cell = self.cell
            cell.is_head = is_head and (cell.is_head or not cell.parts)
            cell.parts.append(part)

    def add_title(self, text: str) -> None:
        """Add the title of the document; it heads all that follows."""
        self.title = self.title or fold(text)
        self.add("heading", text)

    def add_term(self, text: str) -> None:
        """Add a term; the next paragraph defines it."""
        self.add("definition", text)

    def begin_page(self, number: int) -> None:
        """Begin a page that has nothing to do with the headings before it."""
        self.end()
        self._page = number
        self._outline = Outline()

    def end(self) -> None:
        """Complete what is open."""
        while self._tables:
            self.end_table()
        self._write_pending()

    def begin_table(self) -> None:
        """Begin a table, perhaps inside a cell of another."""
        self._tables.append(_Table())

    def begin_cell(self) -> FlowCell:
        """Begin a cell."""
        cell = FlowCell()
        if self._tables and len(self._tables[-1].cells) < MAX_COLUMNS:
            self._tables[-1].cells.append(cell)
        return cell

    @property
    def cell(self) -> FlowCell:
        """The cell that is being read; one that nobody reads, if there is none."""
        return self._tables[-1].cells[-1] if self._tables and self._tables[-1].cells else FlowCell()

    def mark_header(self) -> None:
        """Say that the row that is being read holds column headings."""
        if self._tables:
            self._tables[-1].is_header = True

    def end_row(self) -> None:
        """End a row; the first one is a header also where all its cells look like heads."""
        if not self._tables:
            return
        table = self._tables[-1]
        cells, table.cells = table.cells, []
        is_header, table.is_header = table.is_header, False
        parts = [part for cell in cells for part in cell.parts]
        if not parts:
            return
        if len(cells) == 1 or any(part.kind == "heading" for part in parts):
            self._add_to_parent(_Part("row", row.text) for row in table.rows.settle())
            self._add_to_parent(parts)
            return
        heads = [cell.is_head for cell in cells if cell.parts]
        is_header = is_header or (table.is_first_row and all(heads))
        has_head = cells[0].is_head and not all(heads)
        texts = _expand(cells, table.above, repeat=is_header)
        table.is_first_row, table.above = False, texts
        rows = table.rows.add(texts, is_header=is_header, has_head=has_head)
        self._add_to_parent(_Part("row", row.text) for row in rows)

    def end_table(self) -> None:
        """End the innermost table."""
        if self._tables:
            rows = self._tables[-1].rows.end()
            self._add_to_parent(_Part("row", row.text) for row in rows)
            self._tables.pop()

    def _add_to_parent(self, parts: Iterable[_Part]) -> None:
        """Add parts around the innermost table: to the cell it is in, or to the document."""
        cells = self._tables[-2].cells if len(self._tables) > 1 else None
        for part in parts:
            if cells is None:
                self._write(part)
            elif cells:
                cells[-1].parts.append(part)

    def _write(self, part: _Part) -> None:
        if part.kind == "code" or (self._code and not part.text):
            if self._term:
                self._write_pending()
            self._code.append(part.text)
            return
        if not part.text:
            return
        if self._term and part.kind in {"paragraph", "item"}:
            part, self._term = _Part("definition", join_term(self._term, part.text)), ""
        elif part.kind == "definition":
            self._write_pending()
            self._term = part.text
            return
        self._write_pending()
        path = self._outline.path
        if part.kind == "heading":
            path = self._outline.enter(part.level, part.text)
        self._blocks.append(Block(part.kind, part.text, path, page=self._page))

    def _write_pending(self) -> None:
        """Write what waits for the next block: lines of code, or a term without definition."""
        code, self._code = strip_code("\n".join(self._code)), []
        term, self._term = self._term, ""
        kind: Kind = "code" if code else "definition"
        if code or term:
            self._blocks.append(Block(kind, code or term, self._outline.path, page=self._page))


def _expand(cells: list[FlowCell], above: list[str], *, repeat: bool) -> list[str]:
    """Return the texts of a row, one for each column."""
    while cells and not (cells[-1].parts or cells[-1].continues):
        cells.pop()
    texts: list[str] = []
    for cell in cells:
        text = _join(cell.parts)
        column, more = len(texts), min(cell.span, MAX_COLUMNS) - 1
        if cell.continues and not text and column < len(above):
            text = above[column] if len(above[column]) <= MAX_REPEATED else ""
        texts += [text, *[text if repeat or cell.repeats else ""] * more]
        if len(texts) >= MAX_COLUMNS:
            break
    return texts[:MAX_COLUMNS]


def _join(parts: list[_Part]) -> str:
    """Return the text of a cell; a comma separates list items that end without a mark."""
    texts: list[str] = []
    for part in parts:
        if part.kind in {"item", "row"} and texts and not texts[-1].endswith(ENDINGS):
            texts[-1] += ","
        texts.append(fold(part.text))
    return fold(" ".join(texts))
