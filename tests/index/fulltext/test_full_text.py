"""What a sentence is found by: its own words, its passage, its headings and its title."""

import threading
from pathlib import Path

import pytest

from rejoinder.documents.passages import NEIGHBOURS
from rejoinder.index.fulltext import full_text_index
from rejoinder.index.index import Index
from rejoinder.models.staged import Deadline

PLAIN = [f"Line number {number} is plain." for number in range(NEIGHBOURS)]


def find(index: Index, question: str, k: int = 9) -> list[str]:
    return [hit.candidate.text for hit in index.search(question, k)]


def write(index: Index, docs: Path, *lines: str) -> None:
    (docs / "more.md").write_text("\n\n".join(lines), encoding="utf-8")
    index.add([docs])


def test_a_sentence_is_found_by_other_blocks_of_its_section(index: Index, docs: Path) -> None:
    write(index, docs, "# Stoves", "A samovar boils water.", *PLAIN, "This one is too far away.")

    first, *others = find(index, "samovar")

    assert first == "A samovar boils water."
    assert sorted(others) == PLAIN


def test_a_word_counts_by_its_best_field(index: Index, docs: Path) -> None:
    write(
        index,
        docs,
        *("# Kettles", "The lid of a kettle and the kettle of a lid are kettles."),
        *("# Pans", "The handle gets hot.", "# Lids", "They are made of copper."),
    )

    assert find(index, "copper lids")[0] == "They are made of copper."


def test_function_words_do_not_decide(index: Index, docs: Path) -> None:
    what = "What is the purpose of this and what is it for?"
    write(index, docs, "# Stoves", "A samovar boils water.", "# Lamps", what)

    assert find(index, "What is the purpose of a samovar?")[0] == "A samovar boils water."
    assert find(index, "What is a samovar?") == ["A samovar boils water."]


def test_hardly_any_time_is_spent_on_the_rarest_words(
    index: Index, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kettle, samovar = "A big kettle boils water.", "A big samovar boils water."
    write(index, docs, "# One", kettle, "# Two", samovar, "# Three", *PLAIN)
    monkeypatch.setattr("rejoinder.index.fulltext.query.MAX_ENTRIES", 5)
    now = Deadline(0.001, clock=lambda: 0.0)

    def find_soon(question: str) -> list[str]:
        return [hit.candidate.text for hit in index.search(question, 9, deadline=now)]

    assert find_soon("Which big samovar is plain?") == [samovar]
    assert set(find(index, "Which big samovar is plain?")) == {kettle, samovar, *PLAIN}
    assert find_soon("plain") == PLAIN  # however often it occurs
    assert find_soon("Which samovarr?") == [samovar]  # nothing else is known


def test_function_words_order_sentences_that_content_words_find(index: Index, docs: Path) -> None:
    write(index, docs, "# One", "The samovar was big.", "# Two", "That is what a samovar is to us.")

    assert find(index, "What is that samovar to us?")[0] == "That is what a samovar is to us."
    assert find(index, "samovar was")[0] == "The samovar was big."


@pytest.mark.parametrize("question", ["it", "What is it?", "is this how it is"])
def test_a_question_of_function_words_is_answered_by_its_words(index: Index, question: str) -> None:
    assert "Let it steep briefly." in find(index, question)


def test_a_heading_that_has_most_of_the_question_lifts_the_text_below(
    index: Index, docs: Path
) -> None:
    rival = "Friends of us repair a leaking samovar of an old aunt in town on Sunday."
    (docs / "rival.txt").write_text(rival, encoding="utf-8")
    write(
        index,
        docs,
        *("## How do I repair a leaking samovar?", "Put wax on it."),
        *("## How do I polish an old kettle?", "Use salt for it."),
        *("## How do I carry a very hot pot?", "Wear gloves for it."),
    )

    assert find(index, "how can I repair leaking samovars")[0] == "Put wax on it."
    assert find(index, "repair a samovar with old salt in town")[0] == rival


def test_a_question_lifts_the_text_that_follows(index: Index, docs: Path) -> None:
    rival = "The old aunt likes a leaking samovar, and a friend may repair that one."
    (docs / "rival.txt").write_text(rival, encoding="utf-8")
    questions = ("How do I repair a leaking samovar?", "How do I polish an old kettle?")
    write(index, docs, "# FAQ", questions[0], "Put wax on it.", questions[1], "Use salt for it.")

    assert find(index, "how to repair leaking samovars")[0] == "Put wax on it."
    assert find(index, "how to polish old kettles")[0] == "Use salt for it."


def test_a_folder_of_another_format_is_rebuilt(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = index.store.get("fulltext")
    monkeypatch.setattr(full_text_index, "FORMAT", full_text_index.FORMAT + 1)

    with Index(index.folder) as again:
        assert again.store.get("fulltext") != before
        assert find(again, "queen")[0] == "A colony has one queen."


@pytest.mark.parametrize(
    "question",
    [
        *("", " \n", "?!", "🍵", "🍵 tea", "чай", "绿茶", "شاي", "title:tea AND (hot", '"tea'),
        *("tea\0hot", "\ud800 tea", "a" * 10_000, "tea " * 2_500, "é" * 10_000),
        " ".join(f"unknown{chr(97 + place % 26)}{place}" for place in range(800)),
        " ".join(chr(97 + place % 26) * (4 + place // 26) for place in range(700)),
    ],
    ids=lambda question: ascii(question)[:20],
)
def test_any_question_is_answered_or_finds_nothing(index: Index, question: str) -> None:
    found = find(index, question)

    assert bool(found) == ("tea" in question)


def test_threads_search_at_once(index: Index) -> None:
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.extend(find(index, "quen") for _ in range(50)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(found) == 200
    assert all(texts[0] == "A colony has one queen." for texts in found)
