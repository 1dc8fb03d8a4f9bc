from collections.abc import Callable
from pathlib import Path

import pytest

from rejoinder.datasets.readers.wikiqa import read_wikiqa, read_wikiqa_text
from rejoinder.errors import DataError
from rejoinder.types import Document

Write = Callable[[str, str], Path]

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
ROWS = (
    "Q1\tWho?\tD1\tPage\tD1-0\tIt rained.\t0\n"
    "Q1\tWho?\tD1\tPage\tD1-1\tShe did.\t1\n"
    "Q2\tWhen?\tD2\tOther\tD2-0\tNobody knows.\t0\n"
)


def test_lines_of_one_question_become_one_example(write: Write) -> None:
    examples = list(read_wikiqa(write("w.tsv", HEADER + ROWS)))

    assert [(example.id, example.question) for example in examples] == [
        ("Q1", "Who?"),
        ("Q2", "When?"),
    ]
    assert [item.id for item in examples[0].candidates] == ["D1-0", "D1-1"]
    assert [item.text for item in examples[0].candidates] == ["It rained.", "She did."]
    assert examples[0].labels == (False, True)


def test_questions_without_an_answer_are_kept(write: Write) -> None:
    examples = list(read_wikiqa(write("w.tsv", HEADER + ROWS)))

    assert examples[1].labels == (False,)


def test_candidates_have_their_page_and_position(write: Write) -> None:
    first, _ = read_wikiqa(write("w.tsv", HEADER + ROWS))

    assert first.candidates[0].document is first.candidates[1].document
    assert first.candidates[0].document == Document("D1", "Page", ("It rained.", "She did."))
    assert [item.position for item in first.candidates] == [0, 1]


def test_a_leading_quote_is_an_ordinary_character(write: Write) -> None:
    rows = 'Q1\tWho?\tD1\tP\tD1-0\t"The King.\t1\nQ2\tWhen?\tD2\tP\tD2-0\tToday."\t0\n'

    examples = list(read_wikiqa(write("w.tsv", HEADER + rows)))

    assert [example.candidates[0].text for example in examples] == ['"The King.', 'Today."']


def test_a_wrong_column_is_named(write: Write) -> None:
    path = write("w.tsv", HEADER.replace("SentenceID", "SentID") + ROWS)

    with pytest.raises(DataError, match=r"w\.tsv:1: expected column 'SentenceID', found 'SentID'$"):
        list(read_wikiqa(path))


def test_a_bad_label_names_file_and_line(write: Write) -> None:
    path = write("w.tsv", HEADER + ROWS + "Q2\tWhen?\tD2\tOther\tD2-1\tToday.\tyes\n")

    with pytest.raises(DataError, match=r"w\.tsv:5: label must be 0 or 1, found 'yes'$"):
        list(read_wikiqa(path))


def test_a_truncated_line_is_named(write: Write) -> None:
    with pytest.raises(DataError, match=r"w\.tsv:4: expected 7 columns, found 5; .* truncated"):
        list(read_wikiqa(write("w.tsv", HEADER + ROWS[:-17])))


TEXT = "who ?\tit rained .\t0\nwho ?\tshe did .\t1\nwho ?\tnobody knows .\t0\n"
REF = "1 0 0 0\n1 0 1 1\n2 0 0 0\n"


def test_the_ref_file_says_where_a_question_ends(write: Write) -> None:
    first, second = read_wikiqa_text(write("w.txt", TEXT), write("w.ref", REF))

    assert (first.id, second.id) == ("1", "2")
    assert first.question == second.question == "who ?"
    assert first.labels == (False, True)
    assert second.labels == (False,)


def test_sentence_ids_of_the_text_name_one_sentence_each(write: Write) -> None:
    examples = read_wikiqa_text(write("w.txt", TEXT), write("w.ref", REF))

    ids = [item.id for example in examples for item in example.candidates]
    assert ids == ["1-0", "1-1", "2-0"]


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        (
            "1 0 0 0\n1 0 1 0\n2 0 0 0\n",
            r"w\.ref:2: expected .* label 1 of w\.txt:2, found '1 0 1 0'",
        ),
        ("1 0 0 0\n1 0 1 1\n", r"w\.ref:3: expected a line for label 0 of w\.txt:3, found ''"),
        ("1 0 0 0\n1 1\n2 0 0 0\n", r"w\.ref:2: expected .*, found '1 1'"),
        (REF + "2 0 1 0\n", r"w\.ref:4: w\.txt has no line 4"),
    ],
)
def test_text_and_ref_that_disagree_are_an_error(write: Write, ref: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_wikiqa_text(write("w.txt", TEXT), write("w.ref", ref)))
