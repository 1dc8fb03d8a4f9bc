"""Files that are made to exhaust time or memory: each is read or refused within the limits."""

import gzip
import io
import json
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rejoinder.documents.sandbox import SandboxedReader
from rejoinder.errors import InputError
from tests.documents.parsed import ReadDocument, read_whole

MAX_SECONDS = 10
DEEP = 200_000
ARCHIVES = {
    "docx": "word/document.xml",
    "odt": "content.xml",
    "pptx": "ppt/slides/s.xml",
    "xlsx": "xl/worksheets/s.xml",
    "epub": "a.xhtml",
}
"""The part of each archive that holds its text."""


Read = Callable[[str, bytes], list[ReadDocument]]


@pytest.fixture(scope="module")
def limited() -> Iterator[SandboxedReader]:
    with SandboxedReader(max_seconds=MAX_SECONDS) as sandbox:
        yield sandbox


@pytest.fixture
def read(tmp_path: Path, limited: SandboxedReader) -> Read:
    def read_in_time(name: str, raw: bytes) -> list[ReadDocument]:
        path = tmp_path / name
        path.write_bytes(raw)
        start = time.process_time()  # formats that need no sandbox have no limit of their own
        documents = read_whole(path, limited)
        assert time.process_time() - start < MAX_SECONDS
        return documents

    return read_in_time


def describe(read: Read, name: str, raw: bytes) -> str:
    """Return the text of a file, or why it is refused."""
    try:
        return "".join(document.text for document in read(name, raw))
    except InputError as error:
        return f"refused: {error}"


def refuse(tmp_path: Path, name: str, raw: bytes) -> str:
    """Return why a file is refused, with a limit so short that it may be that one."""
    path = tmp_path / name
    path.write_bytes(raw)
    with SandboxedReader(max_seconds=1.5) as sandbox, pytest.raises(InputError) as caught:
        read_whole(path, sandbox)
    return str(caught.value)


def make_archive(suffix: str, text: str, head: str = "", **parts: str) -> bytes:
    """Return a small valid file of a format, with XML as its text."""
    link = '<r><Relationship Id="a" Type="urn:x/{}" Target="{}/s.xml"/></r>'
    names = " ".join(
        f'xmlns:{p}="urn:{p}"' for p in ("w", "a", "p", "r", "office", "text", "table")
    )
    bodies = {
        "docx": f"<w:document {names}><w:body>{text}</w:body></w:document>",
        "odt": f"<office:body {names}><office:text>{text}</office:text></office:body>",
        "pptx": f"<p:sld {names}><p:sp>{text}</p:sp></p:sld>",
        "xlsx": f"<worksheet>{text}</worksheet>",
        "epub": f"<html><body>{text}</body></html>",
    }
    others = {
        "docx": {},
        "odt": {},
        "pptx": {
            "ppt/presentation.xml": f'<p:x {names}><p:sldId r:id="a"/></p:x>',
            "ppt/_rels/presentation.xml.rels": link.format("slide", "slides"),
        },
        "xlsx": {
            "xl/workbook.xml": f'<x {names}><sheets><sheet name="S" r:id="a"/></sheets></x>',
            "xl/_rels/workbook.xml.rels": link.format("worksheet", "worksheets"),
        },
        "epub": {
            "META-INF/container.xml": '<x><rootfile full-path="p.opf"/></x>',
            "p.opf": '<x><item id="a" href="a.xhtml"/><itemref idref="a"/></x>',
        },
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        content = {ARCHIVES[suffix]: head + bodies[suffix], **others[suffix], **parts}
        for name, part in content.items():
            archive.writestr(name, part)
    return packed.getvalue()


def make_bomb(suffix: str) -> bytes:
    """Return an archive whose text is 1 GB of blanks; it stores the same packed blanks often."""
    packer = zlib.compressobj(wbits=-15)
    with zipfile.ZipFile(io.BytesIO(make_archive(suffix, " ")), "a") as source:
        parts = {name: source.read(name) for name in source.namelist()}
    head = parts.pop(ARCHIVES[suffix]).partition(b"> <")[0] + b"> "
    begin = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    blanks = packer.compress(b" " * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
        archive.writestr(ARCHIVES[suffix], begin + blanks * 1000)
        info = archive.getinfo(ARCHIVES[suffix])  # written to the directory at the end
        info.compress_type, info.file_size = zipfile.ZIP_DEFLATED, len(head) + 1_000_000_000
    return packed.getvalue()


# --- Archives ---


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_archives_that_unpack_without_end_are_refused(suffix: str, tmp_path: Path) -> None:
    reason = refuse(tmp_path, f"a.{suffix}", make_bomb(suffix))

    assert any(limit in reason for limit in ("more than", "longer than", "too much memory"))


def test_gzipped_files_that_unpack_without_end_are_refused(read: Read) -> None:
    with pytest.raises(InputError, match="more than 200 MB when unpacked"):
        read("a.txt.gz", gzip.compress(b" " * 10_000_000) * 25)


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_entities_do_not_explode(suffix: str, read: Read) -> None:
    entities = '<!ENTITY a0 "ha">' + "".join(
        '<!ENTITY a{} "{}">'.format(n, f"&a{n - 1};" * 50) for n in range(1, 9)
    )
    raw = make_archive(suffix, "<p>&a8;</p>", f"<!DOCTYPE x [{entities}]>")

    text = describe(read, f"a.{suffix}", raw)

    assert "it declares a document type" in text if suffix != "epub" else "ha" not in text


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_files_that_entities_name_are_not_read(suffix: str, tmp_path: Path, read: Read) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The password is tea.")
    head = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'

    text = describe(read, f"a.{suffix}", make_archive(suffix, "<p>&e;</p>", head))

    assert "it declares a document type" in text if suffix != "epub" else "tea" not in text


def test_files_that_the_package_of_a_book_names_are_not_read(tmp_path: Path, read: Read) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("The password is tea.")
    package = (
        f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]><x><title>&e;</title>'
        '<item id="a" href="a.xhtml"/><itemref idref="a"/></x>'
    )
    (document,) = read("a.epub", make_archive("epub", "<p>It is hot.</p>", **{"p.opf": package}))

    assert "tea" not in document.title


@pytest.mark.parametrize("suffix", ARCHIVES)
def test_deep_elements_of_archives(suffix: str, read: Read) -> None:
    deep = "<x>" * DEEP + "</x>" * DEEP

    text = describe(read, f"a.{suffix}", make_archive(suffix, deep))

    assert text == "" or "nested too deep" in text


def test_a_book_whose_spine_names_itself(read: Read) -> None:
    package = '<x><item id="a" href="p.opf"/>' + '<itemref idref="a"/>' * 10_000 + "</x>"

    (document,) = read("a.epub", make_archive("epub", "", **{"p.opf": package}))

    assert document.text == ""


def test_slides_are_read_once(read: Read) -> None:
    shown = '<p:x xmlns:p="urn:p" xmlns:r="urn:r">' + '<p:sldId r:id="a"/>' * 10_000 + "</p:x>"
    text = "<a:p><a:r><a:t>It is hot.</a:t></a:r></a:p>"

    (document,) = read("a.pptx", make_archive("pptx", text, **{"ppt/presentation.xml": shown}))

    assert document.text == "It is hot."


# --- Tables ---


def test_a_sheet_that_claims_all_cells(read: Read) -> None:
    cell = '<row r="{0}"><c r="XFD{0}"><v>7</v></c></row>'
    rows = cell.format(1) + cell.format(1_048_576)
    sheet = f'<dimension ref="A1:XFD1048576"/><sheetData>{rows}</sheetData>'

    (document,) = read("a.xlsx", make_archive("xlsx", sheet))

    assert [block.text for block in document.blocks] == ["7", "7"]


def test_a_cell_that_is_shown_without_end(read: Read) -> None:
    strings = f"<sst><si><t>{'tea ' * 5_000}</t></si></sst>"
    cells = '<c t="s"><v>0</v></c>' * 100
    rows = f"<row>{cells}</row>" * 1_000  # 2 GB of text
    archive = make_archive(
        "xlsx", f"<sheetData>{rows}</sheetData>", **{"xl/sharedStrings.xml": strings}
    )

    with pytest.raises(InputError, match=r"more than 200 MB of text|longer than"):
        read("a.xlsx", archive)


def test_repeated_rows_and_columns_of_a_spreadsheet(read: Read) -> None:
    cell = '<table:table-cell table:number-columns-repeated="16384"><text:p>tea</text:p>'
    row = f'<table:table-row table:number-rows-repeated="1048576">{cell}</table:table-cell>'
    rows = f"{row}</table:table-row>" * 100
    table = f'<table:table table:name="S">{rows}</table:table>'

    (document,) = read("a.odt", make_archive("odt", table))

    assert len(document.text) < 100_000


@pytest.mark.parametrize(
    "rows",
    [
        "<tr><th colspan=1000000000 rowspan=1000000000>tea<td>hot",
        "<tr><td colspan=1000 rowspan=65534>tea" * 1_000,
        "<tr>" + "<td colspan=1000 rowspan=1000>tea" * 1_000 + "<tr><td>ice" * 1_000,
    ],
)
def test_spans_of_html_tables(rows: str, read: Read) -> None:
    (document,) = read("a.html", f"<table>{rows}</table>".encode())

    assert "tea" in document.text
    assert len(document.blocks) <= 2_000
    assert len(document.text) < 200_000


def test_spans_of_asciidoc_tables(read: Read) -> None:
    cells = '[cols="1000000000*"]\n|===\n|a 1000000*|b\n1000000000+|c .1000000000+|d\n|===\n'

    (document,) = read("a.adoc", cells.encode())

    assert len(document.text) < 10_000


# --- Nesting ---


@pytest.mark.parametrize("tag", ["div", "ul><li", "table><tr><td", "dl><dd", "blockquote"])
def test_deep_elements_of_pages(tag: str, read: Read) -> None:
    with pytest.raises(InputError, match="nested too deep to read"):
        read("a.html", f"<{tag}>".encode() * DEEP + b"It is hot.")


def test_formatting_that_is_never_closed(read: Read) -> None:
    (document,) = read("a.html", b"<b>" * DEEP + b"It is hot.")

    assert document.text == "It is hot."


@pytest.mark.parametrize(
    ("name", "unit", "count"),
    [
        ("a.md", "> ", 500_000),
        ("a.md", "- ", 100_000),
        ("a.md", "<div>\n", 100_000),
        ("a.rst", "* ", 100_000),
        ("a.rst", ".. note:: ", 100_000),
        ("a.adoc", "====\n", 100_000),
        ("a.adoc", "a:: ", 100_000),
        ("a.adoc", "ifdef::a[]\n", 100_000),
        ("a.1", ".RS\n", 100_000),
        ("a.1", ".if n \\{\\\n", 100_000),
        ("a.1", ".Bl -tag\n.It x\n", 20_000),
        ("a.jsonl", "[", DEEP),
        ("a.ipynb", '{"cells":[', DEEP),
        ("a.eml", "Content-Type: message/rfc822\n\n", 10_000),
        ("a.vtt", "<c>", DEEP),
    ],
)
def test_deep_constructs(name: str, unit: str, count: int, read: Read) -> None:
    heads = {"a.1": ".TH A 1\n", "a.vtt": "WEBVTT\n\n00:01.000 --> 00:02.000\n"}

    text = describe(read, name, (heads.get(name, "") + unit * count).encode())

    assert len(text) <= 2 * len(unit) * count
    assert text.startswith("refused") == (name in {"a.jsonl", "a.ipynb", "a.eml"})


@pytest.mark.parametrize("unit", ["".join(f"{' ' * n}{{}}\n\n" for n in range(500))])
@pytest.mark.parametrize(
    ("name", "mark"), [("a.md", "- a"), ("a.rst", "* a"), ("a.rst", "a"), ("a.txt", "Tea")]
)
def test_deep_indentation(name: str, mark: str, unit: str, read: Read) -> None:
    (document,) = read(name, unit.replace("{}", mark).encode())

    assert sum(len("".join(block.path)) for block in document.blocks) < 1_000_000


def test_mail_with_parts_in_parts(read: Read) -> None:
    parts = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(10_000)
    )
    with pytest.raises(InputError, match="cannot be read"):
        read("a.eml", f"Subject: Tea\n{parts}\nIt is hot.\n".encode())


# --- Marks ---


@pytest.mark.parametrize(
    "mark", ["[", "![", "[*", "*", "*_", "`", ">", "<", "<!--", "&", "\\", "|", "#"]
)
@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_nothing_but_marks(name: str, mark: str, read: Read) -> None:
    (document,) = read(name, mark.encode() * (150_000 // len(mark)))

    assert len(document.text) <= 2 * 150_000


@pytest.mark.parametrize(
    "mark", ["*", "`", "|", ":", "_", "..", "+-", "=", "{a}", "<<", "[[", "\\f"]
)
@pytest.mark.parametrize("name", ["a.rst", "a.adoc", "a.1", "a.txt"])
def test_marks_without_end(name: str, mark: str, read: Read) -> None:
    head = ".TH A 1\n" if name == "a.1" else ""

    (document,) = read(name, f"{head}x{mark * (200_000 // len(mark))}".encode())

    assert len(document.text) <= 2 * 200_000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "a.rst",
            "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(60)) + "\n|a0|",
        ),
        ("a.rst", ".. |a| replace:: |b| |b|\n.. |b| replace:: |a| |a|\n\n|a|\n"),
        (
            "a.adoc",
            ":a60: x\n"
            + "".join(f":a{n}: {{a{n + 1}}} {{a{n + 1}}}\n" for n in range(59, -1, -1))
            + "\n{a0}\n",
        ),
        (
            "a.1",
            ".TH A 1\n.ds a0 x\n"
            + "".join(f".ds a{n + 1} \\*[a{n}]\\*[a{n}]\n" for n in range(60))
            + "\\*[a60]\n",
        ),
        ("a.1", ".TH A 1\n.de X\n.X\n.X\n..\n.X\n"),
    ],
)
def test_texts_that_repeat_each_other(name: str, text: str, read: Read) -> None:
    (document,) = read(name, text.encode())

    assert len(document.text) < 100_000


@pytest.mark.parametrize(
    "name",
    ["a.txt", "a.md", "a.rst", "a.adoc", "a.1", "a.html", "a.csv", "a.srt", "a.eml", "a.ipynb"],
)
def test_a_line_of_megabytes(name: str, read: Read) -> None:
    line = "x" * 5_000_000
    texts = {
        "a.1": f".TH A 1\n{line}",
        "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n{line}\n",
        "a.eml": f"Subject: Tea\n\n{line}\n",
        "a.ipynb": json.dumps({"cells": [{"cell_type": "markdown", "source": line}]}),
    }
    (document,) = read(name, texts.get(name, line).encode())

    assert document.text.replace("\n", "").replace(" ", "") == line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", "<h1>{}</h1>"),
        ("a.md", "# {}\n\n"),
        ("a.rst", "{}\n======================\n\n"),
        ("a.adoc", "== {}\n\n"),
        ("a.1", ".TH A 1\n.SH {}\n"),
        ("a.txt", "# {}\n\n"),
    ],
)
def test_a_long_heading_is_not_repeated_in_every_path(name: str, text: str, read: Read) -> None:
    paragraph = {"a.html": "<p>It is hot.</p>", "a.1": ".PP\nIt is hot.\n"}
    raw = text.format("tea " * 20_000) + paragraph.get(name, "It is hot.\n\n") * 1_000

    (document,) = read(name, raw.encode())

    assert sum(len("".join(block.path)) for block in document.blocks) < 1_000_000


# --- PDF ---

PAGE = (
    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources"
    " << /Font << /F 5 0 R >> /XObject << /X 6 0 R >> >> >>"
)
FONT = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def make_pdf(root: str, pages: str, content: str, *others: str) -> bytes:
    stream = f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
    objects = [f"<< {root} /Pages 2 0 R >>", f"<< {pages} >>", PAGE, stream, FONT, *others]
    body = "".join(f"{n} 0 obj\n{text}\nendobj\n" for n, text in enumerate(objects, start=1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R >>\n%%EOF".encode()


ONE_PAGE = "/Type /Pages /Kids [3 0 R] /Count 1"
TEXT = "BT /F 10 Tf 50 700 Td (Tea is hot in the cup.) Tj ET"


@pytest.mark.parametrize(
    "raw",
    [
        make_pdf("", "/Type /Pages /Kids [2 0 R 3 0 R] /Count 1000000", TEXT),
        make_pdf("", "/Type /Pages /Kids [3 0 R] /Count 1000000", TEXT),
    ],
    ids=["cycle", "count"],
)
def test_a_tree_of_pages_that_never_ends(raw: bytes, read: Read) -> None:
    with pytest.raises(InputError, match="not a PDF that can be read"):
        read("a.pdf", raw)


@pytest.mark.parametrize(
    "entries",
    [
        ["<< /Title (A) /First 7 0 R /Next 7 0 R /Dest [3 0 R /Fit] >>"],
        [f"<< /Title (A) /First {n} 0 R /Dest [3 0 R /Fit] >>" for n in range(8, 20_000)],
    ],
    ids=["cycle", "deep"],
)
def test_an_outline_that_never_ends(entries: list[str], read: Read) -> None:
    raw = make_pdf("/Outlines 6 0 R", ONE_PAGE, TEXT, "<< /First 7 0 R /Last 7 0 R >>", *entries)

    (document,) = read("a.pdf", raw)

    assert "Tea is hot in the cup." in document.text
    assert len(document.blocks) < 100


@pytest.mark.parametrize(
    "content",
    [
        "BT /F 10 Tf 50 700 Td " + "(a) Tj 0 0 Td " * 20_000 + "ET",
        "BT /F 1 Tf 0 700 Td " + "(a) Tj 5 0 Td " * 10_000 + "ET",
        "".join(f"BT /F 1 Tf {3 * x} {3 * y} Td (a) Tj ET\n" for x in range(99) for y in range(99)),
        f"{TEXT} " + "q " * 200_000,
        f"{TEXT} " + "".join(f"{n % 600} {n // 600} 5 1 re f\n" for n in range(50_000)),
    ],
    ids=["one place", "one line", "grid", "states", "rules"],
)
def test_pages_with_absurd_content(content: str, read: Read) -> None:
    (document,) = read("a.pdf", make_pdf("", ONE_PAGE, content))

    assert document.text


def test_a_drawing_that_draws_itself(tmp_path: Path) -> None:
    drawing = (
        "<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /X 6 0 R >> >>"
        " /Length 11 >>\nstream\n/X Do /X Do\nendstream"
    )
    reason = refuse(tmp_path, "a.pdf", make_pdf("", ONE_PAGE, f"{TEXT} /X Do", drawing))

    assert "crashes the program that reads it" in reason or "longer than" in reason
