import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.text import sentences
from rejoinder.text.sentences import split_sentences

PIECES = st.sampled_from(
    [
        "Dr. Who. ",
        "A b. ",
        "\n",
        "\n\n",
        "- x",
        "1. ",
        "L\u00a0. ",
        "\u2003",
        "# T\n",
        "---",
        "|a|b|\n",
        "é",
        "猫。",
        "\r\n",
        " ",
    ]
)


def split(text: str) -> list[str]:
    return [text[sentence.start : sentence.end] for sentence in split_sentences(text)]


@given(st.one_of(st.text(), st.lists(PIECES).map("".join)))
def test_sentences_and_the_gaps_between_them_make_up_the_text(text: str) -> None:
    sentences = split_sentences(text)

    rebuilt, place = "", 0
    for sentence in sentences:
        assert place <= sentence.start < sentence.end
        rebuilt += text[place : sentence.start] + text[sentence.start : sentence.end]
        place = sentence.end
    assert rebuilt + text[place:] == text


@given(st.text(st.characters(categories=["L", "Zs", "P", "Cs"])))
def test_only_marks_have_letters_outside_a_sentence(text: str) -> None:
    covered = {place for s in split_sentences(text) for place in range(s.start, s.end)}
    outside = "".join(character for place, character in enumerate(text) if place not in covered)

    # "a)" and "b." may begin a list item; nothing else that can be read is left out.
    assert sum(character.isalpha() for character in outside) <= 1


@given(st.text())
def test_sentences_are_trimmed(text: str) -> None:
    assert all(piece == piece.strip() for piece in split(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Dr. Smith Jr. lives in the U.S. He is old.",
            ["Dr. Smith Jr. lives in the U.S.", "He is old."],
        ),
        ("It costs 3.50 dollars. Cheap!", ["It costs 3.50 dollars.", "Cheap!"]),
        ('He said "no." Then he left.', ['He said "no."', "Then he left."]),
        ("See e.g. Fig. 3 for it. Done.", ["See e.g. Fig. 3 for it.", "Done."]),
        ("Who? Me! Yes…", ["Who?", "Me!", "Yes…"]),
        ("A line that goes\non here. Next.", ["A line that goes\non here.", "Next."]),
    ],
)
def test_prose(text: str, expected: list[str]) -> None:
    assert split(text) == expected


def test_list_items_are_separate_and_lose_their_marks() -> None:
    text = "You need:\n- flour\n* water, i.e. from a tap. Cold.\n1. Mix.\n2) Wait\n   a day\n"

    assert split(text) == [
        "You need:",
        "flour",
        "water, i.e. from a tap.",
        "Cold.",
        "Mix.",
        "Wait\n   a day",
    ]


@pytest.mark.parametrize(
    "text",
    ["# Tea\nIt is hot.", "Tea\n===\nIt is hot.", "Tea\n\nIt is hot.", "Tea\r\n\r\nIt is hot."],
)
def test_headings_are_separate_and_flagged(text: str) -> None:
    heading, sentence = split_sentences(text)

    assert heading.is_heading
    assert heading.extract(text) == "Tea"
    assert not sentence.is_heading
    assert sentence.extract(text) == "It is hot."


def test_a_question_or_a_long_line_is_not_a_heading() -> None:
    text = "How hot is it?\n\n" + "word " * 13 + "\n"

    assert [sentence.is_heading for sentence in split_sentences(text)] == [False, False]


def test_rules_and_table_borders_are_skipped() -> None:
    assert split("One.\n\n---\n\n| a | b |\n|---|---|\n| 1 | 2 |\n") == [
        "One.",
        "| a | b |",
        "| 1 | 2 |",
    ]


def test_other_languages_are_split_by_their_punctuation() -> None:
    assert split("猫がいる。犬もいる。") == ["猫がいる。", "犬もいる。"]
    assert split("Die Katze schläft. Der Hund auch.") == ["Die Katze schläft.", "Der Hund auch."]
    assert len(split("नमस्ते। कैसे हो?")) == 2


def test_a_lone_surrogate_does_no_harm() -> None:
    assert split("An odd \ud800 sign. Next.") == ["An odd \ud800 sign.", "Next."]


def test_line_breaks_inside_a_sentence_become_spaces() -> None:
    text = "One\n  two."

    assert [sentence.extract(text) for sentence in split_sentences(text)] == ["One two."]


def test_empty_text_has_no_sentences() -> None:
    assert split("") == split(" \n\t\n ") == []


@pytest.mark.parametrize("space", ["\u00a0", "\u2003", "\u3000", "\u2028", "\x85"])
def test_white_space_of_several_bytes_is_white_space(space: str) -> None:
    text = f"See chapter L{space}{space}. Dr.{space}Smith wrote it. It{space}rained."

    assert "It rained." in [item.extract(text) for item in split_sentences(text)]


def test_a_block_that_makes_the_splitter_panic_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class PanicException(BaseException):
        pass

    def panic(language: str, text: str) -> None:
        raise PanicException(language, text)

    monkeypatch.setattr(sentences, "get_sentence_boundaries", panic)

    text = "It rains. It pours."
    assert [item.extract(text) for item in split_sentences(text)] == [text]
