"""Reads Excel files (.xlsx): the rows of all visible sheets, each with its column headings.

Formulas are read as the value that Excel saved with them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, TypeVar

from rejoinder.documents.blocks import Block, ExtractedDocument, fold, sanitize
from rejoinder.documents.formats.office.archive import (
    Archive,
    PartHandler,
    Relation,
    get,
    get_number,
    local_name,
)
from rejoinder.documents.formats.office.cell_values import NumberFormat, find_format, format_number
from rejoinder.documents.formats.office.flow import Script, Spans
from rejoinder.documents.formats.rows import FormattedRow, RowFormatter

MAX_COLUMNS = 16_384
"""Excel has no more."""


def read(file: IO[bytes]) -> Iterable[ExtractedDocument]:
    """Yield the document of an Excel file; each sheet is a section of it."""
    archive = Archive(file, "an Excel file")
    yield ExtractedDocument(archive.read_title("docProps/core.xml"), _read_sheets(archive))


def _read_sheets(archive: Archive) -> Iterator[Block]:
    main = archive.find_main_part("xl/workbook.xml")
    links = archive.relations(main)
    parts = {link.id: link.part for link in links if link.kind == "worksheet"}
    workbook = archive.parse(main)
    properties = [e.attrib for e in workbook.iter() if local_name(e.tag) == "workbookPr"]
    from_1904 = any(get(p, "date1904", "0") not in {"0", "false"} for p in properties)
    strings = list(_read_strings(archive, links))
    formats = {str(style): f for style, f in enumerate(_read_formats(archive, links)) if f}
    for sheet in workbook.iter():
        if local_name(sheet.tag) != "sheet" or get(sheet.attrib, "state").endswith("idden"):
            continue
        # A sheet has the id of a link; other attributes called id are without a namespace.
        link = next((value for key, value in sheet.attrib.items() if key.endswith("}id")), "")
        if link in parts:
            handler = _SheetHandler(strings, formats, from_1904=from_1904)
            rows = archive.stream(parts[link], handler)
            yield from _read_rows(fold(sanitize(get(sheet.attrib, "name"))), rows)


def _read_rows(sheet: str, rows: Iterator[FormattedRow]) -> Iterator[Block]:
    # No heading block: "Sheet1" would become the title of the document.
    path = (sheet,) if sheet else ()
    for row in rows:
        yield Block("row", row.text, path, row.line)


def _find_part(links: list[Relation], kind: str, usual: str) -> str:
    return next((link.part for link in links if link.kind == kind), usual)


def _read_strings(archive: Archive, links: list[Relation]) -> Iterator[str]:
    part = _find_part(links, "sharedStrings", "xl/sharedStrings.xml")
    return archive.stream(part, _StringHandler()) if part in archive else iter(())


def _read_formats(archive: Archive, links: list[Relation]) -> Iterator[NumberFormat]:
    """Yield the number format of each cell style."""
    codes: dict[str, str] = {}
    for element in archive.parse(_find_part(links, "styles", "xl/styles.xml")).iter():
        name = local_name(element.tag)
        if name == "numFmt":
            codes[get(element.attrib, "numFmtId")] = get(element.attrib, "formatCode")
        elif name == "cellXfs":
            for style in element:
                number = get(style.attrib, "numFmtId")
                yield find_format(number, codes.get(number, ""))


_SCRIPTS: dict[str, Script] = {"superscript": "super", "subscript": "sub"}
_Found = TypeVar("_Found")


class _TextHandler(PartHandler[_Found]):
    """Collects rich text: runs, some of them raised or lowered."""

    skipped = frozenset({"rPh", "f", "extLst"})  # pronunciation, formulas

    def __init__(self) -> None:
        super().__init__()
        self._found: list[_Found] = []
        self._spans = Spans()
        self._script: Script = ""
        self._is_text = False

    def take(self) -> list[_Found]:
        """Return what has been found since the last call."""
        found, self._found = self._found, []
        return found

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        if name == "t":
            self._is_text = True
        elif name == "r":
            self._script = ""
        elif name == "vertAlign":
            self._script = _SCRIPTS.get(get(attributes, "val"), "")

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        if name == "t":
            self._is_text = False

    def text(self, text: str) -> None:
        """Receive a piece of text."""
        if self._is_text:
            self._spans.add(text, self._script)

    def take_text(self) -> str:
        """Return the text that is complete."""
        spans, self._spans, self._script = self._spans, Spans(), ""
        return fold(spans.join())


class _StringHandler(_TextHandler[str]):
    """Collects the texts that cells share."""

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        super().finish(name)
        if name == "si":
            self._found.append(self.take_text())


class _SheetHandler(_TextHandler[FormattedRow]):
    """Makes rows of the elements of a sheet."""

    def __init__(
        self, strings: Sequence[str], formats: Mapping[str, NumberFormat], *, from_1904: bool
    ) -> None:
        super().__init__()
        self._strings = strings
        self._formats = formats
        self._from_1904 = from_1904
        self._rows = RowFormatter()
        self._row = 0
        self._column = -1
        self._cell: Mapping[str, str] = {}
        self._value: list[str] | None = None  # None outside of values
        self._cells: list[str] = []

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        if name == "c":
            self._cell = attributes
            self._column = _find_column(attributes.get("r", ""), self._column + 1)
        elif name == "v":
            self._value = []
        elif name == "row":
            self._row = get_number(attributes, "r", self._row + 1)
            self._column = -1
        else:
            super().begin(name, attributes)

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        if name == "v":
            self._add(self._read_value("".join(self._value or ())))
            self._value = None
        elif name == "is":
            self._add(self.take_text())
        elif name == "row":
            self._found += self._rows.add(self._cells, self._row)
            self._cells = []
        elif name == "sheetData":
            self._found += self._rows.end()
        else:
            super().finish(name)

    def text(self, text: str) -> None:
        """Receive a piece of text."""
        if self._value is not None:
            self._value.append(text)
        else:
            super().text(text)

    def _add(self, text: str) -> None:
        if text and self._column < MAX_COLUMNS:
            missing = self._column + 1 - len(self._cells)
            self._cells += [""] * missing
            self._cells[self._column] = text

    def _read_value(self, value: str) -> str:
        kind = self._cell.get("t", "n")
        if kind == "s":
            place = int(value) if value.isdecimal() and len(value) < 10 else len(self._strings)
            return self._strings[place] if place < len(self._strings) else ""
        value = fold(sanitize(value))
        if kind == "n":
            style = self._cell.get("s", "0")
            number_format = self._formats.get(style, "")
            return format_number(value, number_format, from_1904=self._from_1904)
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "d":
            return value.removesuffix("T00:00:00").replace("T", " ")
        return "" if kind == "e" else value


def _find_column(reference: str, following: int) -> int:
    """Return the column of a reference such as `AB12`, from 0."""
    column = 0
    for letter in reference[:3]:
        if not "A" <= letter <= "Z":
            break
        column = 26 * column + ord(letter) - 64
    return column - 1 if column else following
