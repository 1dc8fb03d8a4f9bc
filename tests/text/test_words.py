from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import UnknownNameError
from rejoinder.text.words import (
    WORD_SPLITTERS,
    get_word_splitter,
    normalise,
    normalise_words,
    split_spacy,
    split_whitespace,
    split_words,
)


def texts_of(text: str) -> list[str]:
    return [word.text for word in split_words(text)]


@pytest.mark.parametrize("name", WORD_SPLITTERS)
@given(text=st.text(max_size=60))
def test_offsets_locate_every_word(name: str, text: str) -> None:
    words = WORD_SPLITTERS[name](text)

    assert all(text[word.start : word.end] == word.text != "" for word in words)
    assert all(one.end <= other.start for one, other in pairwise(words))


@given(st.text())
def test_no_letter_or_digit_is_lost(text: str) -> None:
    covered = {place for word in split_words(text) for place in range(word.start, word.end)}

    assert all(place in covered for place, character in enumerate(text) if character.isalnum())


def test_punctuation_and_underscores_separate_words() -> None:
    assert texts_of("Dr. Smith's e-mail: a_b, 3.5 km!") == [
        *("Dr", "Smith", "s", "e", "mail", "a", "b", "3", "5", "km")
    ]


def test_accented_letters_and_combining_marks_stay_inside_a_word() -> None:
    assert texts_of("naïve cafe\u0301") == ["naïve", "cafe\u0301"]
    assert texts_of("नमस्ते दुनिया") == ["नमस्ते", "दुनिया"]


def test_each_ideograph_is_a_word() -> None:
    assert texts_of("猫がいる cat") == ["猫", "が", "い", "る", "cat"]


def test_the_fast_pattern_splits_like_the_general_one() -> None:
    """Latin, Greek and Cyrillic have a faster pattern; its words must be the same."""
    plain = "".join(f"{chr(code)} b{chr(code)}" for code in range(0x2FF))
    plain += "ξένος ѣ ҂ Ա – “quoted” 5€ ₂"

    assert texts_of(plain) == texts_of(f"{plain} cafe\u0301")[:-1]


def test_white_space_keeps_punctuation() -> None:
    assert [word.text for word in split_whitespace(" It's\u00a0here. ")] == ["It's", "here."]


def test_spacy_splits_off_punctuation_and_clitics() -> None:
    assert [word.text for word in split_spacy("It's  here.")] == ["It", "'s", "here", "."]


def test_words_are_compared_without_case_and_in_compatible_form() -> None:
    assert normalise("HOUSE") == "house"
    assert normalise("ﬁne") == "fine"
    assert normalise_words("The CAFÉ", split_words) == ("the", "café")


def test_words_of_sentences_are_cached_and_those_of_long_texts_are_not() -> None:
    short, long = "Tea is hot.", "Tea is hot. " * 100

    assert normalise_words(short, split_words) is normalise_words(short, split_words)
    assert normalise_words(long, split_words) == normalise_words(short, split_words) * 100
    assert normalise_words(long, split_words) is not normalise_words(long, split_words)


@given(st.text(max_size=20) | st.text(st.characters(codec="ascii"), max_size=20))
def test_normalised_words_are_the_words_normalised(text: str) -> None:
    words = tuple(normalise(word.text) for word in split_words(text))

    assert normalise_words(text, split_words) == words


@given(st.text(max_size=20))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_an_unknown_splitter_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'whitespac'; did you mean 'whitespace'\?"):
        get_word_splitter("whitespac")
