"""Reads PowerPoint files (.pptx): slides in the order of the presentation, with their notes."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import IO

from rejoinder.documents.blocks import Block, ExtractedDocument, fold
from rejoinder.documents.formats.office.archive import (
    Archive,
    PartHandler,
    get,
    get_number,
    is_on,
    local_name,
)
from rejoinder.documents.formats.office.flow import Flow
from rejoinder.documents.formats.office.paragraph import FORMULAS, Paragraph
from rejoinder.documents.formats.office.styles import Properties, is_monospaced

_DEFAULT_TITLE = "PowerPoint Presentation"
_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg", "hidden"})


def read(file: IO[bytes]) -> Iterable[ExtractedDocument]:
    """Yield the document of a PowerPoint file.

    Its title is the one in the file's properties, or the title of the first slide.
    """
    archive = Archive(file, "a PowerPoint file")
    blocks = _read_slides(archive)
    first = list(islice(blocks, 1))
    title = archive.read_title("docProps/core.xml")
    if title in {"", _DEFAULT_TITLE}:
        title = "".join(block.text for block in first if block.kind == "heading")
    yield ExtractedDocument(title, chain(first, blocks))


def _read_slides(archive: Archive) -> Iterator[Block]:
    main = archive.find_main_part("ppt/presentation.xml")
    parts = {link.id: link.part for link in archive.relations(main)}
    slides = (e for e in archive.parse(main).iter() if local_name(e.tag) == "sldId")
    # A slide has a number and the id of a link, both called id.
    links = (value for e in slides for key, value in e.attrib.items() if key.endswith("}id"))
    for number, link in enumerate(dict.fromkeys(links), start=1):  # a slide is read once
        if part := parts.get(link):
            yield from _read_slide(archive, part, number)


def _read_slide(archive: Archive, part: str, number: int) -> Iterator[Block]:
    """Yield the title of a slide, then its content, diagrams and notes."""
    slide = _SlideHandler()
    content = list(archive.stream(part, slide))
    path: tuple[str, ...] = ()
    if title := slide.title:
        yield Block("heading", title, page=number)
        path = (title,)
    for link in archive.relations(part):
        if link.kind in {"diagramData", "notesSlide"} and link.part in archive:
            content += archive.stream(link.part, _SlideHandler(is_notes=link.kind == "notesSlide"))
    for block in content:
        yield block._replace(path=path, page=number)


class _SlideHandler(PartHandler[Block]):
    """Makes blocks of the elements of a slide, and keeps its title apart."""

    skipped = frozenset({"Fallback", "extLst"})

    def __init__(self, *, is_notes: bool = False) -> None:
        super().__init__()
        self.flow = Flow()
        self._titles: list[str] = []
        self._is_notes = is_notes
        self._role = ""  # of the shape that is open: its placeholder
        self._paragraph: Paragraph | None = None
        self._run: Properties = {}
        self._is_text = False
        self._has_header = False

    @property
    def title(self) -> str:
        """The title of the slide on one line."""
        return fold(" ".join(self._titles))

    def take(self) -> list[Block]:
        """Return the blocks that are complete."""
        return self.flow.take()

    def begin(self, name: str, attributes: Mapping[str, str]) -> None:
        """Receive the start of an element."""
        if name == "p":
            self._paragraph = Paragraph()
        elif name == "ph":
            self._role = get(attributes, "type", "body")
        elif name == "cNvPr" and is_on(attributes, "hidden") and get(attributes, "hidden"):
            self._role = "hidden"
        elif name in {"tbl", "tblPr", "tc"}:
            self._begin_in_table(name, attributes)
        elif name == "tr" and self._has_header:
            self.flow.mark_header()
            self._has_header = False
        elif name == "fld" and get(attributes, "type").startswith(("slidenum", "datetime")):
            self.skip()
        elif self._paragraph:
            self._begin_in_paragraph(self._paragraph, name, attributes)

    def finish(self, name: str) -> None:
        """Receive the end of an element."""
        if name == "t":
            self._is_text = False
        elif name == "p" and self._paragraph:
            self._write(self._paragraph)
            self._paragraph = None
        elif name in FORMULAS and self._paragraph:
            self._paragraph.end_formula(name)
        elif name in {"sp", "pic"}:
            self._role = ""
        elif name == "tr":
            self.flow.end_row()
        elif name == "tbl":
            self.flow.end_table()
        elif name in {"sld", "notes", "dataModel"}:
            self.flow.end()

    def text(self, text: str) -> None:
        """Receive a piece of text; only the text of runs counts."""
        if self._is_text and self._paragraph:
            self._paragraph.add(text, self._run)

    def _begin_in_table(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "tbl":
            self.flow.begin_table()
        elif name == "tblPr":
            self._has_header = is_on(attributes, "firstRow") and bool(get(attributes, "firstRow"))
        elif get(attributes, "hMerge", "0") not in {"0", "false"}:
            self.skip()
        else:
            cell = self.flow.begin_cell()
            cell.span = get_number(attributes, "gridSpan", 1)
            cell.continues = get(attributes, "vMerge", "0") not in {"0", "false"}

    def _begin_in_paragraph(
        self, paragraph: Paragraph, name: str, attributes: Mapping[str, str]
    ) -> None:
        if name in {"r", "fld"}:
            self._run = {}
        elif name == "rPr":
            raised = get(attributes, "baseline", "0")
            self._run["bold"] = get(attributes, "b", "0") not in {"0", "false"}
            if raised.strip("0%"):
                self._run["script"] = "sub" if raised.startswith("-") else "super"
        elif name == "latin":
            self._run["monospaced"] = is_monospaced(get(attributes, "typeface"))
        elif name == "t":
            self._is_text = True
        elif name in FORMULAS:
            paragraph.begin_formula(name)
        elif name == "br":
            paragraph.spans.add("\n")
        elif name == "buNone":
            paragraph.properties["item"] = False
        elif name in {"buChar", "buAutoNum"}:
            paragraph.properties["item"] = True

    def _write(self, paragraph: Paragraph) -> None:
        """Write a paragraph; those of a placeholder for content are list items by default."""
        if self._role in _FURNITURE or (self._is_notes and not self._role):
            return
        if self._role in _TITLES:
            self._titles.append(paragraph.spans.join())
            return
        if self._is_notes:
            paragraph.properties["item"] = False
        paragraph.properties.setdefault("item", self._role not in {"", "subTitle"})
        paragraph.write(self.flow)
