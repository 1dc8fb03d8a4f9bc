import csv
import io

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.markup import rst
from rejoinder.documents.formats.markup.asciidoc import read


def read_document(text: str) -> tuple[ExtractedDocument, list[Block]]:
    (document,) = read(io.BytesIO(text.encode()))
    return document, list(document.blocks)


def read_pairs(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read_document(text)[1]]


def test_headings_attributes_and_anchors() -> None:
    text = (
        "= Teas\nAnn Lee <a@x.test>\n:leaf: green\n\nHot {leaf} tea.\n\n== Brewing it\n\n"
        "[[pot-id]]\n=== The pot\n\n[#cup]\n== Cup\n\nSmall.\n"
    )
    document, blocks = read_document(text)

    assert document.title == "Teas"
    assert blocks == [
        Block("heading", "Teas", (), 1),
        Block("paragraph", "Hot green tea.", ("Teas",), 5),
        Block("heading", "Brewing it", ("Teas",), 7, anchor="_brewing_it"),
        Block("heading", "The pot", ("Teas", "Brewing it"), 10, anchor="pot-id"),
        Block("heading", "Cup", ("Teas",), 13, anchor="cup"),
        Block("paragraph", "Small.", ("Teas", "Cup"), 15, anchor="cup"),
    ]


def test_underlined_headings() -> None:
    text = "tea(1)\n======\n\nNAME\n----\ntea - hot\n\nUse\n~~~\n"
    _, blocks = read_document(text)

    assert [(block.kind, block.text, block.path) for block in blocks] == [
        ("heading", "tea(1)", ()),
        ("heading", "NAME", ("tea(1)",)),
        ("paragraph", "tea - hot", ("tea(1)", "NAME")),
        ("heading", "Use", ("tea(1)", "NAME")),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*Hot* _green_ #tea# and **b**old, *_both_*", "Hot green tea and bold, both"),
        ("run `tea *x* <<y>>` or `+{x}+`", "run tea *x* <<y>> or {x}"),
        ("link:x.html[the pot], https://x.test[shop^], https://y.test", "the pot, shop, https://y.test"),
        ("<<pot,the pot>>, <<cup>>, xref:a.adoc#b[see b]", "the pot, cup, see b"),
        ("2^31^ and H~2~O in ~/tea", "2³¹ and H₂O in ~/tea"),
        ("tea.footnote:[hidden] image:x.png[pot] kbd:[Ctrl]", "tea. Ctrl"),
        ("menu:File[Save] btn:[OK]", "File > Save OK"),
        ("((tea)) is(((hidden,x))) [[id]]hot", "tea is hot"),
        ("\"`hot`\" ``tea'' '`x`'", "“hot” “tea” \u2018x’"),
        ("linkgit:git-log[1] &#64; \\*x* {cpp} {unknown}", "git-log(1) @ *x* C++ {unknown}"),
        ("one +\ntwo", "one two"),
        ("2 * 3 * 4 and tea_pot_lid", "2 * 3 * 4 and tea_pot_lid"),
        ("WARNING: It is\nhot.", "Warning: It is hot."),
    ],
)  # fmt: skip
def test_inline_marks_are_removed(text: str, expected: str) -> None:
    assert read_pairs(text) == [("paragraph", expected)]


def test_code_blocks() -> None:
    text = (
        "Run:\n\n[source,sh]\n----\nboil <1>\n  --hot // <2>\n----\n<1> Heat it.\n\n"
        "....\n= no\n....\n\n"
        "```sh\nstir\n```\n\n  indented\n    more\n\nEnd.\n"
    )
    _, blocks = read_document(text)

    assert [(block.kind, block.text, block.line) for block in blocks] == [
        ("paragraph", "Run:", 1),
        ("code", "boil\n  --hot", 5),
        ("item", "Heat it.", 8),
        ("code", "= no", 11),
        ("code", "stir", 15),
        ("code", "indented\n  more", 18),
        ("paragraph", "End.", 21),
    ]


def test_lists() -> None:
    text = "* one\nmore\n** two\n+\nattached\n\n. three\n1. four\n- [x] five\n\nAfter.\n"

    assert read_pairs(text) == [
        ("item", "one more"),
        ("item", "two"),
        ("paragraph", "attached"),
        ("item", "three"),
        ("item", "four"),
        ("item", "five"),
        ("paragraph", "After."),
    ]


def test_definitions() -> None:
    text = "-a::\n--all::\n    Everything.\n+\nReally.\n\nkind::: Inner\n\n`b`:: Black.\n\nAfter.\n"
    _, blocks = read_document(text)

    assert [(block.kind, block.text, block.path, block.line) for block in blocks] == [
        ("definition", "-a, --all: Everything.", (), 1),
        ("paragraph", "Really.", ("-a, --all",), 5),
        ("definition", "kind: Inner", ("-a, --all",), 7),
        ("definition", "b: Black.", (), 9),
        ("paragraph", "After.", (), 11),
    ]


def test_containers_are_text_and_the_rest_is_left_out() -> None:
    text = (
        "// comment\n////\nhidden\n////\n\ninclude::x.adoc[]\nimage::x.png[pot]\nifdef::x[]\n"
        "Shown.\n"
        "endif::[]\n\n++++\n<b>hidden</b>\n++++\n\n.The title\n[NOTE]\n====\nNoted.\n====\n\n"
        "'''\n\n"
        "--\nOpen.\n--\n"
    )

    assert read_pairs(text) == [
        ("paragraph", "Shown."),
        ("caption", "The title"),
        ("paragraph", "Noted."),
        ("paragraph", "Open."),
    ]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("|===\n|Tea |Price\n\n|Sencha |3\n|*Assam*\n|\n|===\n", [4, 5]),
        ('[cols="1,1",options="header"]\n|===\n|Tea\n|Price\n|Sencha\n|3\n|Assam|\n|===\n', [5, 7]),
        ("[%header,cols=2*]\n|===\n|Tea|Price|Sencha|3\n2+|Assam\n|===\n", [3, 4]),
        ("[%header]\n,===\nTea,Price\nSencha,3\nAssam,\n,===\n", [4, 5]),
    ],
)
def test_tables_become_rows_with_column_headings(text: str, lines: list[int]) -> None:
    _, blocks = read_document(text + "\nEnd.\n")

    assert [(block.kind, block.text) for block in blocks] == [
        ("row", "Tea: Sencha; Price: 3"),
        ("row", "Tea: Assam"),
        ("paragraph", "End."),
    ]
    assert [block.line for block in blocks[:2]] == lines


def test_cells_go_on_over_lines() -> None:
    assert read_pairs("|===\n|a |b\\|c\na|d\nmore |e\n|===\n") == [
        ("row", "a; b|c"),
        ("row", "d more; e"),
    ]


@pytest.mark.parametrize(
    "text", [",===\na,b\n{},c\n,===\n\nEnd.\n", ".. csv-table::\n\n   a,b\n   {},c\n\nEnd.\n"]
)
def test_an_endless_csv_cell_ends_the_table(text: str) -> None:
    reader = rst.read if text.startswith("..") else read
    limit = csv.field_size_limit(100)
    try:
        (document,) = reader(io.BytesIO(text.format("x" * 200).encode()))
        texts = [block.text for block in document.blocks]
    finally:
        csv.field_size_limit(limit)

    assert texts == ["a; b", "End."]


def test_a_block_without_end_is_closed_by_the_end_of_the_file() -> None:
    assert read_pairs("----\nboil\n") == [("code", "boil")]
    assert read_pairs("|===\n|a\n") == [("row", "a")]


def test_columns_that_are_not_given_are_those_of_the_first_row() -> None:
    assert read_pairs('[cols=""]\n|===\n|a |b\n|c |d\n|===\n') == [("row", "a; b"), ("row", "c; d")]


def test_blanks_and_brackets_in_code_take_linear_time() -> None:
    code = "boil" + " " * 20_000 + "<1>" * 5_000 + "x"

    assert read_pairs(f"----\n{code}\n----\n") == [("code", code)]


def test_blanks_in_a_heading_take_linear_time() -> None:
    assert read_pairs(f"== Hot{' ' * 100_000}tea ==\n") == [("heading", "Hot tea")]
