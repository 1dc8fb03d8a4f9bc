"""Blocks of PDFs that the tests write themselves, glyph by glyph where positions matter."""

import io
from collections.abc import Sequence
from typing import NamedTuple

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.pdf import read
from rejoinder.errors import InputError

FONTS = {
    "": "Helvetica",
    "bold": "Helvetica-Bold",
    "code": "Courier",
}


class Put(NamedTuple):
    """Text at a place of a page."""

    x: float
    y: float
    text: str
    size: float = 10
    font: str = ""
    raw: str = ""
    """Operators instead of the text."""


class Mark(NamedTuple):
    """An entry of the outline."""

    title: str
    page: int
    y: float
    children: Sequence["Mark"] = ()


def make_pdf(
    *pages: Sequence[Put],
    marks: Sequence[Mark] = (),
    title: str = "",
    encoding: str = "/WinAnsiEncoding",
) -> bytes:
    objects: list[bytes] = [b""] * 3
    fonts = ""
    for number, (name, base) in enumerate(FONTS.items()):
        face = f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding {encoding} >>"
        objects.append(face.encode())
        fonts += f"/F{name} {4 + number} 0 R "
    first = len(objects) + 1
    for page in pages:
        stream = "\n".join(
            f"BT /F{put.font} {put.size} Tf {put.x} {put.y} Td {put.raw or f'({put.text}) Tj'} ET"
            for put in page
        ).encode("cp1252")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {len(objects) + 2} 0 R"
            f" /Resources << /Font << {fonts} >> >> >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream))
    objects.append(b"")
    outline = len(objects)
    links = add_marks(objects, marks, first, outline) if marks else ""
    objects[outline - 1] = f"<< /Type /Outlines {links} >>".encode()
    kids = " ".join(f"{first + 2 * number} 0 R" for number in range(len(pages)))
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R /Outlines {outline} 0 R >>".encode()
    objects[1] = f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode()
    objects[2] = f"<< /Title ({title}) >>".encode()
    out, offsets = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R /Info 3 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()


def add_marks(objects: list[bytes], marks: Sequence[Mark], first: int, parent: int) -> str:
    """Append the entries below a parent, and return the parent's links to them."""
    start = len(objects) + 1
    objects += [b""] * len(marks)
    last = len(objects)
    for number, mark in enumerate(marks, start=start):
        target = f"[{first + 2 * (mark.page - 1)} 0 R /XYZ 0 {mark.y} 0]"
        following = f"/Next {number + 1} 0 R" if number < last else ""
        links = add_marks(objects, mark.children, first, number) if mark.children else ""
        entry = f"/Title ({mark.title}) /Parent {parent} 0 R /Dest {target} {following} {links}"
        objects[number - 1] = f"<< {entry} >>".encode()
    return f"/First {start} 0 R /Last {last} 0 R /Count {len(marks)}"


def read_document(raw: bytes) -> ExtractedDocument:
    (document,) = read(io.BytesIO(raw))
    return document


def read_blocks(*pages: Sequence[Put], marks: Sequence[Mark] = ()) -> list[Block]:
    return list(read_document(make_pdf(*pages, marks=marks)).blocks)


def show(blocks: Sequence[Block]) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in blocks]


def put_lines(*lines: str, x: float = 50, y: float = 700, font: str = "") -> list[Put]:
    return [Put(x, y - 12 * number, line, font=font) for number, line in enumerate(lines)]


LONG = (
    "Green tea is brewed with water that is well below the boiling point, because hot",
    "water makes it bitter. Most kinds need two minutes, and some of them even less than",
    "that.",
)
PROSE = " ".join(LONG)


def test_lines_become_paragraphs_with_their_page() -> None:
    blocks = read_blocks(
        [*put_lines(*LONG), *put_lines("Black tea needs boiling water.", y=640)],
        put_lines("White tea needs patience."),
    )

    assert show(blocks) == [
        ("paragraph", PROSE),
        ("paragraph", "Black tea needs boiling water."),
        ("paragraph", "White tea needs patience."),
    ]
    assert [block.page for block in blocks] == [1, 1, 2]


def test_a_paragraph_goes_on_on_the_next_page() -> None:
    blocks = read_blocks(put_lines(*LONG[:2], y=100), put_lines(*LONG[2:]))

    assert show(blocks) == [("paragraph", PROSE)]
    assert blocks[0].page == 1


def test_an_indented_line_begins_a_paragraph() -> None:
    indented = [Put(60, 700, LONG[0]), *put_lines(LONG[1], y=688)]
    again = [Put(60, 676, LONG[0]), *put_lines(LONG[1], y=664)]

    blocks = read_blocks([*indented, *again])

    assert show(blocks) == [("paragraph", " ".join(LONG[:2]))] * 2


def test_a_short_line_ends_its_paragraph() -> None:
    blocks = read_blocks(put_lines(*LONG, *LONG))

    assert show(blocks) == [("paragraph", PROSE)] * 2


def test_running_heads_feet_and_page_numbers_are_left_out() -> None:
    pages = []
    for number in range(1, 9):
        chapter = "Green" if number < 5 else "Black"
        head = Put(50 if number % 2 else 400, 770, f"{chapter} tea manual {number}", 9)
        foot = [Put(50, 30, "Version 3"), Put(500, 30, f"{number} / 8")]
        pages.append([head, *put_lines(f"Page {'abcdefgh'[number - 1]} is read."), *foot])

    blocks = read_blocks(*pages)

    assert [block.text for block in blocks] == [f"Page {letter} is read." for letter in "abcdefgh"]


def test_a_head_that_names_the_section_is_left_out_on_every_page() -> None:
    pages = [
        [Put(50, 770, f"{name}(1)"), Put(250, 770, "Tea Manual"), *put_lines(f"It is {name}.")]
        for name in ("mild", "hot", "cold", "bitter", "sweet", "sour", "old")
    ]
    pages.append([Put(50, 770, "new(1)"), *put_lines("It is new.")])

    blocks = read_blocks(*pages)

    assert all(block.text.startswith("It is ") for block in blocks)


def test_a_page_number_at_an_unusual_place_is_left_out() -> None:
    blocks = read_blocks([*put_lines(*LONG), Put(300, 40, "iv")], put_lines("It goes on."))

    assert [block.text for block in blocks] == [PROSE, "It goes on."]


def test_an_accent_and_its_letter_are_one_character() -> None:
    blocks = read_blocks([Put(50, 700, "", raw="[(f) (\xa8) 445 (ur, and \xa8 alone)] TJ")])

    assert blocks[0].text == "für, and \xa8 alone"


def test_a_head_is_left_out_on_a_page_of_nothing_else() -> None:
    pages = [
        [Put(50, 770, f"Tea manual {n}"), *put_lines(f"Tea {c}.")] for n, c in enumerate("abcdefgh")
    ]

    blocks = read_blocks(*pages, [Put(50, 770, "Tea manual 9")])

    assert [block.text for block in blocks] == [f"Tea {letter}." for letter in "abcdefgh"]


def test_a_star_inside_a_sentence_is_no_bullet() -> None:
    blocks = read_blocks(put_lines("The answer to it all is the product 6", "* 7, as we know."))

    assert show(blocks) == [("paragraph", "The answer to it all is the product 6 * 7, as we know.")]


def test_equal_text_near_the_edge_stays() -> None:
    blocks = read_blocks(put_lines("Tea is hot.", "Ice is not."), put_lines("Tea is hot.", "So."))

    assert [block.text for block in blocks] == ["Tea is hot. Ice is not.", "Tea is hot. So."]


def test_contents_and_index_are_left_out() -> None:
    contents = put_lines(
        "1 Tea 3", *(f"1.{n} Kind . . . . . . . . . . . . . {n}" for n in range(5)), "2 Water 9"
    )
    index = put_lines(*(f"{word}, {n}, 12" for n, word in enumerate("abcdefghij")))

    blocks = read_blocks(contents, put_lines("Tea is hot."), index)

    assert show(blocks) == [("paragraph", "Tea is hot.")]


def test_hyphens_that_break_a_word_are_removed() -> None:
    blocks = read_blocks(
        put_lines(
            "The temperature is meas-",
            "ured with a well-known ther-",
            "mometer, and a well-",
            "known rule holds in the USA-",
            "based and the MER-",
            "CHANT houses of five-",
            "year plans - one year is five -",
            "or 10-",
            "12 of them.",
        )
    )

    assert blocks[0].text == (
        "The temperature is measured with a well-known thermometer, and a well-known rule holds in"
        " the USA-based and the MERCHANT houses of five-year plans - one year is five - or 10-12 of"
        " them."
    )


def test_names_broken_at_a_line_end_are_joined() -> None:
    blocks = read_blocks(
        put_lines(
            "The size of the pot is TEA_",
            "POT_SIZE; see https://tea.example/",
            "pots.html, and https://tea.example/",
            "with pictures.",
        )
    )

    assert blocks[0].text == (
        "The size of the pot is TEA_POT_SIZE; see https://tea.example/pots.html, and"
        " https://tea.example/ with pictures."
    )


def test_spaces_come_from_positions() -> None:
    # No space is drawn; -250 and -40 are thousandths of the size to the right.
    drawn = "[(no) -250 (e) -40 (f) -40 (fect)] TJ"

    assert read_blocks([Put(50, 700, "", raw=drawn)])[0].text == "no effect"


def test_ligatures_are_spelled_out() -> None:
    raw = make_pdf([Put(50, 700, "eXcient")], encoding="<< /Differences [88 /ffi] >>")

    assert next(iter(read_document(raw).blocks)).text == "efficient"


def test_scripts_come_from_size_and_baseline() -> None:
    puts = [
        Put(50, 700, "The period is 2"),
        Put(117.4, 703.6, "19937", 7),
        Put(139, 700, "- 1, and H"),
        Put(182.4, 698.5, "2", 7),
        Put(186.5, 700, "O boils; see x"),
        Put(247.5, 703.6, "a+b", 7),
        Put(262, 700, "in the notes"),
        Put(315.3, 703.6, "3", 7),
        Put(322, 700, "below."),
    ]

    (block,) = read_blocks(puts)

    assert block.text == "The period is 2¹⁹⁹³⁷ - 1, and H₂O boils; see x^(a+b) in the notes below."


def test_footnotes_follow_the_paragraph_that_their_page_ends_in() -> None:
    note = [Put(50, 64, "1", 6), Put(54, 60, "Water boils at 100 degrees.", 8)]
    blocks = read_blocks([*put_lines(*LONG[:2], y=100), *note], put_lines(*LONG[2:]))

    assert show(blocks) == [("paragraph", PROSE), ("paragraph", "Water boils at 100 degrees.")]


def test_marks_of_footnotes_on_the_page_are_left_out() -> None:
    puts = [
        Put(50, 700, "Use C++"),
        Put(86.1, 703.6, "12", 7),
        Put(97, 700, "or x"),
        Put(113.7, 703.6, "2", 7),
        Put(120, 700, "or gcc 10"),
        Put(161.7, 703.6, "13", 7),
        *[
            put
            for n, mark in enumerate(("12", "13", "2"))
            for put in (
                Put(50, 84 - 20 * n, mark, 6),
                Put(57.5, 80 - 20 * n, "See the manual of it.", 8),
            )
        ],
    ]

    assert read_blocks(puts)[0].text == "Use C++ or x² or gcc 10"


def test_columns_are_read_one_after_the_other() -> None:
    left = [f"The left column has line {number} of prose here." for number in "abcdefghij"]
    right = [f"The right column has line {number} of prose too." for number in "abcdefghij"]
    title = Put(80, 740, "A title that is set over both of the columns of the page", 16)
    for order in (
        [*put_lines(*left), *put_lines(*right, x=310)],
        [
            put
            for row in zip(put_lines(*left), put_lines(*right, x=310), strict=True)
            for put in row
        ],
    ):
        blocks = read_blocks([title, *order])
        assert blocks[0].kind == "heading"
        assert " ".join(block.text for block in blocks[1:]) == " ".join(left + right)


def test_the_outline_gives_headings_and_paths() -> None:
    marks = [
        Mark("Tea", 1, 720, [Mark("Green tea and its kinds", 1, 690)]),
        Mark("Water", 2, 720, [Mark("Not shown", 2, 680)]),
    ]
    blocks = read_blocks(
        [
            Put(50, 710, "1 Tea", 14, "bold"),
            Put(50, 680, "1.1 Green tea and", 12, "bold"),
            Put(50, 666, "its kinds", 12, "bold"),
            Put(50, 640, "Sencha is green."),
        ],
        [
            Put(50, 710, "2 Water", 14, "bold"),
            Put(50, 690, "Water is wet."),
            Put(50, 660, "Ice is not."),
            Put(50, 630, "Bold as a caption", 10, "bold"),
        ],
        marks=marks,
    )

    assert [(block.kind, block.text, block.path) for block in blocks] == [
        ("heading", "Tea", ()),
        ("heading", "Green tea and its kinds", ("Tea",)),
        ("paragraph", "Sencha is green.", ("Tea", "Green tea and its kinds")),
        ("heading", "Water", ()),
        ("paragraph", "Water is wet.", ("Water",)),
        ("heading", "Not shown", ("Water",)),
        ("paragraph", "Ice is not.", ("Water", "Not shown")),
        ("caption", "Bold as a caption", ("Water", "Not shown")),
    ]


def test_headings_without_outline_come_from_size_weight_and_numbers() -> None:
    blocks = read_blocks(
        [
            Put(50, 740, "All about tea", 20),
            Put(50, 710, "2 Kinds", 14, "bold"),
            Put(50, 690, "2.1 Green tea", 10, "bold"),
            *put_lines(*LONG, y=670),
            Put(50, 620, "2.2 Black tea", 10, "bold"),
            *put_lines("It is fermented.", y=600),
            Put(80, 570, "--bold-option", 10, "bold"),
            Put(110, 558, "Makes it stronger than before."),
        ]
    )

    assert [(block.kind, block.text, block.path) for block in blocks] == [
        ("heading", "All about tea", ()),
        ("heading", "2 Kinds", ("All about tea",)),
        ("heading", "2.1 Green tea", ("All about tea", "2 Kinds")),
        ("paragraph", PROSE, ("All about tea", "2 Kinds", "2.1 Green tea")),
        ("heading", "2.2 Black tea", ("All about tea", "2 Kinds")),
        ("paragraph", "It is fermented.", ("All about tea", "2 Kinds", "2.2 Black tea")),
        (
            "definition",
            "--bold-option: Makes it stronger than before.",
            ("All about tea", "2 Kinds", "2.2 Black tea"),
        ),
    ]


def test_a_bold_paragraph_is_no_heading() -> None:
    bold = put_lines("Never boil tea,", "because heat takes the best of it", *LONG[:2], font="bold")

    blocks = read_blocks([*put_lines(*LONG, y=760), *bold, *put_lines(*LONG, y=600)])

    assert "heading" not in {block.kind for block in blocks}


def test_pages_that_are_all_alike_keep_their_text() -> None:
    page = [Put(50, 700, "Tea"), Put(50, 500, "Ice.")]

    assert [block.text for block in read_blocks(*[page] * 8)] == ["Tea", "Ice."] * 8


def test_list_items_lose_their_marks() -> None:
    blocks = read_blocks(
        [
            Put(50, 700, "•"),
            Put(60, 700, "Heat the water, which takes some minutes on a stove, until"),
            Put(60, 688, "it steams."),
            Put(50, 676, "2."),
            Put(62, 676, "Pour it over the leaves."),
            Put(50, 664, "- Wait."),
        ]
    )

    assert show(blocks) == [
        ("item", "Heat the water, which takes some minutes on a stove, until it steams."),
        ("item", "Pour it over the leaves."),
        ("item", "Wait."),
    ]


def test_code_keeps_lines_indentation_and_alignment() -> None:
    code = [
        Put(50, 700, "Brew it so:"),
        Put(60, 680, "def brew():", 9, "code"),
        Put(60 + 4 * 5.4, 669, "heat(water)", 9, "code"),
        Put(60 + 20 * 5.4, 669, "# wait", 9, "code"),
        Put(60, 647, "brew()", 9, "code"),
    ]

    blocks = read_blocks([*put_lines(*LONG, y=760), *code], [Put(60, 700, "pour()", 9, "code")])

    expected = "def brew():\n    heat(water)     # wait\n\nbrew()\npour()"
    assert show(blocks)[1:] == [("paragraph", "Brew it so:"), ("code", expected)]


def test_a_term_in_a_code_font_heads_its_definition() -> None:
    term = Put(60, 640, "--hot", font="code")

    blocks = read_blocks([*put_lines(*LONG), term, Put(80, 628, "Boil the water first.")])

    assert show(blocks)[1:] == [("definition", "--hot: Boil the water first.")]


def test_numbers_in_circles_do_not_cut_code() -> None:
    code = [Put(50, 700 - 12 * n, f"step{n}()", font="code") for n in range(3)]
    raw = make_pdf([*code, Put(300, 693, "X")], encoding="<< /Differences [88 /uni2460] >>")

    assert show(list(read_document(raw).blocks)) == [("code", "step0()\nstep1()\nstep2()")]


def test_a_sentence_with_a_line_of_code_stays_whole() -> None:
    blocks = read_blocks(
        [
            *put_lines(LONG[0][:50], y=700),
            Put(50, 688, "water_temperature_in_degrees_of_celsius()", 10, "code"),
            Put(50, 676, "is high."),
        ]
    )

    assert len(blocks) == 1


def test_captions_are_told_from_sentences() -> None:
    blocks = read_blocks(
        [
            *put_lines("Figure 3: A pot of tea.", y=700),
            *put_lines("Figure 3 shows a pot of tea.", y=660),
        ]
    )

    assert [block.kind for block in blocks] == ["caption", "paragraph"]


def test_aligned_cells_are_rows_with_their_column_headings() -> None:
    rows = [("Tea", "Water", "Time"), ("Sencha", "70 degrees", "2 min"), ("Assam", "95", "3 min")]
    puts = [
        Put(x, 700 - 14 * number, cell, font="" if number else "bold")
        for number, row in enumerate(rows)
        for x, cell in zip((50, 150, 250), row, strict=True)
    ]

    blocks = read_blocks([*put_lines(*LONG, y=760), *puts])

    assert show(blocks)[1:] == [
        ("row", "Tea: Sencha; Water: 70 degrees; Time: 2 min"),
        ("row", "Tea: Assam; Water: 95; Time: 3 min"),
    ]


def test_ruled_cells_may_have_several_lines() -> None:
    grid = "".join(f"{x} 640 0.5 70 re f " for x in (50, 150, 300))
    grid += "".join(f"50 {y} 250 0.5 re f " for y in (640, 670, 695, 710))
    cells = [
        Put(55, 698, "Name", font="bold"),
        Put(155, 698, "Taste", font="bold"),
        Put(55, 685, "Sencha"),
        Put(155, 685, "fresh, and a bit like"),
        Put(155, 673, "grass"),
        Put(55, 655, "Assam"),
        Put(155, 655, "strong"),
        Put(0, 0, "", raw=f"ET {grid} BT"),
    ]

    blocks = read_blocks([*put_lines(*LONG, y=760), *cells])

    assert show(blocks)[1:] == [
        ("row", "Name: Sencha; Taste: fresh, and a bit like grass"),
        ("row", "Name: Assam; Taste: strong"),
    ]


def test_a_ruled_table_is_not_read_as_columns() -> None:
    grid = "".join(f"{x} 400 0.5 305 re f " for x in (50, 200, 500))
    grid += "".join(f"50 {705 - 30 * n} 450 0.5 re f " for n in range(11))
    names = [Put(55, 690 - 30 * n, f"tea number {letter}") for n, letter in enumerate("abcdefghij")]
    lines = ["needs water that is hot, but not so hot that it", "boils."]
    texts = [Put(205, put.y - 12 * n, line) for put in names for n, line in enumerate(lines)]

    blocks = read_blocks([*names, *texts, Put(0, 0, "", raw=f"ET {grid} BT")])

    assert show(blocks) == [("row", f"{put.text}; {' '.join(lines)}") for put in names]


def test_a_long_text_does_not_swallow_the_cell_that_it_touches() -> None:
    grid = "".join(f"{x} 640 0.5 70 re f " for x in (50, 110, 300))
    puts = [
        Put(52, 690, "one_two_ab", font="code"),
        Put(114, 690, "strong"),
        Put(52, 660, "Assam", font="code"),
        Put(114, 660, "mild"),
        Put(180, 660, "and sweet"),
        Put(0, 0, "", raw=f"ET {grid} 50 675 250 0.5 re f BT"),
    ]

    blocks = read_blocks([*put_lines(*LONG, y=760), *puts])

    assert show(blocks)[1:] == [("row", "one_two_ab; strong"), ("row", "Assam; mild and sweet")]


def test_rows_without_rules_between_them_are_told_apart() -> None:
    frame = "".join(f"{x} 600 0.5 110 re f " for x in (50, 150, 300))
    frame += "".join(f"50 {y} 250 0.5 re f " for y in (600, 695, 710))
    puts = [Put(0, 0, "", raw=f"ET {frame} BT")]
    for number, name in enumerate(("Tea", "Assam", "Sencha", "Bancha")):
        puts += [Put(55, 698 - 14 * number, name), Put(155, 698 - 14 * number, f"{name} taste")]

    blocks = read_blocks([*put_lines(*LONG, y=760), *puts])

    assert [block.text for block in blocks[1:]] == [
        "Tea; Tea taste",
        "Assam; Assam taste",
        "Sencha; Sencha taste",
        "Bancha; Bancha taste",
    ]


@pytest.mark.parametrize(
    "turned",
    [
        "0 1 -1 0 300 100 Tm (Tea is hot.) Tj 0 1 -1 0 314 100 Tm (Ice is not.) Tj",
        "-1 0 0 -1 300 100 Tm (Tea is hot.) Tj -1 0 0 -1 300 114 Tm (Ice is not.) Tj",
        "0 -1 1 0 300 500 Tm (Tea is hot.) Tj 0 -1 1 0 286 500 Tm (Ice is not.) Tj",
    ],
    ids=["left", "upside down", "right"],
)
def test_turned_pages_are_read_upright(turned: str) -> None:
    blocks = read_blocks([Put(0, 0, "", raw=turned)])

    assert [block.text for block in blocks] == ["Tea is hot. Ice is not."]


def test_text_that_is_turned_unlike_its_page_is_left_out() -> None:
    stamp = Put(0, 0, "", raw="0 1 -1 0 20 300 Tm (arXiv) Tj")

    assert show(read_blocks([*put_lines(*LONG), stamp])) == [("paragraph", PROSE)]


def test_the_title_is_metadata_or_the_largest_text() -> None:
    page = [Put(50, 740, "All about tea", 20), *put_lines(*LONG)]

    assert read_document(make_pdf(page, title="Green tea")).title == "Green tea"
    assert read_document(make_pdf(page)).title == "All about tea"
    assert read_document(make_pdf(put_lines(*LONG))).title == ""


@pytest.mark.parametrize("raw", [b"", b"%PDF-1.4\n", b"tea"])
def test_a_broken_file_is_refused(raw: bytes) -> None:
    with pytest.raises(InputError, match="not a PDF that can be read"):
        list(read(io.BytesIO(raw)))


def test_a_pdf_without_text_is_refused() -> None:
    with pytest.raises(InputError, match=r"a PDF without text \(scanned pages\?\)"):
        list(read(io.BytesIO(make_pdf([]))))
