from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.natural_questions import read_natural_questions
from rejoinder.errors import DataError

WriteRows = Callable[[str, Iterable[object]], Path]

#        0    1    2    3    4   5   6    7   8    9    10    11       12   13
TEXT = "<H1> Bees </H1> <P> Bees <B> sleep </B> . </P> <Table> <Tr> <P> Cell. </P> "
#  15   16  17  18    19     20        21   22   23
TEXT += "</Tr> </Table> <P> 1 <2 honey </P> <Ul> <Li> Wax </Li> </Ul>"


def span(text: str) -> dict[str, int]:
    """Return the tokens of the page that are this text."""
    page, tokens = TEXT.split(" "), text.split(" ")
    starts = range(len(page) - len(tokens) + 1)
    (start,) = [place for place in starts if page[place : place + len(tokens)] == tokens]
    return {"start_token": start, "end_token": start + len(tokens)}


FIRST = span("<P> Bees <B> sleep </B> . </P>")
CELL = span("<P> Cell. </P>")
SECOND = span("<P> 1 <2 honey </P>")
LIST = span("<Ul> <Li> Wax </Li> </Ul>")
NOTHING = {"start_token": -1, "end_token": -1, "candidate_index": -1}


def make_row(*chosen: dict[str, int], **fields: Any) -> dict[str, Any]:
    return {
        "example_id": 17,
        "question_text": "do bees sleep",
        "document_text": TEXT,
        "long_answer_candidates": [
            {**FIRST, "top_level": True},
            {**CELL, "top_level": False},
            SECOND,
            {**LIST, "top_level": True},
        ],
        "annotations": [{"long_answer": item} for item in chosen],
        **fields,
    }


@pytest.mark.parametrize("name", ["nq.jsonl", "nq.jsonl.gz"])
def test_candidates_are_top_level_paragraphs_without_tags(write_rows: WriteRows, name: str) -> None:
    (example,) = read_natural_questions(write_rows(name, [make_row()]))

    assert (example.id, example.question) == ("17", "do bees sleep")
    assert [item.text for item in example.candidates] == ["Bees sleep .", "1 <2 honey"]


def test_a_paragraph_that_any_annotator_chose_is_an_answer(write_rows: WriteRows) -> None:
    path = write_rows("nq.jsonl", [make_row(NOTHING, SECOND), make_row(FIRST, SECOND)])

    assert [e.labels for e in read_natural_questions(path)] == [(False, True), (True, True)]


def test_a_long_answer_that_is_not_a_paragraph_leaves_the_question_unanswered(
    write_rows: WriteRows,
) -> None:
    only_start = {**FIRST, "end_token": FIRST["end_token"] + 1}
    path = write_rows("nq.jsonl", [make_row(LIST), make_row(only_start), make_row()])

    assert [e.labels for e in read_natural_questions(path)] == [(False, False)] * 3


def test_the_document_has_the_paragraphs_and_the_title(write_rows: WriteRows) -> None:
    rows = [make_row(document_title="Bee"), make_row()]

    first, second = read_natural_questions(write_rows("nq.jsonl", rows))

    assert first.candidates[1].document is not None
    assert first.candidates[1].document.title == "Bee"
    assert first.candidates[1].document.sentences == ("Bees sleep .", "1 <2 honey")
    assert first.candidates[1].position == 1
    assert second.candidates[0].document is not None
    assert second.candidates[0].document.title == ""


def test_tokens_outside_the_page_name_the_candidate(write_rows: WriteRows) -> None:
    row = make_row(long_answer_candidates=[FIRST, {"start_token": 25, "end_token": 99}])

    with pytest.raises(
        DataError,
        match=r"nq\.jsonl:1: long_answer_candidates\[1\]: tokens 25 to 99 of a page of 27$",
    ):
        list(read_natural_questions(write_rows("nq.jsonl", [row])))


def test_a_missing_field_is_named(write_rows: WriteRows) -> None:
    row = make_row()
    del row["annotations"]

    with pytest.raises(DataError, match=r"nq\.jsonl:2: field 'annotations' is missing$"):
        list(read_natural_questions(write_rows("nq.jsonl", [make_row(), row])))


def make_full_row(*chosen: dict[str, int], **fields: Any) -> dict[str, Any]:
    """Return a row of the full format: tokens as objects, some with a space inside."""
    row = make_row(*chosen, **fields)
    del row["document_text"]
    tokens = [
        {"token": text.replace("<2", "< 2"), "html_token": text.startswith("<"), "start_byte": 0}
        for text in TEXT.split(" ")
    ]
    return {**row, "document_tokens": tokens, "document_html": "<html>"}


def test_the_full_and_the_simplified_format_give_equal_examples(write_rows: WriteRows) -> None:
    simplified = make_row(SECOND, document_text=TEXT.replace("<2", "<_2"))

    first, second = read_natural_questions(
        write_rows("full.jsonl.gz", [make_full_row(SECOND)]), write_rows("s.jsonl", [simplified])
    )

    assert first == second
    assert [item.text for item in first.candidates] == ["Bees sleep .", "1 <_2 honey"]


@pytest.mark.parametrize(
    ("token", "problem"),
    [
        ("a", r" must be an object, found \"a\""),
        ({"html_token": True}, ": field 'token' is missing"),
        ({"token": 1}, ": field 'token' must be a string, found 1"),
    ],
)
def test_a_malformed_token_is_named(write_rows: WriteRows, token: object, problem: str) -> None:
    row = {**make_full_row(), "document_tokens": [{"token": "a"}, token]}

    with pytest.raises(DataError, match=rf"nq\.jsonl:1: document_tokens\[1\]{problem}$"):
        list(read_natural_questions(write_rows("nq.jsonl", [row])))


def test_a_page_without_text_and_tokens_names_the_simplified_field(write_rows: WriteRows) -> None:
    row = make_row()
    del row["document_text"]

    with pytest.raises(DataError, match=r"field 'document_text' is missing$"):
        list(read_natural_questions(write_rows("nq.jsonl", [row])))
