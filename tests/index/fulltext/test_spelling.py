"""Words that the index does not know are matched with one or two edits, and only those."""

from pathlib import Path

import pytest

from rejoinder.index.index import Index

FORMER = "The former glacier formed a cave."
REVERTING = "Somebody is reverting the configuration."


@pytest.fixture
def caves(index: Index, docs: Path) -> Index:
    (docs / "caves.txt").write_text(FORMER, encoding="utf-8")
    (docs / "reverting.txt").write_text(REVERTING, encoding="utf-8")
    index.drop_vectors()  # they also find words that share a word piece
    index.add([docs])
    return index


def find(index: Index, question: str) -> list[str]:
    return [hit.candidate.text for hit in index.search(question, 9)]


@pytest.mark.parametrize(
    "word",
    [
        *("glacir", "galcier", "glacieer", "glackers", "lacier"),  # one edit
        *("glaicr", "glaaccier", "glackerr"),  # two
    ],
)
def test_a_misspelt_word_is_found(caves: Index, word: str) -> None:
    assert find(caves, f"What is a {word}?") == [FORMER]


@pytest.mark.parametrize("word", ["revertng", "configuratoin", "cofniguratoin"])
def test_edits_are_made_before_stemming(caves: Index, word: str) -> None:
    assert find(caves, word) == [REVERTING]


@pytest.mark.parametrize("word", ["caw", "cveae", "glaxxxer", "lgaceir", "glacier7x"])
def test_other_words_are_not_found(caves: Index, word: str) -> None:
    assert find(caves, word) == []


def test_known_words_are_not_corrected(caves: Index, docs: Path) -> None:
    (docs / "lacier.txt").write_text("A lacier boot has more laces than this.", encoding="utf-8")
    caves.add([docs])

    assert find(caves, "lacier") == ["A lacier boot has more laces than this."]


def test_the_frequent_ones_of_similar_words_are_meant(index: Index, docs: Path) -> None:
    for word, count in {"stage": 4, "stave": 3, "state": 2, "stake": 1}.items():
        for number in range(count):
            text = f"Number {number} is about one {word}."
            (docs / f"{word}{number}.txt").write_text(text, encoding="utf-8")
    index.add([docs])

    found = " ".join(find(index, "staxe"))

    assert all(word in found for word in ("stage", "stave", "state"))
    assert "stake" not in found


@pytest.mark.parametrize("word", ["tajikistn", "tajikiistn", "mountians", "moutaians"])
def test_a_misspelt_word_is_found_by_headings_and_title(
    index: Index, docs: Path, word: str
) -> None:
    page = "<title>Tajikistan</title><h1>Mountains</h1><p>They are very high.</p>"
    (docs / "high.html").write_text(page, encoding="utf-8")
    index.add([docs])

    assert find(index, word) == ["They are very high."]
