from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rejoinder.datasets.readers.evidence import read_boolq, read_fever, read_fm2, read_wice
from rejoinder.errors import DataError
from rejoinder.types import Document

WriteRows = Callable[[str, Iterable[object]], Path]


def make_fm2_row(**fields: Any) -> dict[str, Any]:
    found = [f"Bees sleep {hours} hours." for hours in range(8)] + ["They make honey."]
    return {
        "id": "b",
        "text": "Honey is made by bees.",
        "label": "SUPPORTS",
        "wikipedia_page": "Bee",
        "gold_evidence": [{"section_header": "Summary", "text": found[-1]}],
        "retrieved_evidence": [
            {"section_header": "Life | Night", "text": text} for text in found[:-1]
        ]
        + [{"section_header": "Summary", "text": found[-1]}],
        **fields,
    }


def make_wice_row(**fields: Any) -> dict[str, Any]:
    return {
        "claim": "Bees make honey and sleep.",
        "label": "supported",
        "evidence": ["(meta data) TITLE: Bee", "They sleep.", "They fly.", "They make honey."],
        "supporting_sentences": [[1, 3], [0, 3]],
        "meta": {"id": "dev7"},
        **fields,
    }


def test_a_passage_of_boolq_is_the_only_candidate(write_rows: WriteRows) -> None:
    row = {"question": "do bees sleep", "title": "Bee", "passage": "They do. At night."}
    (example,) = read_boolq(write_rows("boolq.jsonl.gz", [{**row, "answer": False}]))

    (candidate,) = example.candidates
    assert (example.id, candidate.text, example.labels) == ("0", row["passage"], (True,))
    assert candidate.document == Document("0", "Bee", (row["passage"],))


def test_evidence_answers_only_the_claims_that_it_supports(write_rows: WriteRows) -> None:
    rows = [
        {"claim": "Bees fly.", "label": label, "evidence": ["They fly.", "They have wings."]}
        for label in ("SUPPORTS", "REFUTES")
    ]
    supported, refuted = read_fever(write_rows("fever.jsonl", rows))

    assert (supported.labels, refuted.labels) == ((True, True), (False, False))
    assert {(item.document, item.position) for item in supported.candidates} == {(None, None)}


def test_the_place_of_found_evidence_says_nothing(write_rows: WriteRows) -> None:
    rows = [make_fm2_row(id=f"b{number}") for number in range(12)]
    examples = list(read_fm2(write_rows("fm2.jsonl", rows)))

    places = {example.labels.index(True) for example in examples}
    assert len(places) > 3, "the evidence is the last one in the file"
    for example in examples:
        assert [item.text for item in example.candidates if item.headings == ()] == [
            "They make honey."
        ]
        assert sum(example.labels) == 1
    other = next(item for item in examples[0].candidates if item.headings)
    assert other.headings == ("Life", "Night")
    assert (other.document, other.position) == (Document("b0", "Bee"), None)


def test_a_refuted_claim_of_a_search_has_no_answer(write_rows: WriteRows) -> None:
    (example,) = read_fm2(write_rows("fm2.jsonl", [make_fm2_row(label="REFUTES")]))

    assert not any(example.labels)


def test_any_set_of_a_page_supports(write_rows: WriteRows) -> None:
    (example,) = read_wice(write_rows("wice.jsonl", [make_wice_row()]))

    assert (example.id, example.labels) == ("dev7", (True, True, False, True))
    assert example.candidates[2].position == 2
    document = example.candidates[2].document
    assert document is not None
    assert document.title == "Bee"


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        (4, "supporting sentence 4 is not one of 4"),
        (-1, "supporting sentence -1 is not one of 4"),
        ("1", r'supporting_sentences\[0\]\[0\] must be a whole number, found "1"'),
        (True, r"supporting_sentences\[0\]\[0\] must be a whole number, found true"),
        ([1], r"supporting_sentences\[0\]\[0\] must be a whole number, found \[1\]"),
    ],
)
def test_a_set_outside_the_page_names_its_line(
    write_rows: WriteRows, place: object, problem: str
) -> None:
    rows = [make_wice_row(), make_wice_row(supporting_sentences=[[place]])]

    with pytest.raises(DataError, match=rf"wice\.jsonl:2: {problem}$"):
        list(read_wice(write_rows("wice.jsonl", rows)))


@pytest.mark.parametrize("read", [read_fever, read_fm2])
def test_an_unknown_label_names_the_known_ones(write_rows: WriteRows, read: Any) -> None:
    row = {**make_fm2_row(label="MAYBE"), "claim": "Bees fly.", "evidence": []}

    message = r"""field 'label' must be "SUPPORTS" or "REFUTES", found "MAYBE"$"""
    with pytest.raises(DataError, match=message):
        list(read(write_rows("claims.jsonl", [row])))
