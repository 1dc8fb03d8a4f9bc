"""Blocks of OpenDocument files."""

import io
import zipfile

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.office import odt
from rejoinder.errors import InputError

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:{prefix}"'
    for prefix in ("office", "style", "text", "table", "draw", "fo", "dc", "svg", "presentation")
)
STYLES = """
<style:style style:name="Standard" style:family="paragraph">
  <style:text-properties style:font-name="Courier"/></style:style>
<style:style style:name="Heading_20_2" style:display-name="Heading 2" style:family="paragraph"/>
<style:style style:name="Table_20_Heading" style:family="paragraph"/>
<style:style style:name="Preformatted_20_Text" style:family="paragraph"
  style:parent-style-name="Standard"/>
<style:style style:name="Up" style:family="text">
  <style:text-properties style:text-position="super 58%"/></style:style>
"""
AUTOMATIC = """
<style:style style:name="P1" style:family="paragraph"
  style:parent-style-name="Preformatted_20_Text"/>
<style:style style:name="P2" style:family="paragraph" style:parent-style-name="Heading_20_2"/>
<style:style style:name="T1" style:family="text" style:parent-style-name="Up"/>
<style:style style:name="T2" style:family="text">
  <style:text-properties style:text-position="-33% 58%"/></style:style>
<style:style style:name="T3" style:family="text">
  <style:text-properties style:text-position="0% 100%" text:display="none"/></style:style>
<style:style style:name="T4" style:family="text">
  <style:text-properties fo:font-weight="bold"/></style:style>
<style:style style:name="T5" style:family="text">
  <style:text-properties style:font-name="DejaVu Sans Mono"/></style:style>
<style:style style:name="T6" style:family="text">
  <style:text-properties style:text-position="0% 100%"/></style:style>
"""


def make_odt(body: str, kind: str = "text", **parts: str) -> bytes:
    parts["content"] = (
        f"<office:automatic-styles>{AUTOMATIC}</office:automatic-styles>"
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    )
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            path = f"META-INF/{name}.xml" if name == "manifest" else f"{name}.xml"
            file.writestr(path, f"<office:{name} {NAMESPACES}>{content}</office:{name}>")
    return packed.getvalue()


def read(body: str, kind: str = "text", **parts: str) -> ExtractedDocument:
    raw = make_odt(body, kind, **{"styles": STYLES, **parts})
    (document,) = odt.read(io.BytesIO(raw))
    return document


def read_blocks(body: str, kind: str = "text") -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(body, kind).blocks]


def paragraph(text: str, style: str = "Standard") -> str:
    return f'<text:p text:style-name="{style}">{text}</text:p>'


def span(text: str, style: str) -> str:
    return f'<text:span text:style-name="{style}">{text}</text:span>'


def cell(content: str, attributes: str = "") -> str:
    content = content if content.startswith("<") else paragraph(content)
    return f"<table:table-cell {attributes}>{content}</table:table-cell>"


def row(*cells: str) -> str:
    whole = (text if text.startswith("<table:") else cell(text) for text in cells)
    return f"<table:table-row>{''.join(whole)}</table:table-row>"


def table(*rows: str) -> str:
    return f"<table:table table:name='Teas'>{''.join(rows)}</table:table>"


def test_headings_and_lists() -> None:
    items = "<text:list-item><text:p>one</text:p><text:p>more</text:p></text:list-item>"
    body = (
        '<text:h text:outline-level="1">Tea</text:h>'
        + paragraph("It\n  is hot.")
        + paragraph("Green", "P2")
        + "<text:list><text:list-header><text:p>head</text:p></text:list-header>"
        + f"{items}</text:list>"
        + paragraph("A cup", "Caption")
        + "<text:h>Milk</text:h>"
    )

    assert list(read(body).blocks) == [
        Block("heading", "Tea"),
        Block("paragraph", "It is hot.", ("Tea",)),
        Block("heading", "Green", ("Tea",)),
        Block("paragraph", "head", ("Tea", "Green")),
        Block("item", "one", ("Tea", "Green")),
        Block("paragraph", "more", ("Tea", "Green")),
        Block("caption", "A cup", ("Tea", "Green")),
        Block("heading", "Milk"),
    ]


def test_the_title_is_a_property_or_a_paragraph() -> None:
    body = paragraph("Green tea", "Title") + paragraph("It is hot.")

    assert read(body, meta="<office:meta><dc:title>Teas </dc:title></office:meta>").title == "Teas"
    assert read(body).title == "Green tea"
    assert list(read(body).blocks)[1] == Block("paragraph", "It is hot.", ("Green tea",))


def test_spans_join_with_their_scripts_and_blanks() -> None:
    raised = span("3" + span("1", "T4"), "T1")
    text = f"2{raised}<text:s text:c='3'/>of<text:tab/>H{span('2', 'T2')}O"
    text += f"<text:line-break/>{span('no', 'T3')}{span('and m', 'T6')}ilk."

    assert read_blocks(paragraph(text)) == [("paragraph", "2³¹ of H₂O and milk.")]


def test_deleted_hidden_and_generated_text_is_out() -> None:
    no = paragraph("no")
    body = (
        f"<text:tracked-changes>{no}</text:tracked-changes>"
        f"<text:table-of-content>{no}</text:table-of-content>"
        f"<text:section text:display='none'>{no}</text:section>"
        "<text:p>Tea<text:note><text:note-citation>1</text:note-citation>"
        f"<text:note-body>{no}</text:note-body></text:note> is<office:annotation>{no}"
        "</office:annotation> hot<draw:frame><svg:title>no</svg:title></draw:frame>.</text:p>"
    )

    assert read_blocks(body) == [("paragraph", "Tea is hot.")]


def test_a_text_box_is_a_paragraph_of_its_own() -> None:
    box = f"<draw:frame><draw:text-box>{paragraph('In it.')}</draw:text-box></draw:frame>"

    assert read_blocks(paragraph(f"Around {box}it.")) == [
        ("paragraph", "In it."),
        ("paragraph", "Around it."),
    ]


def test_code_paragraphs_become_one_block() -> None:
    body = (
        paragraph("if tea:", "P1")
        + paragraph("", "P1")
        + paragraph("<text:s text:c='2'/>pour()", "P1")
        + paragraph("Then:")
        + paragraph(span("make tea", "T5"))
    )

    assert read_blocks(body) == [
        ("code", "if tea:\n\n  pour()"),
        ("paragraph", "Then:"),
        ("code", "make tea"),
    ]


def test_a_term_is_joined_with_its_definition() -> None:
    terms = [paragraph(text, "Definition_20_Term") for text in ("Sencha", "Assam", "Oolong")]
    code = paragraph("brew", "P1")
    body = (
        terms[0] + paragraph("A green tea.") + paragraph("It is hot.") + terms[1] + code + terms[2]
    )

    assert read_blocks(body) == [
        ("definition", "Sencha: A green tea."),
        ("paragraph", "It is hot."),
        ("definition", "Assam"),
        ("code", "brew"),
        ("definition", "Oolong"),
    ]


def test_table_rows_carry_their_headings() -> None:
    marked = f"<table:table-header-rows>{row('1', '2')}</table:table-header-rows>"
    heads = row(*(paragraph(text, "Table_20_Heading") for text in ("1", "2")))
    bold = row(paragraph(span("leaf", "T4")), "3 g")

    assert read_blocks(table(marked, row("a", "b"))) == [("row", "1: a; 2: b")]
    assert read_blocks(table(heads, row("a", "b"))) == [("row", "1: a; 2: b")]
    assert read_blocks(table(bold, bold)) == [("row", "leaf: 3 g")] * 2


def test_merged_cells_belong_to_all_they_span() -> None:
    covered = "<table:covered-table-cell/>"
    heads = row("Tea", cell("Time", "table:number-columns-spanned='2'"), covered, "Cups")
    body = table(
        f"<table:table-header-rows>{heads}</table:table-header-rows>",
        row(cell("Green", "table:number-rows-spanned='3'"), "2", "min", "4"),
        row(covered, cell("long", "table:number-columns-spanned='2'"), covered, "5"),
        row(covered, "3", "min", "6"),
        row("Black", "4", "min", "7"),
    )

    assert [text for _, text in read_blocks(body)] == [
        "Tea: Green; Time: 2; Time: min; Cups: 4",
        "Tea: Green; Time: long; Cups: 5",
        "Tea: Green; Time: 3; Time: min; Cups: 6",
        "Tea: Black; Time: 4; Time: min; Cups: 7",
    ]


def test_a_spreadsheet_gives_its_sheets() -> None:
    filler = "<table:table-cell table:number-columns-repeated='16000'/>"
    same = cell("3 g", "table:number-columns-repeated='2'")
    body = table(row("Tea", "Min", "Max", filler), row("Sencha", same, filler))

    assert list(read(body, "spreadsheet").blocks) == [
        Block("heading", "Teas"),
        Block("row", "Tea: Sencha; Min: 3 g; Max: 3 g", ("Teas",)),
    ]


def test_a_presentation_gives_its_slides() -> None:
    def frame(purpose: str, content: str, more: str = "") -> str:
        box = f"<draw:text-box>{content}</draw:text-box>"
        return f"<draw:frame presentation:class='{purpose}' {more}>{box}</draw:frame>"

    items = "<text:list><text:list-item><text:p>hot</text:p></text:list-item></text:list>"
    first = frame("title", paragraph("Tea")) + frame("outline", items)
    first += frame("footer", paragraph("no"))
    second = frame("title", paragraph("Click here"), "presentation:placeholder='true'")
    second += frame("", paragraph("Milk."))
    body = f"<draw:page>{first}</draw:page><draw:page>{second}</draw:page>"

    assert list(read(body, "presentation").blocks) == [
        Block("heading", "Tea", page=1),
        Block("item", "hot", ("Tea",), page=1),
        Block("paragraph", "Milk.", page=2),
    ]


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"PK nothing", "not an OpenDocument file that can be read"),
        (make_odt("<text:p>"), "not an OpenDocument file that can be read"),
        (make_odt("", manifest="<office:encryption-data/>"), "encrypted; remove its password"),
    ],
)
def test_bad_files_are_refused(raw: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        [list(document.blocks) for document in odt.read(io.BytesIO(raw))]
