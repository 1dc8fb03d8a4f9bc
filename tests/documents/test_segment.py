"""Blocks become sentences with offsets; code answers together with its lead-in."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.documents.blocks import KINDS, Block, Kind
from rejoinder.documents.parsed import SegmentedBlock
from rejoinder.documents.segment import MAX_BLOCK, segment
from rejoinder.text.sentences import MAX_SENTENCE

LEAD = Block("paragraph", "Passwords are kept in a file. To create it, type:")


def get_offered(blocks: list[SegmentedBlock]) -> list[str]:
    return [item.text for block in blocks for item in block.sentences if item.may_answer]


def test_offsets_count_in_the_gaps_and_texts_of_all_blocks() -> None:
    blocks = list(
        segment(
            [
                Block("heading", "Tea", gap="# "),
                Block("paragraph", "Tea is hot. It is green.", ("Tea",), line=3, gap="\n\n"),
            ]
        )
    )
    text = "".join(block.gap + block.text for block in blocks)

    sentences = [sentence for block in blocks for sentence in block.sentences]
    assert [text[item.start : item.end] for item in sentences] == [
        "Tea",
        "Tea is hot.",
        "It is green.",
    ]
    assert [item.position for item in sentences] == [0, 1, 2]
    assert [item.block for item in sentences] == [0, 1, 1]
    assert text == "# Tea\n\nTea is hot. It is green."


def test_code_answers_together_with_its_lead_in_and_keeps_its_lines() -> None:
    code = Block("code", "htpasswd -c passwords rbowen\nls -l passwords", line=7)

    (block,) = segment([LEAD, code])

    assert get_offered([block]) == [
        "Passwords are kept in a file.",
        "To create it, type:\nhtpasswd -c passwords rbowen\nls -l passwords",
    ]
    assert block.kind == "paragraph"


def test_code_without_a_lead_in_is_context() -> None:
    blocks = list(
        segment([Block("paragraph", "This is how it works on Linux."), Block("code", "make all")])
    )

    assert get_offered(blocks) == ["This is how it works on Linux."]
    assert [item.text for item in blocks[0].sentences] == [
        "This is how it works on Linux.",
        "make all",
    ]


def test_code_of_another_section_is_not_taken_in() -> None:
    blocks = list(segment([LEAD, Block("code", "make all", ("Install",))]))

    assert [block.kind for block in blocks] == ["paragraph", "code"]


def test_a_lead_in_takes_only_the_lines_that_fit() -> None:
    code = Block("code", "\n".join(f"option {number} is set" for number in range(200)), line=10)

    blocks = list(segment([LEAD, code]))

    offered = get_offered(blocks)[-1]
    assert offered.startswith("To create it, type:\noption 0 is set\n")
    assert len(offered) <= MAX_SENTENCE
    last = int(offered.rsplit("option ", 1)[1].split()[0])
    rest = blocks[0].sentences[2] if len(blocks[0].sentences) > 2 else blocks[1].sentences[0]
    assert rest.text.startswith(f"option {last + 1} is set")
    assert rest.line == 10 + last + 1


def test_lines_are_counted_inside_a_block() -> None:
    (block,) = segment([Block("paragraph", "Tea is hot.\r\nIt is\r\ngreen. So it is.", line=4)])

    assert [item.line for item in block.sentences] == [4, 5, 6]


def test_a_long_block_is_divided_between_sentences() -> None:
    text = " ".join(f"This is the sentence with number {number}." for number in range(200))

    blocks = list(segment([Block("paragraph", text, ("Tea",), anchor="tea")]))

    assert len(blocks) > 3
    assert all(len(block.text) <= MAX_BLOCK for block in blocks)
    assert all((block.path, block.anchor) == (("Tea",), "tea") for block in blocks)
    assert "".join(block.gap + block.text for block in blocks) == text


def test_empty_blocks_are_dropped() -> None:
    assert list(segment([Block("paragraph", "  "), Block("code", "")])) == []


@pytest.mark.parametrize("kind", ["heading", "row"])
def test_a_heading_or_row_is_one_sentence(kind: Kind) -> None:

    (block,) = segment([Block(kind, "Tea. Hot. 3 g")])

    assert [item.text for item in block.sentences] == ["Tea. Hot. 3 g"]


@given(
    st.lists(
        st.builds(
            Block,
            st.sampled_from(KINDS),
            st.text(st.characters(codec="utf-8"), max_size=200).map(lambda text: text * 20),
            gap=st.sampled_from([None, "", "\n\n", "- "]),
            line=st.none() | st.just(3),
        ),
        max_size=8,
    )
)
def test_nothing_is_lost_and_offsets_hold(given_blocks: list[Block]) -> None:
    blocks = list(segment(given_blocks))
    text = "".join(block.gap + block.text for block in blocks)

    kept = [block for block in given_blocks if block.text.strip()]
    assert "".join(text.split()) == "".join("".join((b.gap or "") + b.text for b in kept).split())
    end = 0
    for number, block in enumerate(blocks):
        assert block.number == number
        assert text[block.start : block.start + len(block.text)] == block.text
        for sentence in block.sentences:
            assert end <= sentence.start < sentence.end <= block.start + len(block.text)
            assert sentence.block == number
            end = sentence.end


def test_an_item_that_repeats_a_heading_of_its_document_is_context() -> None:
    contents = [
        Block("item", "How the queue works"),
        Block("item", "How the queue fills up"),
        Block("heading", "How the Queue Works."),
    ]

    assert get_offered(list(segment(contents))) == ["How the queue fills up"]


def test_code_below_the_term_of_a_definition_belongs_to_it() -> None:
    definition = Block("definition", "Solution: The preferred way is this:", ("Redirects",))
    code = Block("code", "Redirect permanent", ("Redirects", "Solution"))

    (block,) = segment([definition, code])

    assert get_offered([block]) == ["Solution: The preferred way is this:\nRedirect permanent"]
