import io
from itertools import pairwise

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.markup.man import is_man, read
from rejoinder.errors import InputError


def read_document(text: str) -> tuple[ExtractedDocument, list[Block]]:
    (document,) = read(io.BytesIO(text.encode()))
    return document, list(document.blocks)


def read_pairs(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read_document(f".TH TEA 1\n{text}")[1]]


def test_title_sections_and_paths() -> None:
    text = (
        '.\\" A comment\n.de XX\nhidden\n..\n.TH BOIL\\-TEA 1SSL 2020\n.SH NAME\n'
        "boil\\-tea \\- makes tea\n.SH\nDESCRIPTION\n.SS Heat\nIt is\n.B hot.\n"
    )
    document, blocks = read_document(text)

    assert document.title == "boil-tea(1ssl)"
    assert blocks == [
        Block("heading", "NAME", (), 6),
        Block("definition", "boil-tea - makes tea", ("NAME",), 7),
        Block("heading", "DESCRIPTION", (), 9),
        Block("heading", "Heat", ("DESCRIPTION",), 10),
        Block("paragraph", "It is hot.", ("DESCRIPTION", "Heat"), 11),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\\fBHot\\fR \\f(CWtea\\fP, \\s-1NOW\\s0\\&.", "Hot tea, NOW."),
        ("a \\(em b\\(:u \\[u00E9] \\(bu\\-x \\e \\(lqq\\(rq", "a — bü é •-x \\ “q”"),
        ("2\\u\\s-231\\s0\\d bytes\\h'1n'!", "2³¹ bytes!"),
        (".BR boil (1),\nor\n.IR pot s", "boil(1), or pots"),
        ('.B "a  b" c', "a b c"),
        (".ds Tea green \\*(Aqtea\\*(Aq\n.ds Big \\*[Tea]\n\\*[Big] \\*x", "green 'tea'"),
        ('one\\\n two \\" comment', "one two"),
        (".if t no\n.if n yes\n.ie t \\{\nno\n.\\}\n.el \\{\nbut\n.\\}", "yes but"),
        (".OP -q x\n.ig\nhidden\n..\n.Bx Pf pre fix Ap s", "[-q x] BSD prefix's"),
        (".Fl\n.Ar x\n.Fn f", "- x f()"),
        (".Oo a Oc b\n\\(zz\\", "[a] b"),
        (".UR http://x.test\nshop\n.UE", "http://x.test shop"),
        (".de TE\n..\n.TE shown\n.IX Item hidden\n.EQ\nx\n.EN", "shown"),
    ],
)  # fmt: skip
def test_escapes_fonts_and_requests(text: str, expected: str) -> None:
    assert read_pairs(text) == [("paragraph", expected)]


def test_definitions_and_items() -> None:
    text = (
        ".SH OPTIONS\n.TP\n.B \\-a\n.TP\n.BI \\-\\-all= x\nAll of it.\n.IP\nMore.\n.RS\n"
        ".IP \\(bu 2\nitem\n.IP 0 4\nzero\n.RE\n.PP\nAfter.\n.IP 1. 3\none\n"
    )
    _, blocks = read_document(f".TH TEA 1\n{text}")

    assert [(block.kind, block.text, block.path[1:], block.line) for block in blocks[1:]] == [
        ("definition", "-a, --all=x: All of it.", (), 4),
        ("paragraph", "More.", ("-a, --all=x",), 9),
        ("item", "item", ("-a, --all=x",), 12),
        ("definition", "0: zero", ("-a, --all=x",), 13),
        ("paragraph", "After.", (), 17),
        ("item", "one", (), 19),
    ]


def test_definitions_and_items_of_docbook() -> None:
    text = (
        ".PP\n\\-q\n.RS 4\nBe quiet\\&.\n.RE\n.PP\nRun:\n.RS 4\n$ tea\n$ pot\n.RE\n.sp\n"
        "\\h'-04'\\(bu\\h'+03'item\n"
    )

    assert read_pairs(text) == [
        ("definition", "-q: Be quiet."),
        ("paragraph", "Run:"),
        ("code", "$ tea\n$ pot"),
        ("item", "item"),
    ]


def test_a_blank_line_ends_a_paragraph_but_not_a_definition() -> None:
    _, blocks = read_document(".TH TEA 1\n.TP\n-a\nAll.\n\nMore.\n")

    assert [(block.text, block.path) for block in blocks] == [("-a: All.", ()), ("More.", ("-a",))]


def test_code() -> None:
    text = "Run:\n.nf\n  boil\n    \\-\\-hot\n\n.B pour\n.fi\nor\n.EX\nstir\n.SH NEXT\nEnd.\n"

    assert read_pairs(text) == [
        ("paragraph", "Run:"),
        ("code", "  boil\n    --hot\n\npour"),
        ("paragraph", "or"),
        ("code", "stir"),
        ("heading", "NEXT"),
        ("paragraph", "End."),
    ]


MDOC = """\
.Dd June 1, 2020
.Dt TEA 1
.Os
.Sh NAME
.Nm tea
.Nd make tea
.Sh SYNOPSIS
.Nm
.Op Fl hl Ns Ar size , Fl -long
.Ar
.Sh DESCRIPTION
See
.Xr pot 8 ,
.Pq Pa /tea
and
.Fn boil "int a" b ;
.Dq hot .
.Bl -tag -width x
.It Fl f Ar file
Read it.
.Pp
Twice.
.It Cm go
Go.
.El
.Bl -bullet
.It
one
.El
.Bl -column a b
.It Em a Ta b
.El
.Bd -literal
  x = 1
.Ed
.Dl $ tea Fl h
.Bd -ragged
End.
.Ed
"""


def test_mdoc() -> None:
    document, blocks = read_document(MDOC)

    assert document.title == "tea(1)"
    assert [(block.kind, block.text) for block in blocks if block.kind != "heading"] == [
        ("definition", "tea - make tea"),
        ("paragraph", "tea [-hlsize, --long] file ..."),
        ("paragraph", "See pot(8), (/tea) and boil(int a, b); “hot”."),
        ("definition", "-f file: Read it."),
        ("paragraph", "Twice."),
        ("definition", "go: Go."),
        ("item", "one"),
        ("row", "a; b"),
        ("code", "x = 1"),
        ("code", "$ tea -h"),
        ("paragraph", "End."),
    ]
    assert blocks[6].path == ("DESCRIPTION",)
    assert blocks[7].path == ("DESCRIPTION", "-f file")


def test_tables() -> None:
    text = (
        ".TS\ntab(:) nokeep;\nl l l.\nTea:Price:Note\n_\nSencha:3:T{\n.B dear\nand green\nT}\n"
        "Assam::T{\nred\nT}\n.TE\n.TS\nl l.\n\\fBA\\fR\t\\fBB\\fR\n1\t2\n.TE\n"
        ".TS\nl l.\na\tb\nc\td\n.TE\n.TS\nc s\nl l.\nTitle\nA\tB\n1\t2\n.TE\nEnd.\n"
    )
    _, blocks = read_document(f".TH TEA 1\n{text}")

    assert [(block.text, block.line) for block in blocks] == [
        ("Tea: Sencha; Price: 3; Note: dear and green", 7),
        ("Tea: Assam; Note: red", 11),
        ("A: 1; B: 2", 18),
        ("a; b", 22),
        ("c; d", 23),
        ("Title", 28),
        ("A: 1; B: 2", 30),
        ("End.", 32),
    ]


@pytest.mark.parametrize("name", ["a/ls.1", "x.3pm", "x.7ssl", "tea.man", "[.1"])
def test_man_pages_are_known_by_their_names(name: str) -> None:
    assert is_man(name)


@pytest.mark.parametrize("name", ["a.7z", "a.10", "1", ".1", "a.txt", "a.3gp"])
def test_other_files_are_not(name: str) -> None:
    assert not is_man(name)


def test_text_without_macros_is_refused() -> None:
    with pytest.raises(InputError, match="not a man page"):
        list(read(io.BytesIO(b"Jan 1 12:00 kernel: tea\n")))


@pytest.mark.parametrize(
    "part", [".TP\na\n.RS\n", "\\[", ".if n ", ".RE\n", ".Oo ", "\\w'", ".TS\n"]
)
def test_hostile_pages_end_soon(part: str) -> None:
    assert len(read_pairs(part * 3_000)) < 9_000


def test_strings_cannot_grow_without_end() -> None:
    names = "abcdefghijklmnopqrstuvwxyz"
    lines = [f".ds {b} \\*{a}\\*{a}\n" for a, b in pairwise(names)]

    assert len(read_pairs(".ds a tea\n" + "".join(lines) + "\\*z\n")[0][1]) < 1_000


def test_a_term_that_ends_with_an_ellipsis_stays_in_the_sentence_of_its_definition() -> None:
    text = '.IP "\\fB\\-i\\fR, \\fB\\-\\-install\\fR \\fIfile\\fR..." 4\nInstall it. Or do not.\n'

    assert read_pairs(text) == [("definition", "-i, --install file...: Install it. Or do not.")]
