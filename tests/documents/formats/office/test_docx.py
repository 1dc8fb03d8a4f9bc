"""Blocks of Word files."""

import io
import zipfile

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.office import archive, docx
from rejoinder.errors import InputError

NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:{prefix}"' for prefix in ("w", "m", "mc", "wp", "wps", "v")
)
CORE = "<cp xmlns:dc='http://purl.org/dc/elements/1.1/'><dc:title>{}</dc:title></cp>"
STYLES = f"""<w:styles {NAMESPACES}>
<w:style w:type="paragraph" w:styleId="Normal" w:default="1"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>
<w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/>
  <w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="Kapitel2"><w:name w:val="Kapitel neu"/>
  <w:basedOn w:val="Kapitel"/></w:style>
<w:style w:type="paragraph" w:styleId="Liste"><w:name w:val="Liste"/>
  <w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>
<w:style w:type="character" w:styleId="Geheim"><w:name w:val="Geheim"/>
  <w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="paragraph" w:styleId="Kreis1">
  <w:basedOn w:val="Kreis2"/></w:style>
<w:style w:type="paragraph" w:styleId="Kreis2">
  <w:basedOn w:val="Kreis1"/></w:style>
</w:styles>"""


def make_docx(body: str, **parts: str) -> bytes:
    document = f"<w:document {NAMESPACES}><w:body>{body}</w:body></w:document>"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("word/document.xml", document)
        for name, content in parts.items():
            folder = "docProps" if name == "core" else "word"
            file.writestr(f"{folder}/{name}.xml", content)
    return packed.getvalue()


def run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t xml:space='preserve'>{text}</w:t></w:r>"


def paragraph(content: str, style: str = "", properties: str = "") -> str:
    content = content if content.startswith("<") else run(content)
    style = f'<w:pStyle w:val="{style}"/>' if style else ""
    return f"<w:p><w:pPr>{style}{properties}</w:pPr>{content}</w:p>"


def table(*rows: list[str], header: bool = False) -> str:
    mark = "<w:trPr><w:tblHeader/></w:trPr>" if header else ""
    return "<w:tbl>{}</w:tbl>".format(
        "".join(
            f"<w:tr>{'' if place else mark}{''.join(map(cell, row))}</w:tr>"
            for place, row in enumerate(rows)
        )
    )


def cell(content: str) -> str:
    return f"<w:tc>{content if content.startswith('<') else paragraph(content)}</w:tc>"


def read(body: str, **parts: str) -> ExtractedDocument:
    (document,) = docx.read(io.BytesIO(make_docx(body, **parts)))
    return document


def read_blocks(body: str, **parts: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read(body, **parts).blocks]


def read_texts(body: str, **parts: str) -> list[str]:
    return [text for _, text in read_blocks(body, **parts)]


def test_headings_give_the_path_of_what_follows() -> None:
    body = (
        paragraph("Tea", "Heading1")
        + paragraph("It is hot.")
        + paragraph("Green", "Heading2")
        + paragraph("one cup", properties="<w:numPr><w:ilvl w:val='1'/></w:numPr>")
        + paragraph("Figure 1: a cup", "Caption")
        + paragraph("Milk", "Heading1")
    )

    assert list(read(body).blocks) == [
        Block("heading", "Tea"),
        Block("paragraph", "It is hot.", ("Tea",)),
        Block("heading", "Green", ("Tea",)),
        Block("item", "one cup", ("Tea", "Green")),
        Block("caption", "Figure 1: a cup", ("Tea", "Green")),
        Block("heading", "Milk"),
    ]


def test_styles_are_known_by_their_names_levels_and_parents() -> None:
    numbered = "<w:numPr><w:numId w:val='0'/></w:numPr>"
    body = "".join(
        (
            paragraph("a", "Kapitel2"),
            paragraph("b", "berschrift2"),
            paragraph("c", "Liste"),
            paragraph("d", "Liste", numbered),
            paragraph("e", "Kreis1"),
            paragraph("f", properties="<w:outlineLvl w:val='2'/>"),
            paragraph("g", "Kapitel", "<w:outlineLvl w:val='9'/>"),
        )
    )

    assert [(block.kind, block.text, block.path) for block in read(body, styles=STYLES).blocks] == [
        ("heading", "a", ()),
        ("heading", "b", ("a",)),
        ("item", "c", ("a", "b")),
        ("paragraph", "d", ("a", "b")),
        ("paragraph", "e", ("a", "b")),
        ("heading", "f", ("a", "b")),
        ("paragraph", "g", ("a", "b", "f")),
    ]


def test_the_title_is_a_property_or_a_paragraph() -> None:
    body = paragraph("Green tea", "Title") + paragraph("It is hot.")

    assert read(body, core=CORE.format("Teas  of\tthe world")).title == "Teas of the world"
    assert read(body, core=CORE.format("")).title == "Green tea"
    assert read(paragraph("It is hot.")).title == ""
    assert list(read(body).blocks)[1] == Block("paragraph", "It is hot.", ("Green tea",))


def test_a_long_paragraph_is_not_a_heading() -> None:
    assert read_blocks(paragraph("tea " * 100, "Heading1"))[0][0] == "paragraph"


def test_runs_join_with_their_breaks_hyphens_and_scripts() -> None:
    raised, lowered = ("<w:vertAlign w:val='superscript'/>", "<w:vertAlign w:val='subscript'/>")
    body = paragraph(
        run("2")
        + run("3", raised)
        + run("1", raised)
        + run(" cups")
        + "<w:r><w:tab/><w:t>of</w:t><w:br/><w:t>H</w:t></w:r>"
        + run("2", lowered)
        + "<w:r><w:t>O, low</w:t><w:noBreakHyphen/><w:t>fat</w:t></w:r>"
        + "<w:r><w:t>, ca</w:t><w:softHyphen/><w:t>f\xadfeine</w:t></w:r>"
        + run("1", "<w:rStyle w:val='FootnoteReference'/>")
        .replace("<w:t ", "<w:footnoteReference ")
        .replace("w:t>", "w:footnoteReference>")
        + "<m:oMath><m:sSup><m:e><m:r><m:t> x</m:t></m:r></m:e>"
        + "<m:sup><m:r><m:t>n</m:t></m:r></m:sup></m:sSup><m:r><m:t> </m:t></m:r>"
        + "<m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num>"
        + "<m:den><m:r><m:t>c</m:t></m:r></m:den></m:f></m:oMath>",
        properties="<w:tabs><w:tab w:val='left'/></w:tabs>",
    )

    assert read_texts(body) == ["2³¹ cups of H₂O, low-fat, caffeine xⁿ (a+b)/(c)"]


def test_deleted_hidden_and_generated_text_is_out() -> None:
    body = (
        paragraph(
            run("Tea")
            + "<w:del><w:r><w:t>no</w:t></w:r></w:del>"
            + "<w:moveFrom><w:r><w:t>no</w:t></w:r></w:moveFrom>"
            + "<w:ins><w:r><w:t> is</w:t></w:r></w:ins>"
            + run("no", "<w:vanish/>")
            + run("no", "<w:rStyle w:val='Geheim'/>")
            + run(" hot", "<w:vanish w:val='0'/>")
            + "<w:r><w:instrText>PAGE</w:instrText></w:r>"
            + "<w:fldSimple><w:r><w:t>.</w:t></w:r></w:fldSimple>"
        )
        + paragraph("Tea 7", "TOC1")
        + paragraph("Contents", "TOCHeading")
        + "<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val='Table of Contents'/>"
        + f"</w:docPartObj></w:sdtPr><w:sdtContent>{paragraph('Tea 7')}</w:sdtContent></w:sdt>"
        + f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('Milk.')}</w:sdtContent></w:sdt>"
    )

    assert read_texts(body, styles=STYLES) == ["Tea is hot.", "Milk."]


def test_a_text_box_is_read_once() -> None:
    box = f"<w:txbxContent>{paragraph('In the box.')}</w:txbxContent>"
    body = paragraph(
        run("Around ")
        + f"<w:r><mc:AlternateContent><mc:Choice>{box}</mc:Choice>"
        + f"<mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
        + run("it.")
    )

    assert read_texts(body) == ["In the box.", "Around it."]


def test_code_paragraphs_become_one_block() -> None:
    mono = "<w:rFonts w:ascii='Courier New'/>"
    body = (
        paragraph("Run this:")
        + paragraph("  if tea:", "SourceCode")
        + paragraph("", "SourceCode")
        + paragraph("<w:r><w:t>    pour()</w:t><w:br/><w:t>    end()  </w:t></w:r>", "SourceCode")
        + paragraph("Then:")
        + paragraph(run("make ", mono) + run("tea", mono))
        + paragraph(run("make ", mono) + run("coffee"))
        + paragraph(run("This is a letter that was typed.", mono))
    )

    assert read_blocks(body) == [
        ("paragraph", "Run this:"),
        ("code", "if tea:\n\n  pour()\n  end()"),
        ("paragraph", "Then:"),
        ("code", "make tea"),
        ("paragraph", "make coffee"),
        ("paragraph", "This is a letter that was typed."),
    ]


def test_the_font_of_all_text_does_not_mean_code() -> None:
    styles = STYLES.replace('"Normal"/>', '"Normal"/><w:rPr><w:rFonts w:ascii="Courier"/></w:rPr>')

    assert read_blocks(paragraph("make tea", "Normal"), styles=styles) == [
        ("paragraph", "make tea")
    ]


def test_table_rows_carry_their_headings() -> None:
    assert read_blocks(
        table(["Tea", "Leaves in one cup of water."], ["Sencha", "3 g"], ["Assam", ""], header=True)
    ) == [
        ("row", "Tea: Sencha; Leaves in one cup of water. 3 g"),
        ("row", "Tea: Assam"),
    ]


def test_a_header_row_is_known_by_its_looks() -> None:
    bold = "<w:b/>"
    heads = [paragraph(run(text, bold)) for text in ("1st", "2nd")]
    assert read_texts(table(heads, ["a", "b"])) == ["1st: a; 2nd: b"]
    assert read_texts(table(["Tea", "Leaves"], ["a", "b"])) == ["Tea: a; Leaves: b"]
    assert read_texts(table(["leaf", "3 g"], ["bud", "1 g"])) == ["leaf; 3 g", "bud; 1 g"]
    assert read_texts(table(["leaf", "stem"])) == ["leaf; stem"]
    assert read_texts(table([heads[0], "leaf"], [heads[1], "stem"])) == ["1st: leaf", "2nd: stem"]
    assert read_texts(table(heads)) == ["1st; 2nd"]


def test_merged_cells_belong_to_all_they_span() -> None:
    wide = "<w:tcPr><w:gridSpan w:val='2'/></w:tcPr>"
    body = table(
        ["Tea", f"{wide}{paragraph('Time')}"],
        ["<w:tcPr><w:vMerge w:val='restart'/></w:tcPr>" + paragraph("Green"), "2", "min"],
        ["<w:tcPr><w:vMerge/></w:tcPr>" + paragraph(""), "3", "min"],
        header=True,
    )

    assert read_texts(body) == ["Tea: Green; Time: 2; Time: min", "Tea: Green; Time: 3; Time: min"]


def test_layout_tables_are_flattened() -> None:
    inner = table(["Tea", "Leaves"], ["Sencha", "3 g"])
    one = paragraph("Intro.") + inner + paragraph("a", "ListBullet")
    assert read_blocks(table([one])) == [
        ("paragraph", "Intro."),
        ("row", "Tea: Sencha; Leaves: 3 g"),
        ("item", "a"),
    ]
    assert read_blocks(table([paragraph("Tea", "Heading1"), "It is hot."])) == [
        ("heading", "Tea"),
        ("paragraph", "It is hot."),
    ]
    assert read_texts(table(["Kind", "How"], ["Green", inner])) == [
        "Kind: Green; How: Tea: Sencha; Leaves: 3 g"
    ]


def test_the_main_part_is_the_one_that_the_archive_names() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        link = "<Relationship Id='a' Type='urn:x/officeDocument' Target='/word/document2.xml'/>"
        file.writestr("_rels/.rels", f"<Relationships>{link}</Relationships>")
        body = f"<w:body>{paragraph('Tea.')}</w:body>"
        file.writestr("word/document2.xml", f"<w:document {NAMESPACES}>{body}</w:document>")

    (document,) = docx.read(packed)

    assert [block.text for block in document.blocks] == ["Tea."]


def refuse(raw: bytes) -> str:
    with pytest.raises(InputError) as caught:
        [list(document.blocks) for document in docx.read(io.BytesIO(raw))]
    return str(caught.value)


def test_corrupt_files_are_refused() -> None:
    good = make_docx(paragraph("tea " * 1000))
    wrong_offset = bytearray(good)
    wrong_offset[-6:-2] = b"\xff\xff\xff\x00"  # where the list of its files begins
    for raw in (
        b"",
        b"PK nothing",
        good[: len(good) // 2],
        bytes(wrong_offset),
        make_docx("<w:p>"),
        make_docx("<w:p>&b;</w:p>"),
    ):
        assert refuse(raw).startswith("not a Word file that can be read (")


def test_encrypted_and_old_files_are_refused_with_their_reason() -> None:
    start = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(65_530)
    assert refuse(start + "EncryptedPackage".encode("utf-16-le")) == (
        "encrypted; remove its password"
    )
    assert refuse(start) == "in the format of Office 97; save it in the current format"
    locked = bytearray(make_docx(""))
    central = locked.index(b"PK\1\2")
    locked[central + 8] |= 1
    assert refuse(bytes(locked)) == "encrypted; remove its password"


def test_a_zip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_XML_BYTES", 1_000_000)
    bomb = make_docx(paragraph("a" * 3_000_000))

    assert len(bomb) < 10_000
    assert refuse(bomb) == "more than 1 MB when unpacked"


def test_large_styles_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_TREE_BYTES", 1_000_000)

    problem = refuse(make_docx("", styles=f"<w>{'a' * 2_000_000}</w>"))

    assert problem == "word/styles.xml has more than 1 MB when unpacked"


def test_entities_are_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;">]>'
    with_styles = make_docx("", styles=f"{bomb}<w>&c;</w>")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("word/document.xml", f"{bomb}<w>&c;</w>")
    for raw in (with_styles, packed.getvalue()):
        assert refuse(raw) == "not a Word file that can be read (it declares a document type)"


def test_unknown_compression_is_refused() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_BZIP2) as file:
        file.writestr("word/document.xml", "<a/>")

    assert refuse(packed.getvalue()) == "not a Word file that can be read (unknown compression)"
