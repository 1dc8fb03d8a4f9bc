"""EPUB books: chapters in the order of the spine, with anchors."""

import io
import zipfile
from collections.abc import Iterator

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.epub import read
from rejoinder.documents.formats.office import archive
from rejoinder.errors import InputError

CONTAINER = """<?xml version="1.0"?>
<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>"""
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The  Tea Book</dc:title></metadata>
<manifest>
<item id="two" href="two%20cups.xhtml" media-type="application/xhtml+xml"/>
<item id="one" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="toc" href="toc.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="map" href="map.svg" media-type="image/svg+xml"/>
<item id="lost" href="lost.xhtml" media-type="application/xhtml+xml"/>
</manifest>
<spine><itemref idref="toc"/><itemref idref="one"/><itemref idref="map"/><itemref idref="lost"/>
<itemref idref="two"/><itemref idref="one"/><itemref idref="nothing"/></spine></package>"""
ONE = """<?xml version="1.0" encoding="utf-8"?>
<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x.js"/></head><body>
<section id="leaves">
<h1>Leaves</h1><p>Green leaves are not fermented.</p></section></body></html>"""
TWO = "<html><body><p>Two cups are enough.</p></body></html>"
TOC = "<html><body><p>This contents page is skipped.</p></body></html>"
PARTS = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/text/one.xhtml": ONE,
    "OEBPS/two cups.xhtml": TWO,
    "OEBPS/toc.xhtml": TOC,
    "OEBPS/map.svg": "<svg><text>Map</text></svg>",
}


def pack(parts: dict[str, str]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, text)
    file.seek(0)
    return file


def read_book(parts: dict[str, str]) -> tuple[ExtractedDocument, list[Block]]:
    (document,) = read(pack(parts))
    return document, list(document.blocks)


def test_chapters_come_in_the_order_of_the_spine_with_their_places() -> None:
    document, blocks = read_book(PARTS)
    assert document.title == "The Tea Book"
    assert blocks == [
        Block("heading", "Leaves", anchor="text/one.xhtml#leaves"),
        Block(
            "paragraph",
            "Green leaves are not fermented.",
            ("Leaves",),
            anchor="text/one.xhtml#leaves",
        ),
        Block("paragraph", "Two cups are enough.", anchor="two cups.xhtml"),
    ]


def test_a_package_with_a_document_type_and_entities_is_read_without_them() -> None:
    doctype = '<!DOCTYPE package [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
    package = PACKAGE.replace("<package", f"{doctype}<package", 1).replace("Tea", "&b;Tea")
    document, blocks = read_book({**PARTS, "OEBPS/book.opf": package})
    assert "aaaa" not in document.title
    assert len(blocks) == 3


def break_books() -> Iterator[tuple[dict[str, str], str]]:
    without = {name: text for name, text in PARTS.items() if "container" not in name}
    yield without, r"it has no META-INF/container\.xml"
    yield {**PARTS, "META-INF/container.xml": ""}, r"container\.xml is not XML"
    yield {**PARTS, "META-INF/container.xml": "<container/>"}, "it has no package file"
    cipher = '<encryption><CipherReference URI="OEBPS/two%20cups.xhtml"/></encryption>'
    yield {**PARTS, "META-INF/encryption.xml": cipher}, "encrypted"


@pytest.mark.parametrize(("parts", "reason"), list(break_books()))
def test_a_broken_book_is_refused_with_the_reason(parts: dict[str, str], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read_book(parts)


def test_encrypted_fonts_do_no_harm() -> None:
    cipher = '<encryption><CipherReference URI="OEBPS/font.otf"/></encryption>'
    assert len(read_book({**PARTS, "META-INF/encryption.xml": cipher})[1]) == 3


def test_no_zip_is_refused() -> None:
    with pytest.raises(InputError, match="not an EPUB book"):
        list(read(io.BytesIO(b"PK no zip")))


def test_a_book_that_unpacks_without_end_stops_at_the_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(archive, "MAX_XML_BYTES", 10_000)
    (document,) = read(pack({**PARTS, "OEBPS/two cups.xhtml": "x" * 20_000}))
    with pytest.raises(InputError, match="when unpacked"):
        list(document.blocks)
