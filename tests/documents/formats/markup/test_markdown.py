import io

import pytest

from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.documents.formats.markup.markdown import MAX_INLINE, read


def read_document(text: str) -> tuple[ExtractedDocument, list[Block]]:
    (document,) = read(io.BytesIO(text.encode()))
    return document, list(document.blocks)


def read_pairs(text: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in read_document(text)[1]]


def test_headings_give_path_anchor_and_line() -> None:
    text = "# Tea *time*\n\nHot.\n\nGreen tea?\n---\n\nCool.\n\n## Green tea?\n"
    document, blocks = read_document(text)

    assert document.title == "Tea time"
    assert blocks == [
        Block("heading", "Tea time", (), 1, anchor="tea-time"),
        Block("paragraph", "Hot.", ("Tea time",), 3, anchor="tea-time"),
        Block("heading", "Green tea?", ("Tea time",), 5, anchor="green-tea"),
        Block("paragraph", "Cool.", ("Tea time", "Green tea?"), 8, anchor="green-tea"),
        Block("heading", "Green tea?", ("Tea time",), 10, anchor="green-tea-1"),
    ]


def test_a_heading_may_name_its_anchor() -> None:
    _, (heading,) = read_document("# Brewing {#brew .wide}\n")

    assert (heading.text, heading.anchor) == ("Brewing", "brew")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Hot** _water_ and ~~milk~~", "Hot water and milk"),
        ("a [kettle](http://x.test 'k') and ![pot](p.png) <http://y.test>", "a kettle and http://y.test"),
        ("a [kettle][k].\n\n[k]: http://x.test", "a kettle."),
        ("run `tea --hot [^1]` &amp; wait", "run tea --hot [^1] & wait"),
        ("at <b>95</b> degrees<br>now", "at 95 degrees now"),
        ("2<sup>31</sup>, CO<sub>2</sub>, x<sup>a b</sup>", "2³¹, CO₂, x^(a b)"),
        ("Steep it.[^tea]", "Steep it."),
        ("[^tea]: Three minutes.", "Three minutes."),
        ("one\ntwo  \nthree", "one\ntwo\nthree"),
    ],
)  # fmt: skip
def test_inline_marks_are_removed(text: str, expected: str) -> None:
    assert read_pairs(text) == [("paragraph", expected)]


def test_list_items_and_their_further_paragraphs() -> None:
    text = "- one\n  more\n\n  next\n- [x] two\n    1. three\n\nafter\n"

    assert read_pairs(text) == [
        ("item", "one\nmore"),
        ("paragraph", "next"),
        ("item", "two"),
        ("item", "three"),
        ("paragraph", "after"),
    ]


def test_an_empty_item_leaves_the_next_paragraph_alone() -> None:
    assert read_pairs("-\n\nafter\n") == [("paragraph", "after")]


def test_a_table_of_contents_is_left_out() -> None:
    assert read_pairs("- [Tea](#tea)\n- [`Pot`](#pot)\n- [Shop](http://x.test)\n") == [
        ("item", "Shop")
    ]


def test_code_keeps_its_lines() -> None:
    text = "Run:\n\n```sh\n  boil\n    --hot  \n\n```\n\nor\n\n    steep\n"

    assert read_pairs(text) == [
        ("paragraph", "Run:"),
        ("code", "boil\n  --hot"),
        ("paragraph", "or"),
        ("code", "steep"),
    ]


def test_table_rows_carry_their_column_headings() -> None:
    text = "| Tea | **Price** |\n|---|--:|\n| Sencha | 3 |\n| Assam | |\n\n|A|\n|-|\n|1|\n"
    _, blocks = read_document(text)

    assert [(block.kind, block.text, block.line) for block in blocks] == [
        ("row", "Tea: Sencha; Price: 3", 3),
        ("row", "Tea: Assam", 4),
        ("row", "A: 1", 8),
    ]


def test_quotes_alerts_and_admonitions_are_paragraphs() -> None:
    text = (
        "> Quoted.\n\n> [!WARNING]\n> It is hot.\n\n"
        '!!! note "Milk"\n    Add it last.\n\n    Or not.\n\nAfter.\n\n:::tip\nStir.\n:::\n\n'
        "```\n:::\n```\n"
    )

    assert read_pairs(text) == [
        ("paragraph", "Quoted."),
        ("paragraph", "Warning: It is hot."),
        ("paragraph", "Milk:\nAdd it last."),
        ("paragraph", "Or not."),
        ("paragraph", "After."),
        ("paragraph", "Stir."),
        ("code", ":::"),
    ]


def test_definition_lists() -> None:
    assert read_pairs("*Oolong*\n: Between green and black.\n: Dear.\n\nAfter.\n") == [
        ("definition", "Oolong: Between green and black."),
        ("paragraph", "Dear."),
        ("paragraph", "After."),
    ]


def test_front_matter_gives_the_title_only() -> None:
    document, blocks = read_document("---\ndate: 2020\ntitle: 'All tea'\n---\n# Tea\n")

    assert document.title == "All tea"
    assert blocks == [Block("heading", "Tea", (), 5, anchor="tea")]


def test_a_line_at_the_beginning_is_no_front_matter() -> None:
    assert read_pairs("---\n\nTea is hot.\n\n---\n") == [("paragraph", "Tea is hot.")]


def test_html_blocks_give_their_visible_text() -> None:
    text = (
        "<div><h2>Tea</h2> It &lt;is&gt; <b>hot</b>.<!-- no --><style>p {}</style><li>Stir\n"
        "<table><tr><td>a</td><td>b</td></tr></table></div>\n\n<!-- never\n\nclosed\n"
    )

    assert read_pairs(text) == [
        ("heading", "Tea"),
        ("paragraph", "It <is> hot."),
        ("item", "Stir"),
        ("row", "a; b"),
    ]


def test_hostile_nesting_and_marks_end_soon() -> None:
    assert read_pairs(">" * 50_000 + "a") == []
    assert [kind for kind, _ in read_pairs("[" * 3 * MAX_INLINE)] == ["paragraph"]
    assert read_pairs("<div>\n" + "<!--" * 50_000) == []


def test_brackets_that_never_end_are_text() -> None:
    text = "[" * 300 + " It is *hot*."

    assert read_pairs(text) == [("paragraph", text)]


def test_blanks_in_a_title_take_linear_time() -> None:
    title = "Tea" + " " * 90_000 + "is hot"

    assert read_document(f"---\ntitle: {title} \n---\nIt is.\n")[0].title == "Tea is hot"


@pytest.mark.parametrize("mark", ["!!!", ":::"])
def test_blanks_after_the_mark_of_an_admonition_take_linear_time(mark: str) -> None:
    assert read_pairs(mark + " " * 20_000 + "note!\n") == [("paragraph", f"{mark} note!")]


def test_empty_quotes_in_quotes_take_linear_time() -> None:
    assert read_pairs("> > \nIt is hot.\n" * 5_000)[0] == ("paragraph", "It is hot.")
    assert read_pairs("> > > It is hot.\n\n" * 5_000)[-1] == ("paragraph", "It is hot.")
