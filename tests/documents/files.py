"""Small files of complex formats, built by the tests."""

import io
import zipfile

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
