import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.text import sentences
from rejoinder.text.sentences import (
    MAX_SENTENCE,
    MAX_WORDS,
    fold_lines,
    split_prose,
    split_sentences,
)

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


def prose(text: str) -> list[str]:
    return [text[start:end] for start, end in split_prose(text)]


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


@given(st.one_of(st.text(), st.lists(PIECES).map("".join), st.text("ab. \n,", min_size=1000)))
def test_prose_loses_only_white_space(text: str) -> None:
    place = 0
    for start, end in split_prose(text):
        assert not text[place:start].strip()
        assert text[start:end] == text[start:end].strip()
        assert start < end <= start + MAX_SENTENCE
        place = end
    assert not text[place:].strip()


@pytest.mark.parametrize(
    "sentence",
    [
        "Please send the .changes file to us.",
        "It targets .NET Core.",
        "Then run ./configure in it.",
        "All *.Tar files are in .git/config now.",
        "See e.g. Fig. 3, No. 5, Eq. 5 and vol. 2 of it.",
        "It takes approx. 5 litres, i.e. a bucket vs. a cup.",
        "Use version 3.2.1 of Node.js with named.conf here.",
        "Look at https://example.org/a.b?c=D.E for it.",
        "He said `a. b` and `Foo. Bar` twice.",
        "Now what... then it went on… and on.",
        "Derive from unittest.TestCase there.",
        "Type cmake --build . -t all there.",
        "The find_...() commands are here.",
        "It is called models.<Foo>Constraint there.",
        "The ! (Not) sign is read.",
        "1. Mix it.",
        "It was so.[citation needed]",
        "It was so.:33, 34",
    ],
)
def test_a_sentence_stays_whole(sentence: str) -> None:
    assert prose(sentence) == [sentence]
    assert prose(f"It rained. {sentence} It snowed.") == ["It rained.", sentence, "It snowed."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It works.The next one.", ["It works.", "The next one."]),
        ("It has no. 5 people came.", ["It has no. 5 people came."]),
        ("Tea etc. The rest.", ["Tea etc.", "The rest."]),
        (
            "See it. (It is not in the house.) Go on.",
            ["See it.", "(It is not in the house.)", "Go on."],
        ),
        ("See a thing (in the house etc.) Go.", ["See a thing (in the house etc.) Go."]),
        ("Oui ! Bien.", ["Oui !", "Bien."]),
    ],
)
def test_doubtful_cuts(text: str, expected: list[str]) -> None:
    assert prose(text) == expected


def test_text_without_punctuation_is_cut_at_words() -> None:
    pieces = prose("so we " * 200)

    assert [len(piece.split()) for piece in pieces] == [MAX_WORDS] * 6 + [40]


def test_text_without_punctuation_is_cut_at_lines_and_clauses() -> None:
    lines = ["we went up the hill and saw a house", "then we came down again and it rained"] * 20
    assert all(piece.endswith(("house", "rained")) for piece in prose("\n".join(lines)))
    assert all(piece.endswith(",") for piece in prose("we went up and saw it, " * 60)[:-1])


def test_a_long_sentence_with_punctuation_stays_whole_up_to_the_limit() -> None:
    sentence = "It was so " + "and so " * 80 + "on."
    assert prose(sentence) == [sentence]

    assert all(
        len(piece.split()) <= MAX_WORDS for piece in prose("It was " + "and so " * 200 + "on.")
    )
    assert [len(piece) for piece in prose("x" * 2500)] == [1000, 1000, 500]


def test_sentences_inside_an_open_quote_are_cut_at_their_ends() -> None:
    text = "He said, \u2018it is so. " + "It is a very long story about tea. " * 60

    assert all(piece.endswith(".") for piece in prose(text))


def test_text_longer_than_a_window_is_cut_at_its_sentences_only() -> None:
    text = "The tea, i.e. the leaf of a bush, is hot. " * 500

    assert set(prose(text)) == {"The tea, i.e. the leaf of a bush, is hot."}


def test_code_is_one_sentence() -> None:
    assert split("Run:\n\n    do. B. C = 5\n    d(e)\n") == ["Run:", "do. B. C = 5\n    d(e)"]
    assert all(len(piece) <= MAX_SENTENCE for piece in split("```\n" + "x = y;\n" * 400 + "```"))


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("The inter-\n  net is  old.", "The internet is old."),
        ("The inter-\r\nnet", "The internet"),
        ("a well-\nknown, non-\nlocal e-\nmail", "a well-known, non-local e-mail"),
        ("the Franco-\nPrussian 1-\n2 war--\nthen", "the Franco- Prussian 1- 2 war-- then"),
        ("a per-desti-\nnation limit", "a per-destination limit"),
    ],
)
def test_words_hyphenated_at_line_ends_are_joined(text: str, folded: str) -> None:
    assert fold_lines(text) == folded
    assert [item.extract(text) for item in split_sentences(text)] == [folded]


def test_numbers_after_a_colon_take_linear_time() -> None:
    # They may be notes, as in "so it is.12,13"; a long number can be divided in many ways.
    text = "tea " * 30 + ": " + "9" * 50 + "x"

    assert split_prose(text) == [(0, len(text))]
