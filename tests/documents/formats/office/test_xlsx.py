"""Blocks of Excel files."""

import io
import time
import zipfile
from datetime import date, datetime
from datetime import time as clock
from typing import Any

import pytest

from rejoinder.documents.blocks import Block
from rejoinder.documents.formats.office import xlsx
from rejoinder.documents.formats.office.cell_values import find_format, format_number
from rejoinder.errors import InputError

openpyxl = pytest.importorskip("openpyxl")
NAMESPACES = 'xmlns:r="urn:r"'


def make_xlsx(*rows: list[Any], **sheets: list[list[Any]]) -> bytes:
    workbook = openpyxl.Workbook()
    workbook.active.title = "Teas"
    for row in rows:
        workbook.active.append(row)
    for name, others in sheets.items():
        sheet = workbook.create_sheet(name)
        sheet.sheet_state = "hidden" if name == "Secret" else "visible"
        for row in others:
            sheet.append(row)
    packed = io.BytesIO()
    workbook.save(packed)
    return packed.getvalue()


def make_sheet(data: str, strings: str = "", styles: str = "", workbook: str = "") -> bytes:
    """Return a workbook with one sheet as it is given."""
    link = '<Relationship Id="a" Type="urn:x/worksheet" Target="worksheets/sheet1.xml"/>'
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        sheets = f'<sheets><sheet name="S" sheetId="1" r:id="a"/></sheets>{workbook}'
        file.writestr("xl/workbook.xml", f"<workbook {NAMESPACES}>{sheets}</workbook>")
        file.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{link}</Relationships>")
        file.writestr("xl/sharedStrings.xml", f"<sst>{strings}</sst>")
        file.writestr("xl/styles.xml", f"<styleSheet>{styles}</styleSheet>")
        sheet = f"<worksheet>{data}</worksheet>"
        file.writestr("xl/worksheets/sheet1.xml", sheet)
    return packed.getvalue()


def read_blocks(raw: bytes) -> list[Block]:
    (document,) = xlsx.read(io.BytesIO(raw))
    return list(document.blocks)


def read_texts(raw: bytes) -> list[str]:
    return [block.text for block in read_blocks(raw)]


def test_rows_carry_their_headings_and_sheets() -> None:
    raw = make_xlsx(
        ["Tea", "Leaves", "Since"],
        ["Sencha", 3, date(2020, 5, 1)],
        [],
        ["Assam", 2.5, None],
        Empty=[],
        Milk=[["Kind", "Fat"], ["whole", 0.035]],
        Secret=[["no", "no"], ["no", "no"]],
    )

    assert read_blocks(raw) == [
        Block("row", "Tea: Sencha; Leaves: 3; Since: 2020-05-01", ("Teas",), 2),
        Block("row", "Tea: Assam; Leaves: 2.5", ("Teas",), 4),
        Block("row", "Kind: whole; Fat: 0.035", ("Milk",), 2),
    ]


def test_the_title_is_a_property() -> None:
    workbook = openpyxl.Workbook()
    workbook.properties.title = "Teas of the world"
    packed = io.BytesIO()
    workbook.save(packed)

    (document,) = xlsx.read(packed)

    assert document.title == "Teas of the world"
    assert list(document.blocks) == []


def test_titles_above_the_header_row_stand_alone() -> None:
    raw = make_xlsx(["Sales of tea"], [None, "2019", "2020"], ["North", 10, 20])

    assert read_texts(raw) == ["Sales of tea", "North; 2019: 10; 2020: 20"]


def test_rows_of_numbers_have_no_header() -> None:
    assert read_texts(make_xlsx([1, 2, "a"], [3, 4, "b"])) == ["1; 2; a", "3; 4; b"]


def test_cells_of_all_types() -> None:
    raw = make_xlsx(
        ["a", "b", "c", "d", "e", "f"],
        [True, False, datetime(2020, 5, 1, 12, 30), clock(8, 15), 12.0, "#N/A"],
    )

    assert read_texts(raw) == [
        "a: TRUE; b: FALSE; c: 2020-05-01 12:30; d: 08:15; e: 12",
    ]


def test_cells_as_other_programs_write_them() -> None:
    strings = "<si><r><t>2</t></r><r><rPr><vertAlign val='superscript'/></rPr><t>31</t></r>"
    strings += "<r><t> \ncups</t></r><rPh><t>no</t></rPh></si>"
    data = """<sheetData><row><c><f>1+1</f><v>2</v></c><c t="str"><f>A1</f><v>sum</v></c>
      <c t="inlineStr"><is><t>in</t><t>line</t></is></c><c t="s"><v>0</v></c><c t="s"><v>9</v></c>
      <c t="s"><v>x</v></c><c t="d"><v>2020-05-01T00:00:00</v></c><c r="K1" s="1"><v>.5</v></c>
      <c s="7"><v>nan</v></c></row></sheetData>"""
    styles = "<cellXfs><xf numFmtId='0'/><xf numFmtId='9'/></cellXfs>"

    assert read_texts(make_sheet(data, strings, styles)) == [
        "2; sum; inline; 2³¹ cups; 2020-05-01; 50%; nan"
    ]


def test_dates_may_begin_in_1904() -> None:
    data = "<sheetData><row><c s='0'><v>0</v></c></row></sheetData>"
    styles = "<numFmts><numFmt numFmtId='164' formatCode='yyyy'/></numFmts>"
    styles += "<cellXfs><xf numFmtId='164'/></cellXfs>"

    raw = make_sheet(data, styles=styles, workbook="<workbookPr date1904='1'/>")

    assert read_texts(raw) == ["1904-01-01"]


@pytest.mark.parametrize(
    ("code", "value", "shown"),
    [
        ("yyyy-mm-dd", "60", "1900-02-28"),
        ("yyyy-mm-dd", "1", "1900-01-01"),
        ("mmm", "43831", "2020-01-01"),
        ("h:mm AM/PM", "0.25", "06:00"),
        ("h:mm:ss", "0.0001", "00:00:09"),
        ("[h]:mm", "1.5", "36:00:00"),
        ('0.0" days"', "2.50", "2.5"),
        ("[Red]0", "2", "2"),
        (r"0\d", "2", "2"),
        ("0.00%;[Red]-0.00%", "0.125", "12.5%"),
        ("yyyy", "-3", "-3"),
        ("yyyy", "1e300", "1e+300"),
        ("yyyy", "2958465.99999999", "2958465.99999999"),
        ("General", "1e999", "1e999"),
        ("General", "123456789012345680000", "1.23456789012346e+20"),
        ("General", "-0.5", "-0.5"),
    ],
)
def test_number_formats(code: str, value: str, shown: str) -> None:
    assert format_number(value, find_format("164", code)) == shown


def test_absurd_dimensions_do_no_harm() -> None:
    data = (
        '<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c></row>'
        '<row r="1048576"><c r="XFD1048576"><v>2</v></c><c r="ZZZ1"><v>3</v></c></row></sheetData>'
    )
    start = time.monotonic()

    assert [(block.text, block.line) for block in read_blocks(make_sheet(data))] == [
        ("1", 1),
        ("2", 1_048_576),
    ]
    assert time.monotonic() - start < 1


@pytest.mark.parametrize("raw", [b"PK nothing", make_sheet("<row>"), make_sheet("")[:-40]])
def test_bad_files_are_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="not an Excel file that can be read"):
        [list(document.blocks) for document in xlsx.read(io.BytesIO(raw))]
