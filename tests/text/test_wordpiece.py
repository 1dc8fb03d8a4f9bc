import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rejoinder.text.wordpiece import WordPiece, split_words

VOCABULARY = ["[UNK]", "play", "##ing", "##er", "p", "##l", "a", ".", "é"]


@pytest.fixture
def pieces() -> WordPiece:
    return WordPiece(VOCABULARY)


def test_the_longest_piece_is_taken_from_the_left(pieces: WordPiece) -> None:
    assert pieces.cut_text("Playing player pl.") == [(1, 2), (1, 3), (4, 5), (7,)]


def test_a_word_that_cannot_be_made_is_unknown_as_a_whole(pieces: WordPiece) -> None:
    assert pieces.cut_text("playx a") == [(0,), (6,)]


def test_a_word_beyond_the_limit_is_unknown(pieces: WordPiece) -> None:
    assert pieces.cut_text("p" + "l" * 99) == [(4, *[5] * 99)]
    assert pieces.cut_text("p" + "l" * 100) == [(0,)]


def test_remembered_words_are_cut_the_same(pieces: WordPiece) -> None:
    assert pieces.cut_text("playing playing") == [(1, 2), (1, 2)]


def test_nothing_has_no_words(pieces: WordPiece) -> None:
    assert pieces.cut_text(" \n") == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("naïve Straße", ["naive", "straße"]),
        ("e-mail's 3.5", ["e", "-", "mail", "'", "s", "3", ".", "5"]),
        ("75°C — “so”", ["75°c", "—", "“", "so", "”"]),
        ("a\x00b\u200bc\td", ["abc", "d"]),
        ("猫cat", ["猫", "cat"]),
        ("\u03a3\u0391\u03a3", ["\u03c3\u03b1\u03c3"]),
        ("\ud800a", ["a"]),
    ],
)
def test_words_are_split_like_berts(text: str, words: list[str]) -> None:
    assert split_words(text) == words


@given(st.text(st.characters(codec="ascii")))
def test_plain_text_is_split_the_same_on_both_paths(text: str) -> None:
    # The zero-width space sends the text down the slow path and is dropped there.
    assert split_words(text + "\u200b") == split_words(text)


def is_old(character: str) -> bool:
    """Whether a character has been the same since Unicode 3.2; libraries know newer ones or not."""
    since = unicodedata.ucd_3_2_0.category(character)
    return since != "Cn" and since == unicodedata.category(character)


@example("0\U0002b820")
@given(st.text(st.characters(exclude_categories=["Cs"]).filter(is_old)))
def test_words_agree_with_the_tokenizers_library(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    splitter = tokenizers.pre_tokenizers.BertPreTokenizer()

    expected = [word for word, _ in splitter.pre_tokenize_str(normalizer.normalize_str(text))]

    assert split_words(text) == expected
