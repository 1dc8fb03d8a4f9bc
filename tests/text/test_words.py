from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.errors import UnknownNameError
from rejoinder.text.words import (
    CUTS,
    cut_at_whitespace,
    cut_like_spacy,
    cut_words,
    get_cut,
    list_normalised,
    normalise,
)


def texts_of(text: str) -> list[str]:
    return [word.text for word in cut_words(text)]


@pytest.mark.parametrize("name", CUTS)
@given(text=st.text(max_size=60))
def test_every_word_stands_where_it_says(name: str, text: str) -> None:
    words = CUTS[name](text)

    assert all(text[word.start : word.end] == word.text != "" for word in words)
    assert all(one.end <= other.start for one, other in pairwise(words))


@given(st.text())
def test_no_letter_or_digit_is_lost(text: str) -> None:
    covered = {place for word in cut_words(text) for place in range(word.start, word.end)}

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


def test_a_text_without_marks_is_cut_as_one_with_them() -> None:
    """Latin, Greek and Cyrillic have a faster pattern of their own: it must not be noticed."""
    plain = "".join(f"{chr(code)} b{chr(code)}" for code in range(0x2FF))
    plain += "ξένος ѣ ҂ Ա – “quoted” 5€ ₂"

    assert texts_of(plain) == texts_of(f"{plain} cafe\u0301")[:-1]


def test_white_space_keeps_punctuation() -> None:
    assert [word.text for word in cut_at_whitespace(" It's\u00a0here. ")] == ["It's", "here."]


def test_spacy_cuts_off_punctuation_and_clitics() -> None:
    assert [word.text for word in cut_like_spacy("It's  here.")] == ["It", "'s", "here", "."]


def test_words_are_compared_without_case_and_in_compatible_form() -> None:
    assert normalise("HOUSE") == "house"
    assert normalise("ﬁne") == "fine"
    assert list_normalised("The CAFÉ", cut_words) == ("the", "café")


def test_words_of_sentences_are_kept_and_those_of_long_texts_are_not() -> None:
    short, long = "Tea is hot.", "Tea is hot. " * 100

    assert list_normalised(short, cut_words) is list_normalised(short, cut_words)
    assert list_normalised(long, cut_words) == list_normalised(short, cut_words) * 100
    assert list_normalised(long, cut_words) is not list_normalised(long, cut_words)


@given(st.text(max_size=20) | st.text(st.characters(codec="ascii"), max_size=20))
def test_a_list_of_words_is_each_in_its_compared_form(text: str) -> None:
    words = tuple(normalise(word.text) for word in cut_words(text))

    assert list_normalised(text, cut_words) == words


@given(st.text(max_size=20))
def test_normalising_twice_changes_nothing(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)


def test_an_unknown_way_to_cut_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'whitespac'; did you mean 'whitespace'\?"):
        get_cut("whitespac")
