import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.text.blocks import find_blocks

PIECES = st.sampled_from(
    [
        "Word. ",
        "\n",
        "\n\n",
        "    code()",
        "\t",
        "```\n",
        "~~~\n",
        "# T\n",
        "===\n",
        "---\n",
        "|a|b|\n",
        "- x",
        "1. ",
        "2.1 Name\n",
        "NAME\n",
        "\r\n",
        "\r",
        "a    b",
        "\u00a0",
        "猫。",
    ]
)


def blocks(text: str) -> list[tuple[str, str]]:
    return [(block.kind, text[block.start : block.end]) for block in find_blocks(text)]


def levels(text: str) -> list[int]:
    return [block.level for block in find_blocks(text) if block.kind == "heading"]


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_blocks_are_trimmed_and_in_order(text: str) -> None:
    place = 0
    for block in find_blocks(text):
        assert place <= block.start < block.end
        content = text[block.start : block.end]
        assert content == content.strip()
        assert (block.kind == "heading") == bool(block.level)
        place = block.end


@given(st.lists(PIECES).map("".join))
def test_only_marks_are_outside_of_blocks(text: str) -> None:
    covered = {place for block in find_blocks(text) for place in range(block.start, block.end)}
    outside = "".join(character for place, character in enumerate(text) if place not in covered)

    assert not any(character.isalpha() for character in outside)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_are_known(newline: str) -> None:
    text = newline.join(["Tea", "===", "", "It is", "hot.", "", "- one", "- two"])

    assert blocks(text) == [
        ("heading", "Tea"),
        ("paragraph", f"It is{newline}hot."),
        ("item", "one"),
        ("item", "two"),
    ]


def test_marks_give_headings_their_levels() -> None:
    assert levels("Tea\n===\n\nGreen\n---\n\n# A\n\n### B ###\n\nSmall\n~~~") == [1, 2, 1, 3, 3]
    assert levels("1. Tea\n\nIt is hot.\n\n1.2 Green\n\nIt is green.\n\n3.2.1. Why is it?") == [
        1,
        2,
        3,
    ]


def test_headings_without_marks_are_below_those_with_marks() -> None:
    marked, capitals, title, below = levels(
        "###### A\n\nTHE NAME\n\nGreen tea\n\n  Black tea\n\nIt is."
    )

    assert marked < capitals < title < below


def test_numbered_lines_one_after_the_other_are_a_list() -> None:
    assert blocks("1. Flour\n\n2. Water\n\nMix it.")[0] == ("item", "Flour")


def test_a_centred_line_stands_above_other_titles() -> None:
    text = " " * 35 + "Green Tea\n\nLeaves\n\n   They are green.\n"

    centred, other = levels(text)
    assert centred == 1 < other


@pytest.mark.parametrize(
    "line",
    [
        "How hot is it?",
        "It is hot.",
        "and so we went to the shop again",
        "See https://example.org/tea",
        "~/.tearc",
        "someone@example.org",
        "Copyright 2020 Some One",
        "Introduction ........ 3",
        "word " * 13,
        "x" * 300,
        "1234",
    ],
)
def test_other_lines_are_no_headings(line: str) -> None:
    assert levels(f"{line}\n\nIt is hot.") == []


def test_capitals_above_text_are_a_heading() -> None:
    assert blocks("NAME\n    tea - make tea\n") == [
        ("heading", "NAME"),
        ("paragraph", "tea - make tea"),
    ]
    assert blocks("IT IS A\nVERY LOUD TEXT.") == [("paragraph", "IT IS A\nVERY LOUD TEXT.")]


def test_fenced_code_is_code_and_a_fence_without_an_end_is_not() -> None:
    text = "Run:\n```sh\nmake\n\nmake install\n```\nThen wait."
    assert blocks(text) == [
        ("paragraph", "Run:"),
        ("code", "make\n\nmake install"),
        ("paragraph", "Then wait."),
    ]
    assert blocks("Run:\n~~~\n  make\n~~~\n")[1] == ("code", "make")
    assert blocks("Run:\n\n```\nmake it now.")[1] == ("paragraph", "make it now.")
    assert blocks("Use ``` to quote.\n\nIt works.\n\n```\nx\n```\n")[0][0] == "paragraph"


def test_indented_code_is_code() -> None:
    text = "Run:\n\n    make all\n\n    sudo make install\n\nThen wait.\n\n\tx = f(y)\n"

    assert blocks(text) == [
        ("paragraph", "Run:"),
        ("code", "make all\n\n    sudo make install"),
        ("paragraph", "Then wait."),
        ("code", "x = f(y)"),
    ]


def test_code_below_a_colon_needs_less_indentation() -> None:
    assert blocks("Run this:\n\n  make all\n")[1] == ("code", "make all")
    assert blocks("Run this.\n\n  make all\n")[1] == ("heading", "make all")
    assert blocks("- Run this:\n\n  - one\n\n  It is in this file:\n\n    a.conf\n")[3] == (
        "code",
        "a.conf",
    )
    assert blocks("- One.\n\n  Very good\n")[1] == ("paragraph", "Very good")


def test_indented_prose_is_not_code() -> None:
    prose = "          It was a dark night, and the\n          rain fell on the roof.\n"
    assert blocks(f"{prose}\n{prose}")[1][0] == "paragraph"
    assert blocks("    (Set x=y and z[0] as you like.)")[0][0] == "paragraph"
    assert blocks("    Это предложение написано по-русски.")[0][0] == "paragraph"
    assert blocks("- An item.\n\n    make all\n")[1][0] != "code"
    assert blocks("    x f(y)\n\n        It sets the colour of the paper.\n")[0][0] == "heading"


def test_a_term_and_its_definition_are_one_block() -> None:
    text = "Strength\n    How much you\n    can carry.\n"
    (block,) = find_blocks(text)
    assert (block.kind, text[block.start : block.term_end]) == ("definition", "Strength")

    text = "  -v  be loud, and tell\n      everything.\n"
    (block,) = find_blocks(text)
    assert (block.kind, text[block.start : block.term_end]) == ("definition", "-v")

    text = "  colour=NAME\n\n     It sets the colour of the paper.\n"
    (block,) = find_blocks(text)
    assert (block.kind, text[block.start : block.term_end]) == ("definition", "colour=NAME")
    assert blocks(text.replace("colour=NAME", "The colours"))[0] == ("heading", "The colours")

    assert blocks("We saw that\n    it was so.\nThen it rained.")[0][0] == "paragraph"
    assert blocks("You need:\n  water and a cup of tea")[0][0] == "paragraph"


def test_rows_have_bars_columns_or_time_stamps() -> None:
    assert [kind for kind, _ in blocks("| a | b |\n|---|---|\n| 1 | 2 |")] == ["row", "row"]
    assert blocks("Name      Price\nTea       2 euros\n          a cup\nMilk      1 euro") == [
        ("row", "Name      Price"),
        ("row", "Tea       2 euros\n          a cup"),
        ("row", "Milk      1 euro"),
    ]
    log = "2024-05-06 07:08:09 started\n  as usual\n2024-05-06 07:08:10 stopped"
    assert blocks(log)[0] == ("row", "2024-05-06 07:08:09 started\n  as usual")


def test_page_headers_are_in_no_block() -> None:
    text = "It rained on the\n\n\nTea Guide             6\n\n\n\nroof of the house."

    assert [content for _, content in blocks(text)] == ["It rained on the", "roof of the house."]
    assert ("row", "Total                10") in blocks("Sum.\n\nTotal                10\n\nEnd.")


@pytest.mark.parametrize(
    "text",
    [
        " " * 300_000,
        "\n" * 300_000,
        "   \n" * 100_000,
        "```x\n" * 60_000,
        "~~~\n```a\n" * 40_000,
        "a" * 300_000,
        "- a\n" * 70_000,
        "    a\n\n" * 40_000,
        "A b  " * 60_000,
    ],
)
def test_hostile_text_takes_linear_time(text: str) -> None:
    start = time.process_time()
    for _ in find_blocks(text):
        pass
    assert time.process_time() - start < 5
