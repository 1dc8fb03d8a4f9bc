import pytest

from rejoinder.text.verbs import has_verb


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
