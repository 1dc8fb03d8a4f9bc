import pytest

from rejoinder.text.verbs import has_verb, may_have_verb


@pytest.mark.parametrize(
    "sentence",
    [
        "the house is old",
        "run the tests",
        "please test it",
        "users change it",
        "it contains water",
        "the server carries mail",
        "the kitten climbed a tree",
        "the kitten jumps up",
        "he went home",
        "they'll rain",
        "to copy a file",
    ],
)
def test_sentences_have_a_verb(sentence: str) -> None:
    assert has_verb(sentence.split())


@pytest.mark.parametrize(
    "fragment",
    [
        "",
        "the old house of the king",
        "the test of the copy",
        "new release notes",
        "the changes of the day",
        "advanced options of mail",
        "hundred and one red trees",
        "configuring the tests",
        "one hundred trees",
        "number of current trees",
    ],
)
def test_fragments_have_none(fragment: str) -> None:
    assert not has_verb(fragment.split())


@pytest.mark.parametrize(
    "sentence",
    [
        "cats purr at 25 hz",
        "the moon orbits the earth",
        "it rains a lot here",
        "dogs bark at the moon",
        "glaciers calve into the sea",
        "bees dance for each other",
        "hydrochlorothiazide dissolves in hot water",
        "hens cluck 20 times",
    ],
)
def test_a_verb_that_the_lexicon_lacks_is_known_by_its_place(sentence: str) -> None:
    assert not has_verb(sentence.split())
    assert may_have_verb(sentence.split())


@pytest.mark.parametrize(
    "fragment", ["", "a tree", "options for the compiler", "a list of trees in the garden"]
)
def test_other_places_hold_no_verb(fragment: str) -> None:
    assert not may_have_verb(fragment.split())
