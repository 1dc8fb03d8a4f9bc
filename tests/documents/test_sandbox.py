"""Text of complex formats; a hostile file harms nothing but its own reading."""

import io
import json
import os
import signal
import zipfile
from pathlib import Path

import pytest

from rejoinder.documents import docx
from rejoinder.documents.docx import read_docx
from rejoinder.documents.html import read_html
from rejoinder.documents.pdf import read_pdf
from rejoinder.documents.reading import read_file
from rejoinder.documents.sandbox import SandboxedReader, serve
from rejoinder.errors import InputError

PAGE = b"""<!doctype html><html><head><title> Green
 tea </title><style>p {}</style></head>
<body><nav>Home <nav>in</nav> Next</nav>
<h2>Water</h2>
<p>Boil it &amp; wait.
It is <b>hot</b>.<br>Very.</p>
<ul><li>one cup<li>two cups</ul>
<table><tr><td><p>leaf</p></td><td>3 g</td></tr><tr><td></td></tr></table>
<script>if (a < b) alert("<p>no</p>")</script><svg><title>no</title></svg>
<pre>a  b</pre> tail
"""

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
PARAGRAPHS = """
<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Tea</w:t></w:r></w:p>
<w:p><w:r><w:t>It is </w:t></w:r><w:r><w:t>hot.</w:t><w:br/><w:t>Very.</w:t></w:r></w:p>
<w:p/>
<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>one cup</w:t></w:r></w:p>
<w:tbl><w:tr><w:tc><w:p><w:r><w:t>leaf</w:t></w:r></w:p></w:tc>
<w:tc><w:p><w:r><w:t>3 g</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
"""


def make_docx(body: str, **others: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        document = f'<w:document xmlns:w="{WORD}"><w:body>{body}</w:body></w:document>'
        archive.writestr("word/document.xml", document)
        for name, content in others.items():
            archive.writestr(f"docProps/{name}.xml", content)
    return packed.getvalue()


def make_pdf(*pages: list[str]) -> bytes:
    """Return a small PDF with lines of text on each page."""
    count = len(pages)
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(count))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, lines in enumerate(pages):
        shown = " ".join(f"({line}) Tj 0 -14 Td" for line in lines)
        stream = f"BT /F1 12 Tf 50 700 Td {shown} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def test_html_gives_blocks_with_their_marks_and_lines() -> None:
    extract = read_html(PAGE)

    assert extract.title == "Green tea"
    assert extract.text.split("\n\n") == [
        "## Water",
        "Boil it & wait. It is hot. Very.",
        "- one cup",
        "- two cups",
        "| leaf | 3 g |",
        "a b",
        "tail",
    ]
    assert extract.locations
    assert extract.locations.numbers == (4, 5, 7, 7, 8, 10, 10)


def test_an_unknown_marked_section_is_skipped() -> None:
    page = b"<p>Tea is hot.</p><![title foo]><p>Ice is not.</p><![if !IE]><p>So.</p><![endif]>"

    assert read_html(page).text == "Tea is hot.\n\nIce is not.\n\nSo."


def test_a_word_file_with_a_wrong_offset_is_refused() -> None:
    raw = bytearray(make_docx(PARAGRAPHS))
    raw[-6:-2] = b"\xff\xff\xff\x00"  # where the list of its files begins

    with pytest.raises(InputError, match="not a Word file that can be read"):
        read_docx(bytes(raw))


def test_html_is_read_in_the_encoding_that_it_declares() -> None:
    raw = '<meta charset="windows-1250"><p>żółw'.encode("cp1250")

    assert read_html(raw).text == "żółw"


def test_word_gives_blocks_with_their_marks() -> None:
    core = '<a xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Green  tea</dc:title></a>'

    extract = read_docx(make_docx(PARAGRAPHS, core=core))

    assert extract.title == "Green tea"
    assert extract.text.split("\n\n") == [
        "# Tea",
        "It is hot. Very.",
        "- one cup",
        "| leaf | 3 g |",
    ]


def test_pdf_gives_pages_and_paragraphs() -> None:
    long = "This is a line of a paragraph that goes on until the right edge of"
    raw = make_pdf(["Green tea", long, "the page.", long, "it."], ["Milk spoils it."])

    extract = read_pdf(raw)

    first, second = f"{long}\nthe page.", f"{long}\nit."
    assert extract.text.split("\n\n") == ["Green tea", first, second, "Milk spoils it."]
    assert extract.locations
    assert [extract.locations.find(extract.text.index(word)) for word in ("Green", "Milk")] == [
        1,
        2,
    ]


def test_all_come_through_the_sandbox(tmp_path: Path, sandbox: SandboxedReader) -> None:
    (tmp_path / "a.html").write_bytes(PAGE)
    (tmp_path / "b.docx").write_bytes(make_docx(PARAGRAPHS))
    (tmp_path / "c.pdf").write_bytes(make_pdf(["It rains."], ["Milk spoils it."]))

    page, word, pdf = (read_file(path, sandbox=sandbox)[0] for path in sorted(tmp_path.iterdir()))

    assert (page.title, word.title, pdf.title) == ("Green tea", "Tea", "c")
    assert [(item.line, item.page) for item in page.sentences[:2]] == [(4, None), (5, None)]
    assert [(item.line, item.page) for item in pdf.sentences] == [(None, 1), (None, 2)]
    assert [(item.line, item.page) for item in word.sentences[:1]] == [(None, None)]


@pytest.mark.parametrize(
    ("name", "raw", "problem"),
    [
        ("a.pdf", b"%PDF-1.4 nothing", "not a PDF that can be read"),
        ("a.pdf", make_pdf([]), "a PDF without text"),
        ("a.docx", b"PK nothing", "not a Word file that can be read"),
        ("a.docx", make_docx("<w:p>"), "not a Word file that can be read"),
        ("a.docx", make_docx("<w:p>&b;</w:p>"), "not a Word file that can be read"),
        ("a.html", b"\x7fELF\2\1\1\0\0\0" * 50, "not text"),
    ],
)
def test_a_bad_file_is_named_and_the_sandbox_continues(
    tmp_path: Path, sandbox: SandboxedReader, name: str, raw: bytes, problem: str
) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    good = tmp_path / "good.html"
    good.write_bytes(PAGE)

    with pytest.raises(InputError, match=rf"{name}: {problem}"):
        read_file(path, sandbox=sandbox)
    assert read_file(good, sandbox=sandbox)[0].title == "Green tea"


def test_a_zip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "MAX_XML_BYTES", 1_000_000)
    bomb = make_docx(f"<w:p><w:r><w:t>{'a' * 3_000_000}</w:t></w:r></w:p>")

    assert len(bomb) < 10_000
    with pytest.raises(InputError, match="more than 1 MB when unpacked"):
        read_docx(bomb)


def test_a_file_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "slow.html"
    path.write_bytes(b"<!--" * 400_000)  # quadratic in Python's parser

    with (
        SandboxedReader(max_seconds=0.5) as sandbox,
        pytest.raises(InputError, match="longer than"),
    ):
        read_file(path, sandbox=sandbox)


def test_a_file_that_takes_too_much_memory_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    path.write_bytes(b"<p>tea" * 3_000_000)

    with (
        SandboxedReader(max_memory_bytes=100_000_000) as sandbox,
        pytest.raises(InputError, match="needs too much memory"),
    ):
        read_file(path, sandbox=sandbox)


def test_a_sandbox_that_dies_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "a.html"
    path.write_bytes(PAGE)

    with SandboxedReader() as sandbox:
        sandbox.read(path)
        process = sandbox._process
        assert process
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with pytest.raises(InputError, match="crashes the program that reads it"):
            sandbox.read(path)
        assert sandbox.read(path).title == "Green tea"


def test_the_child_says_why_it_cannot_read(tmp_path: Path) -> None:
    requests = [(tmp_path / "none.html", ".html"), (tmp_path, ".pdf")]
    sent = b"".join(json.dumps([os.fsencode(p).hex(), s]).encode() + b"\n" for p, s in requests)
    received = io.BytesIO()

    serve(io.BytesIO(sent), received)

    assert b"No such file or directory" in received.getvalue()
    assert b"Is a directory" in received.getvalue()
