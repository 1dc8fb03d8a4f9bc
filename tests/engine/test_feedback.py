from collections.abc import Iterator
from pathlib import Path

import pytest

from rejoinder.engine.feedback import LENGTH, list_examples, read_feedback
from rejoinder.errors import InputError
from rejoinder.index.feedback import add_marks
from rejoinder.index.index import Index
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import Example, Mark

QUESTION = "how hot is tea?"
HOT = "Green tea is brewed at 75 °C."


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "tea.md").write_text(
        f"# Tea\n\nMilk will spoil it. {HOT} Tea is very old.", encoding="utf-8"
    )
    (docs / "copy.txt").write_text("So: green tea is brewed at 75 °C.", encoding="utf-8")
    (docs / "long.txt").write_text(
        " ".join(f"Tea number {number} is hot." for number in range(30)), encoding="utf-8"
    )
    pieces = WordPiece(["[UNK]", "tea"])
    with Index(tmp_path / "index", create=True, tokenizer=pieces) as index:
        index.add([docs])
        yield index


def get_labels(example: Example) -> dict[str, bool]:
    pairs = zip(example.candidates, example.labels, strict=True)
    return {candidate.text: label for candidate, label in pairs}


def test_retrieved_sentences_fill_a_list_as_negatives(index: Index) -> None:
    add_marks(
        index.store, [Mark(QUESTION, HOT, True), Mark(QUESTION, "Milk will spoil it.", False)]
    )

    (example,) = list_examples(index)

    labels = get_labels(example)
    assert example.question == QUESTION
    assert len(labels) == LENGTH
    assert [text for text, label in labels.items() if label] == [HOT]
    assert "Milk will spoil it." in labels
    assert any(text.startswith("Tea number") for text in labels)


def test_near_duplicates_of_a_right_answer_are_not_negatives(index: Index) -> None:
    question, copy = "when is green tea brewed?", "So: green tea is brewed at 75 °C."
    assert copy in {item.candidate.text for item in index.search(question, LENGTH)}
    add_marks(index.store, [Mark(question, HOT, True)])

    (example,) = list_examples(index)

    assert copy not in get_labels(example)


def test_without_a_right_answer_only_marked_sentences_are_wrong(index: Index) -> None:
    add_marks(index.store, [Mark(QUESTION, "Milk will spoil it.", False)])

    (example,) = list_examples(index)

    assert get_labels(example) == {"Milk will spoil it.": False}


def test_more_marks_than_a_list_is_long_are_all_kept(index: Index) -> None:
    wrong = [Mark(QUESTION, f"Tea number {number} is hot.", False) for number in range(12)]
    add_marks(index.store, [Mark(QUESTION, HOT, True), *wrong])

    (example,) = list_examples(index)

    assert len(example.candidates) == 13
    assert sum(example.labels) == 1


def test_candidates_are_grouped_by_document_in_document_order(index: Index) -> None:
    add_marks(
        index.store, [Mark(QUESTION, HOT, True), Mark(QUESTION, "Milk will spoil it.", False)]
    )

    (example,) = list_examples(index)

    names = [item.document.id for item in example.candidates if item.document]
    assert names == sorted(names, key=names.index)
    tea = [item for item in example.candidates if item.document and "tea.md" in item.document.id]
    assert [item.position for item in tea] == sorted(item.position or 0 for item in tea)
    assert {item.text for item in tea} >= {HOT, "Milk will spoil it."}


def test_examples_outlive_the_index(index: Index) -> None:
    add_marks(index.store, [Mark(QUESTION, HOT, True)])

    (example,) = read_feedback(index.folder)
    index.close()

    documents = {item.document.title: item.document for item in example.candidates if item.document}
    assert documents["Tea"].sentences == ("Tea", "Milk will spoil it.", HOT, "Tea is very old.")


def test_feedback_without_a_right_answer_is_nothing_to_learn_from(index: Index) -> None:
    add_marks(index.store, [Mark(QUESTION, "Milk will spoil it.", False)])

    with pytest.raises(InputError, match="no answer is marked right"):
        read_feedback(index.folder)
