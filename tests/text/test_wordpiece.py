import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rejoinder.text.wordpiece import WordPiece, pretokenize

VOCABULARY = ["[UNK]", "play", "##ing", "##er", "p", "##l", "a", ".", "é"]


@pytest.fixture
def tokenizer() -> WordPiece:
    return WordPiece(VOCABULARY)


def test_the_longest_token_is_taken_from_the_left(tokenizer: WordPiece) -> None:
    assert tokenizer.tokenize("Playing player pl.") == [(1, 2), (1, 3), (4, 5), (7,)]


def test_a_word_outside_the_vocabulary_is_one_unknown_token(tokenizer: WordPiece) -> None:
    assert tokenizer.tokenize("playx a") == [(0,), (6,)]


def test_a_word_beyond_the_limit_is_unknown(tokenizer: WordPiece) -> None:
    assert tokenizer.tokenize("p" + "l" * 99) == [(4, *[5] * 99)]
    assert tokenizer.tokenize("p" + "l" * 100) == [(0,)]


def test_cached_words_have_the_same_tokens(tokenizer: WordPiece) -> None:
    assert tokenizer.tokenize("playing playing") == [(1, 2), (1, 2)]


def test_white_space_has_no_words(tokenizer: WordPiece) -> None:
    assert tokenizer.tokenize(" \n") == []


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
    assert pretokenize(text) == words


@given(st.text(st.characters(codec="ascii")))
def test_plain_text_is_split_the_same_on_both_paths(text: str) -> None:
    # The zero-width space sends the text down the slow path and is dropped there.
    assert pretokenize(text + "\u200b") == pretokenize(text)


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

    assert pretokenize(text) == expected
