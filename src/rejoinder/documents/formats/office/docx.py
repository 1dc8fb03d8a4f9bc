"""Reads Word files (.docx): paragraphs, headings, lists and tables of the main text.

Headers, footers, footnotes and comments are parts of their own, and are not read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.office.archive import (
    Archive,
    PartHandler,
    get,
    get_number,
    is_on,
    local_name,
)
from rejoinder.documents.formats.office.flow import Flow, Script
from rejoinder.documents.formats.office.paragraph import FORMULAS, Paragraph
from rejoinder.documents.formats.office.styles import Properties, StyleSheet, is_monospaced

_SCRIPTS: dict[str, Script] = {"superscript": "super", "subscript": "sub"}
_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_MAX_BEFORE_TITLE = 8


def read(file: IO[bytes]) -> Iterable[ExtractedDocument]:
    """Yield the document of a Word file.

    Its title is the one in the file's properties, or a paragraph near the beginning that is
    styled as a title.
    """
    archive = Archive(file, "a Word file")
    main = archive.find_main_part("word/document.xml")
    handler = _BodyHandler(_read_styles(archive, main))
    blocks = archive.stream(main, handler)
    first = list(islice(blocks, _MAX_BEFORE_TITLE))
    title = archive.read_title("docProps/core.xml") or handler.flow.title
    yield ExtractedDocument(title, chain(first, blocks))


@dataclass(slots=True)
class _Paragraph(Paragraph):
    run: Properties | None = None  # of the run that is open


class _BodyHandler(PartHandler[Block]):
    """Makes blocks of the elements of the main part."""

    skipped = frozenset(
        {
            *("del", "delText", "moveFrom", "instrText", "delInstrText"),  # deleted text, fields
            *("pPrChange", "rPrChange", "numberingChange", "sectPr"),  # earlier properties
            *("Fallback", "rt", "binData"),  # the same content again, in another form
        }
    )

    def __init__(self, styles: StyleSheet) -> None:
        super().__init__()
        self.flow = Flow()
        self._styles = styles
        self._paragraphs: list[_Paragraph] = []  # a text box is inside a paragraph
        self._text_run: Properties | None = None
        self._controls: list[bool] = []  # content controls: is it the table of contents?

    def take(self) -> list[Block]:
        """Return the blocks that are complete."""
        return self.flow.take()

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        if name == "p":
            self._paragraphs.append(_Paragraph())
        elif name in _TABLE_ELEMENTS:
            self._begin_in_table(name, attributes)
        elif name == "sdt":
            self._controls.append(False)
        elif name == "docPartGallery" and self._controls:
            self._controls[-1] = get(attributes, "val") == "Table of Contents"
        elif name == "sdtContent" and self._controls and self._controls[-1]:
            self.skip()
        elif self._paragraphs:
            self._begin_in_paragraph(self._paragraphs[-1], name, attributes)

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        if name == "t":
            self._text_run = None
        elif name == "r" and self._paragraphs:
            self._paragraphs[-1].run = None
        elif name in FORMULAS and self._paragraphs:
            self._paragraphs[-1].end_formula(name)
        elif name == "p" and self._paragraphs:
            self._paragraphs.pop().write(self.flow)
        elif name == "tr":
            self.flow.end_row()
        elif name == "tbl":
            self.flow.end_table()
        elif name == "body":
            self.flow.end()
        elif name == "sdt" and self._controls:
            self._controls.pop()

    def text(self, text: str) -> None:
        """Receive a piece of text; only the text of runs counts."""
        if self._text_run is not None and self._paragraphs:
            self._paragraphs[-1].add(text, self._text_run)

    def _begin_in_table(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "tbl":
            self.flow.begin_table()
        elif name == "tc":
            self.flow.begin_cell()
        elif name == "gridSpan":
            self.flow.cell.span = get_number(attributes, "val", 1)
        elif name == "vMerge":
            self.flow.cell.continues = get(attributes, "val", "continue") == "continue"
        elif is_on(attributes):
            self.flow.mark_header()

    def _begin_in_paragraph(
        self, paragraph: _Paragraph, name: str, attributes: Mapping[str, str]
    ) -> None:
        run = paragraph.run
        if name == "r":
            paragraph.run = {}
        elif name == "t":
            self._text_run = {**paragraph.properties, **(run or {})}
        elif name == "pStyle":
            paragraph.properties = {**self._styles.find(get(attributes, "val"))}
        elif name in FORMULAS:
            paragraph.begin_formula(name)
        elif run is None:
            if name in _PARAGRAPH_PROPERTIES:
                paragraph.properties.update(_read_property(name, attributes))
        elif name == "rStyle":
            run.update(self._styles.find(get(attributes, "val")))
        elif name in _CHARACTERS:
            paragraph.spans.add(_CHARACTERS[name])
        else:
            run.update(_read_property(name, attributes))


_TABLE_ELEMENTS = frozenset({"tbl", "tc", "gridSpan", "vMerge", "tblHeader"})
_PARAGRAPH_PROPERTIES = frozenset({"outlineLvl", "numPr", "numId"})


def _read_property(name: str, attributes: Mapping[str, str]) -> Properties:
    """Return the property that an element sets, of a paragraph or of a run."""
    if name == "b":
        return {"bold": is_on(attributes)}
    if name == "vanish":
        return {"hidden": is_on(attributes)}
    if name == "vertAlign":
        return {"script": _SCRIPTS.get(get(attributes, "val"), "")}
    if name == "rFonts" and (font := get(attributes, "ascii")):
        return {"monospaced": is_monospaced(font)}
    if name == "outlineLvl":
        return {"level": (min(get_number(attributes, "val", 9), 9) + 1) % 10}
    if name in {"numPr", "numId"}:
        return {"item": get(attributes, "val") != "0"}
    return {}


def _read_styles(archive: Archive, main: str) -> StyleSheet:
    links = (link for link in archive.relations(main) if link.kind == "styles")
    part = next((link.part for link in links), "word/styles.xml")
    sheet = StyleSheet()
    for style in archive.parse(part):
        if get(style.attrib, "type") not in {"paragraph", "character"}:
            continue
        name, based_on = "", ""
        properties: Properties = {}
        for element in style.iter():
            tag = local_name(element.tag)
            if tag == "name":
                name = get(element.attrib, "val")
            elif tag == "basedOn":
                based_on = get(element.attrib, "val")
            else:
                properties.update(_read_property(tag, element.attrib))
        if get(style.attrib, "default", "0") != "0":
            properties.pop("monospaced", None)  # the font of all text does not mean code
        sheet.add(get(style.attrib, "styleId"), name, based_on, properties)
    return sheet
