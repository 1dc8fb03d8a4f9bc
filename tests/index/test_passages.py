"""The passages of candidates: parts of their sections, read at once."""

from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.documents.passages import PART_LENGTH, find_part
from rejoinder.index.candidates import get_number
from rejoinder.index.index import Index
from rejoinder.types import Candidate, Document
from tests.index.conftest import PIECES

STEEP = [f"Tea number {place} has to steep for {place % 7} minutes." for place in range(60)]
MANUAL = "\n\n".join(
    [
        "# Tea\n\nTea is hot.",
        "## Green\n\nIt is brewed at 75 °C. It tastes bitter.",
        "## Steeping\n\n" + " ".join(STEEP[:30]) + "\n\n" + " ".join(STEEP[30:]),
        "## Black\n\nIt is boiled.",
    ]
)


@pytest.fixture
def index(tmp_path: Path) -> Index:
    index = Index(tmp_path / "index", create=True, tokenizer=PIECES)
    index.add_documents([Document("tea", "Tea", text=MANUAL)])
    return index


def list_candidates(index: Index) -> list[Candidate]:
    ((number, count),) = [(item.id, item.sentences) for item in index.store.get_documents()]
    found = [index.get_candidate(number, position) for position in range(count)]
    return [item for item in found if item]


def test_a_short_section_is_one_passage(index: Index) -> None:
    passages = {item.text: item.passage for item in index.read_passages(list_candidates(index))}

    expected = "It is brewed at 75 °C. It tastes bitter."
    assert passages["It is brewed at 75 °C."] == passages["It tastes bitter."] == expected


def test_a_long_section_has_passages_of_about_one_length(index: Index) -> None:
    candidates = index.read_passages(list_candidates(index))

    passages = [item.passage for item in candidates if item.text in STEEP]
    parts = [part for part, _ in groupby(passages)]
    assert (
        len(parts) == len(set(parts)) == round(sum(len(text) + 1 for text in STEEP) / PART_LENGTH)
    )
    assert " ".join(part or "" for part in parts) == " ".join(STEEP)
    assert all(abs(len(part or "") - PART_LENGTH) < PART_LENGTH / 4 for part in parts)


def test_every_candidate_is_in_its_passage(index: Index) -> None:
    for candidate in index.read_passages(list_candidates(index)):
        assert candidate.text in (candidate.passage or "")


def test_candidates_from_elsewhere_keep_what_they_have(index: Index) -> None:
    given = [
        Candidate("a", "It rains."),
        Candidate("b", "It rains.", Document("d", "Rain"), 0, passage="It rains. It pours."),
        Candidate("c", "It rains.", index.documents()[0], None),
        Candidate("d", "It rains.", index.documents()[0], 10_000),
    ]

    assert [item.passage for item in index.read_passages(given)] == [
        None,
        "It rains. It pours.",
        None,
        None,
    ]
    assert index.read_passages([]) == []


def test_a_document_that_was_removed_has_no_passages(index: Index) -> None:
    candidates = list_candidates(index)

    index.remove_document("tea")

    assert get_number(candidates[0].document) > 0
    assert {item.passage for item in index.read_passages(candidates)} == {None}


def test_a_huge_section_is_cut_at_a_number_of_blocks(tmp_path: Path) -> None:
    rows = [f"Row {place} of it is {place}." for place in range(300)]
    with Index(tmp_path / "rows", create=True, tokenizer=PIECES) as index:
        index.add_documents([Document("rows", "Rows", text="\n\n".join(rows))])

        candidates = index.read_passages(list_candidates(index))

    passages = [part or "" for part, _ in groupby(item.passage for item in candidates)]
    assert " ".join(passages) == " ".join(rows)
    assert f"{rows[127]} {rows[128]}" not in "\n".join(passages)
    assert f"{rows[126]} {rows[127]}" in "\n".join(passages)


def test_a_giant_sentence_is_read_in_part(tmp_path: Path) -> None:
    giant = "It goes on " + "and on " * 2_000 + "to the end."
    with Index(tmp_path / "giant", create=True, tokenizer=PIECES) as index:
        index.add_documents([Document("giant", "Giant", sentences=[giant, "It ends."])])

        (first, _) = index.read_passages(list_candidates(index))

    assert first.passage is not None
    assert giant.startswith(first.passage)
    assert len(first.passage) == 2 * PART_LENGTH


@given(st.integers(0, 5_000), st.integers(1, 5_000), st.integers(0, 5_000))
def test_the_parts_of_a_section_cover_it_once(first: int, length: int, at: int) -> None:
    section, start = (first, first + length), first + at % length

    low, high = find_part(start, section)

    assert first <= low <= start < high <= first + length
    if low > first:
        assert find_part(low - 1, section)[1] == low
    if high < first + length:
        assert find_part(high, section)[0] == high
