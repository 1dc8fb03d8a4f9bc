"""Extracts the text of Word files: a zip whose `word/document.xml` holds the paragraphs.

Read as a stream with Python's own zip and XML (expat, which refuses entities that explode),
so that a zip bomb stops at a limit and memory stays small (docs/decisions/0012).
"""

import io
import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from typing import IO
from xml.etree import ElementTree

from rejoinder.documents.parsed import ExtractedText, sanitize
from rejoinder.errors import InputError

MAX_XML_BYTES = 400_000_000

# A corrupt zip raises one of many errors: for a negative offset, a wrong length, an unknown
# compression, an encrypted file.
_CORRUPT_PARTS = (zlib.error, lzma.LZMAError, struct.error, ElementTree.ParseError)
_CORRUPT_ZIP = (zipfile.BadZipFile, EOFError, KeyError, OSError, OverflowError, RuntimeError)

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def read_docx(raw: bytes) -> ExtractedText:
    """Return the text of a Word file; headings, list items and table rows get Markdown marks."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            with archive.open("word/document.xml") as file:
                blocks = list(_read_blocks(_Limited(file)))
            title = _read_title(archive)
    except (*_CORRUPT_ZIP, *_CORRUPT_PARTS, ValueError) as error:
        raise InputError(f"not a Word file that can be read ({error})") from error
    return ExtractedText("\n\n".join(blocks), title)


class _Limited(io.RawIOBase):
    """A stream with a size limit."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._left = MAX_XML_BYTES

    def read(self, size: int = -1) -> bytes:
        piece = self._file.read(size)
        self._left -= len(piece)
        if self._left < 0:
            raise InputError(f"more than {MAX_XML_BYTES // 1_000_000} MB when unpacked")
        return piece


def _read_blocks(file: IO[bytes] | io.RawIOBase) -> Iterator[str]:
    """Yield paragraphs and table rows, each with its Markdown mark."""
    body = _Body()
    for event, element in ElementTree.iterparse(file, ("start", "end")):
        tag = element.tag.removeprefix(_WORD)
        if event == "start":
            body.depth += tag == "tr"
        elif tag == "t":
            body.words.append(element.text or "")
        elif tag in {"tab", "br", "cr"}:
            body.words.append(" ")
        elif tag in {"pStyle", "numPr"}:
            body.mark = _mark_of(element) or body.mark
        elif tag in {"p", "tr"}:
            element.clear()
            if block := body.end_paragraph() if tag == "p" else body.end_row():
                yield block


class _Body:
    """The paragraph and the table row that are being read."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.cells: list[str] = []
        self.mark = ""
        self.depth = 0  # nested rows are read as one

    def end_paragraph(self) -> str:
        text = " ".join(sanitize("".join(self.words)).split())
        block = self.mark + text if text else ""
        self.words, self.mark = [], ""
        if not self.depth:
            return block
        self.cells.append(text)
        return ""

    def end_row(self) -> str:
        self.depth -= 1
        if self.depth or not any(self.cells):
            return ""
        row = f"| {' | '.join(filter(None, self.cells))} |"
        self.cells = []
        return row


def _mark_of(element: ElementTree.Element) -> str:
    if element.tag == f"{_WORD}numPr":
        return "- "
    style = (element.get(f"{_WORD}val") or "").lower()
    return "# " if style.startswith(("heading", "title")) else ""


def _read_title(archive: zipfile.ZipFile) -> str:
    if "docProps/core.xml" not in archive.namelist():
        return ""
    with archive.open("docProps/core.xml") as file:
        title = ElementTree.fromstring(file.read(1_000_000)).findtext(f".//{_TITLE}")
    return " ".join(sanitize(title or "").split())
