"""Blocks of PowerPoint files."""

import io
import zipfile

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.office import pptx
from rejoinder.errors import InputError

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:{prefix}"' for prefix in ("a", "p", "r", "m", "mc", "dgm", "dc")
)


def link(id_: str, kind: str, target: str) -> str:
    return f'<Relationship Id="{id_}" Type="urn:x/{kind}" Target="{target}"/>'


def make_pptx(*slides: str, title: str = "", **notes: str) -> bytes:
    """Return slides, of which the last one in the file is shown first."""
    parts: dict[str, str] = {}
    shown = "".join(
        f'<p:sldId id="{256 + place}" r:id="rId{place}"/>'
        for place in reversed(range(1, len(slides) + 1))
    )
    parts["ppt/presentation.xml"] = f"<p:x {NAMESPACES}><p:sldIdLst>{shown}</p:sldIdLst></p:x>"
    links = [link(f"rId{n}", "slide", f"slides/slide{n}.xml") for n in range(1, len(slides) + 1)]
    parts["ppt/_rels/presentation.xml.rels"] = f"<r>{''.join(links)}</r>"
    for number, content in enumerate(slides, start=1):
        parts[f"ppt/slides/slide{number}.xml"] = f"<p:sld {NAMESPACES}>{content}</p:sld>"
    targets = "".join(link(f"a{kind}", kind, f"../others/{kind}.xml") for kind in notes)
    parts["ppt/slides/_rels/slide1.xml.rels"] = f"<r>{targets}</r>"
    for kind, content in notes.items():
        root = "notes" if kind == "notesSlide" else "dataModel"
        parts[f"ppt/others/{kind}.xml"] = f"<p:{root} {NAMESPACES}>{content}</p:{root}>"
    parts["docProps/core.xml"] = f"<p:x {NAMESPACES}><dc:title>{title}</dc:title></p:x>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return packed.getvalue()


def shape(role: str, *paragraphs: str, more: str = "") -> str:
    placeholder = "<p:ph/>" if role == "body" else f'<p:ph type="{role}"/>' if role else ""
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr id='2' {more}/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr>"
        f"<p:txBody>{''.join(map(paragraph, paragraphs))}</p:txBody></p:sp>"
    )


def run(text: str, properties: str = "", fonts: str = "") -> str:
    return f"<a:r><a:rPr {properties}>{fonts}</a:rPr><a:t>{text}</a:t></a:r>"


def paragraph(content: str) -> str:
    return f"<a:p>{content if content.startswith('<') else run(content)}</a:p>"


def read(raw: bytes) -> ExtractedDocument:
    (document,) = pptx.read(io.BytesIO(raw))
    return document


def read_blocks(*slides: str, **notes: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(make_pptx(*slides, **notes)).blocks]


def test_slides_come_in_their_order_with_their_titles_above_them() -> None:
    first = shape("body", "hot", "<a:pPr><a:buNone/></a:pPr>" + run("Very.")) + shape(
        "title", "Green", "tea"
    )
    second = shape("ctrTitle", "Teas") + shape("subTitle", "A course") + shape("", "In a box.")
    third = shape("", "<a:pPr><a:buChar char='-'/></a:pPr>" + run("Milk"))

    assert list(read(make_pptx(third, first, second)).blocks) == [
        Block("heading", "Teas", page=1),
        Block("paragraph", "A course", ("Teas",), page=1),
        Block("paragraph", "In a box.", ("Teas",), page=1),
        Block("heading", "Green tea", page=2),
        Block("item", "hot", ("Green tea",), page=2),
        Block("paragraph", "Very.", ("Green tea",), page=2),
        Block("item", "Milk", page=3),
    ]


def test_the_title_is_a_property_or_that_of_the_first_slide() -> None:
    slide = shape("title", "Green tea")

    assert read(make_pptx(slide, title="Teas")).title == "Teas"
    assert read(make_pptx(slide, title="PowerPoint Presentation")).title == "Green tea"
    assert read(make_pptx(shape("", "hot"))).title == ""


def test_furniture_is_out() -> None:
    date = "<a:fld type='datetime1'><a:t>1 May</a:t></a:fld>"
    number = "<a:fld type='slidenum'><a:t>7</a:t></a:fld>"
    slide = "".join(shape(role, "no") for role in ("sldNum", "dt", "ftr", "hdr"))
    slide += shape("", "no", more="hidden='1'") + shape("", f"{run('On')}{date}{number}{run('.')}")
    slide += "<mc:AlternateContent><mc:Choice>" + shape("", "Yes.") + "</mc:Choice>"
    slide += "<mc:Fallback>" + shape("", "no") + "</mc:Fallback></mc:AlternateContent>"

    assert read_blocks(slide) == [("paragraph", "On."), ("paragraph", "Yes.")]


def test_runs_join_with_their_scripts() -> None:
    text = (
        run("2")
        + run("31", "baseline='30000'")
        + "<a:br/>"
        + run("H")
        + run("2", "baseline='-25000'")
    )
    text += "<m:sSup><m:e><m:r><m:t>O x</m:t></m:r></m:e>"
    text += "<m:sup><m:r><m:t>n</m:t></m:r></m:sup></m:sSup>"
    code = run("make tea", fonts="<a:latin typeface='Courier New'/>")

    assert read_blocks(shape("body", text, code)) == [("item", "2³¹ H₂O xⁿ"), ("code", "make tea")]


def test_table_rows_carry_their_headings() -> None:
    def row(*cells: str) -> str:
        return f"<a:tr>{''.join(cells)}</a:tr>"

    def cell(text: str, attributes: str = "") -> str:
        return f"<a:tc {attributes}><a:txBody>{paragraph(text)}</a:txBody></a:tc>"

    rows = (
        row(cell("Tea"), cell("1", "gridSpan='2'"), cell("", "hMerge='1'"))
        + row(cell("Sencha", "rowSpan='2'"), cell("2"), cell("min"))
        + row(cell("", "vMerge='1'"), cell("3"), cell("min"))
    )
    slide = f"<p:graphicFrame><a:tbl><a:tblPr firstRow='1'/>{rows}</a:tbl></p:graphicFrame>"

    assert read_blocks(slide) == [
        ("row", "Tea: Sencha; 1: 2; 1: min"),
        ("row", "Tea: Sencha; 1: 3; 1: min"),
    ]


def test_diagrams_and_notes_follow_the_slide() -> None:
    notes = shape("sldImg", "no") + shape("body", "Say this.") + shape("", "no")
    diagram = f"<dgm:pt><dgm:t>{paragraph('Boil.')}</dgm:t></dgm:pt>"
    raw = make_pptx(shape("title", "Tea"), diagramData=diagram, notesSlide=notes)

    assert list(read(raw).blocks) == [
        Block("heading", "Tea", page=1),
        Block("paragraph", "Boil.", ("Tea",), page=1),
        Block("paragraph", "Say this.", ("Tea",), page=1),
    ]


@pytest.mark.parametrize("raw", [b"PK nothing", make_pptx("<p:sp>"), make_pptx("a")[:-40]])
def test_bad_files_are_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="not a PowerPoint file that can be read"):
        [list(document.blocks) for document in pptx.read(io.BytesIO(raw))]
