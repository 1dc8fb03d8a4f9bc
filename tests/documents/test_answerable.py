import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.documents.answerable import may_answer
from rejoinder.documents.blocks import KINDS, Kind

SENTENCE = "The server listens on port 80."


@pytest.mark.parametrize("kind", KINDS)
def test_headings_and_code_never_answer(kind: Kind) -> None:
    assert may_answer(kind, SENTENCE) == (kind not in ("heading", "code"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Run make install as root.",
        "Then it works again.",
        "You need two cups.",
        "We've two of them.",
        "He died in 1259.",
        "The city straddles the river.",
        "Half of the crew drowned.",
        "If it is set, the older value is used (see below).",
        "(It is not in the house.)",
        "Type the following: make install",
        "It was built in 1066.[citation needed]",
        "A very small and quite old house of the last king of Spain.",
        "猫は部屋の中で寝ています。",
        "Die Katze schläft auf dem Sofa.",
        "Le chat dort sur le canapé.",
        "Кошка спит на старом диване",
        "Hunden sover tungt bakom huset varje kall vinternatt",
    ],
)
def test_sentences_answer(sentence: str) -> None:
    assert may_answer("paragraph", sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "Yes.",
        "Run make.",
        "Run make install.",  # under four words
        "Is it set to the right value?",
        'He asked, "Is it set to the right value?"',
        "Is it set (as it should be?)",
        "Is it set to the right value?[citation needed]",
        "これは正しい値に設定されていますか？",
        "Use the following command to build the server:",
        "Why this is set to the right value ¶",
        "The old house of the king",
        "The new Django release notes",
        "Configuring the web server",
        "The find_package() integration guide",
        "Introduction to the server is here ........ 3",
        "Chapter one is here . . . . . 3",
        "Skip to main content",
        "Go to the next page",
        "Home | Documents we have | Search it",
        "Docs » Using it » Release 5 is out",
        "Copyright © 2020 by Some One, who has all rights.",
        "(c) 2020 Some One has it.",
        "See also: the manual that is here",
        "Page 3 of 10 pages",
        "Monday, 4 June 2022, 10:15 am",
        "https://example.org/a is https://example.org/b x https://example.org/c",
        "/usr/bin /usr/lib /etc/x C:\\a",
        "1 2 3 4 5 6",
        "const char *find(int is_open, char *name);",
        "猫がいる。",
        "It is so " * 130,
    ],
)
def test_other_text_does_not_answer(sentence: str) -> None:
    assert not may_answer("paragraph", sentence)


@pytest.mark.parametrize("kind", ["item", "row", "definition"])
def test_listed_text_needs_no_verb_but_three_words(kind: Kind) -> None:
    assert may_answer(kind, "Default: KeepAliveTimeout 5")
    assert may_answer(kind, "Name: tea; Price: 2 euros")
    assert not may_answer(kind, "KeepAliveTimeout 5")
    assert not may_answer(kind, "640 480 1024")
    assert not may_answer(kind, "Previous Next Up")
    assert not may_answer(kind, "Which one is it?")
    assert not may_answer("caption", "Default: KeepAliveTimeout 5")


def test_bars_separate_the_cells_of_a_row() -> None:
    assert may_answer("row", "| tea | 2 euros | hot |")
    assert not may_answer("item", "| tea | 2 euros | hot |")


def test_a_lead_in_answers_together_with_its_code() -> None:
    assert may_answer("paragraph", "To stop the server, type: kill $(cat pid);")
    assert may_answer("paragraph", "To name the services, write:\nservices:\n  web:")
    assert may_answer("paragraph", "Draw it:\nx | y | z\n...........\nis it ok")
    assert not may_answer("paragraph", "Input:\nx = 5;")
    assert not may_answer("paragraph", "The program asks you this:\nWhere to?")


@given(st.sampled_from(KINDS), st.text())
def test_any_text_is_decided(kind: Kind, sentence: str) -> None:
    accepted = may_answer(kind, sentence)

    assert not accepted or (len(sentence) <= 1000 and not sentence.endswith("?"))


def test_an_unknown_verb_counts_only_in_a_finished_sentence() -> None:
    assert may_answer("paragraph", "The moon orbits the earth.")
    assert not may_answer("paragraph", "The moon orbits the earth")
