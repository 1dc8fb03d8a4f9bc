import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rejoinder.datasets.readers.jsonl import read_examples, write_examples
from rejoinder.errors import DataError, InputError
from rejoinder.types import Candidate, Document, Example

WriteRows = Callable[[str, Iterable[object]], Path]

BEES = Document("bees", "Bees", ("They fly.", "They sleep."))
EXAMPLE = Example(
    "q1",
    "Do bees sleep?",
    (
        Candidate("a", "They fly.", BEES, 0),
        Candidate("b", "They sleep.", BEES, 1),
        Candidate("c", "«Ja», sagt sie.\u2028", Document("other")),
        Candidate("d", "A bare one."),
        Candidate("e", "", None, 7),
        Candidate("f", "At night.", BEES, None, ("Life", "Sleep")),
    ),
    (False, True, False, False, False, True),
)


def test_the_documented_format_is_read(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"

    write_examples(path, [EXAMPLE])

    assert json.loads(path.read_text(encoding="utf-8")) == {
        "id": "q1",
        "question": "Do bees sleep?",
        "candidates": [
            {"id": "a", "text": "They fly.", "label": 0, "document": "bees", "position": 0},
            {"id": "b", "text": "They sleep.", "label": 1, "document": "bees", "position": 1},
            {"id": "c", "text": "«Ja», sagt sie.\u2028", "label": 0, "document": "other"},
            {"id": "d", "text": "A bare one.", "label": 0},
            {"id": "e", "text": "", "label": 0, "position": 7},
            {
                "id": "f",
                "text": "At night.",
                "label": 1,
                "document": "bees",
                "headings": ["Life", "Sleep"],
            },
        ],
        "documents": [{"id": "bees", "title": "Bees", "sentences": ["They fly.", "They sleep."]}],
    }
    assert "«Ja»" in path.read_text(encoding="utf-8")


def test_a_passage_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    candidates = (Candidate("0", "She.", passage="She. Not he."), Candidate("1", "Not he."))

    write_examples(path, [Example("q", "Who?", candidates, (True, False))])

    (example,) = read_examples(path)
    assert [item.passage for item in example.candidates] == ["She. Not he.", None]
    assert "passage" not in json.loads(path.read_text(encoding="utf-8"))["candidates"][1]


@pytest.mark.parametrize("name", ["own.jsonl", "own.jsonl.gz"])
def test_what_is_written_is_read_back_equal(tmp_path: Path, name: str) -> None:
    other = Example("q2", "Nothing?", (), ())

    write_examples(tmp_path / name, [EXAMPLE, other])

    assert list(read_examples(tmp_path / name)) == [EXAMPLE, other]


def test_a_lone_surrogate_is_escaped(tmp_path: Path) -> None:
    example = Example("\ud800", "«Who?»", (), ())

    write_examples(tmp_path / "own.jsonl", [example])

    assert b'"\\ud800"' in (tmp_path / "own.jsonl").read_bytes()
    assert list(read_examples(tmp_path / "own.jsonl")) == [example]


TEXTS = st.text(st.characters(), max_size=8)  # lone surrogates too


@st.composite
def make_documents(draw: st.DrawFn) -> dict[str, Document]:
    ids = draw(st.sets(TEXTS, max_size=3))
    return {
        id: Document(id, draw(TEXTS), tuple(draw(st.lists(TEXTS, max_size=3))))
        for id in sorted(ids)
    }


@st.composite
def make_examples(draw: st.DrawFn) -> Example:
    documents = list(draw(make_documents()).values())
    candidates = []
    for _ in range(draw(st.integers(0, 4))):
        document = draw(st.sampled_from([None, *documents]))
        last = len(document.sentences) - 1 if document and document.sentences else 99
        position = draw(st.none() | st.integers(0, last))
        headings = tuple(draw(st.lists(TEXTS, max_size=2)))
        candidates.append(Candidate(draw(TEXTS), draw(TEXTS), document, position, headings))
    labels = tuple(draw(st.booleans()) for _ in candidates)
    strings = tuple(draw(st.lists(TEXTS, max_size=2)))
    return Example(draw(TEXTS), draw(TEXTS), tuple(candidates), labels, strings)


@given(st.lists(make_examples(), min_size=1, max_size=3))
def test_any_example_survives_the_round_trip(examples: list[Example]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "own.jsonl"
        write_examples(path, examples)

        assert list(read_examples(path)) == examples


def test_candidates_of_one_document_share_it(tmp_path: Path) -> None:
    write_examples(tmp_path / "own.jsonl", [EXAMPLE])

    (example,) = read_examples(tmp_path / "own.jsonl")

    assert example.candidates[0].document is example.candidates[1].document


def test_missing_ids_are_numbered(write_rows: WriteRows) -> None:
    row = {"question": "Who?", "candidates": [{"text": "She.", "label": 1}] * 2}

    first, second = read_examples(write_rows("own.jsonl", [row, {**row, "id": None}]))

    assert (first.id, second.id) == ("0", "1")
    assert [item.id for item in first.candidates] == ["0", "1"]
    assert first.candidates[0] == Candidate("0", "She.")


@pytest.mark.parametrize("stated", [{}, {"headings": None}, {"headings": []}])
def test_a_candidate_needs_no_headings(write_rows: WriteRows, stated: dict[str, Any]) -> None:
    row = {"question": "Who?", "candidates": [{"text": "She.", "label": 1, **stated}]}

    (example,) = read_examples(write_rows("own.jsonl", [row]))

    assert example.candidates[0].headings == ()


def test_the_score_of_a_search_is_kept(tmp_path: Path) -> None:
    scores = (0.25, 0.0, 1 / 3, None)
    candidates = tuple(Candidate(str(score), "She.", retrieval_score=score) for score in scores)

    write_examples(tmp_path / "own.jsonl", [Example("q", "Who?", candidates, (True,) * 4)])

    (example,) = read_examples(tmp_path / "own.jsonl")
    assert [item.retrieval_score for item in example.candidates] == [0.25, 0.0, 0.333333, None]
    rows = json.loads((tmp_path / "own.jsonl").read_text(encoding="utf-8"))["candidates"]
    assert ["retrieval_score" in row for row in rows] == [True, True, True, False]


def test_the_score_of_a_search_may_be_a_whole_number(write_rows: WriteRows) -> None:
    row = {"question": "Who?", "candidates": [{"text": "She.", "label": 1, "retrieval_score": 2}]}

    (example,) = read_examples(write_rows("own.jsonl", [row]))

    assert example.candidates[0].retrieval_score == 2.0


def test_an_id_may_be_a_number(write_rows: WriteRows) -> None:
    candidate = {"id": 7, "text": "She.", "label": 1, "document": 3}
    row = {"id": 12, "question": "Who?", "candidates": [candidate], "documents": [{"id": 3}]}

    (example,) = read_examples(write_rows("own.jsonl", [row]))

    assert (example.id, example.candidates[0].id) == ("12", "7")
    assert example.candidates[0].document == Document("3")


def make_row(**fields: Any) -> dict[str, Any]:
    document = {"id": "d", "title": "T", "sentences": ["One.", "Two."]}
    return {
        "question": "Who?",
        "candidates": [{"text": "One.", "label": 1, "document": "d", **fields}],
        "documents": [document],
    }


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"candidates": []}, r"field 'question' is missing$"),
        ({"question": "Who?"}, r"field 'candidates' is missing$"),
        (
            {"question": "Who?", "candidates": [{"text": "She."}]},
            r"candidates\[0\]: field 'label' is missing$",
        ),
        (
            make_row(label=True),
            r"candidates\[0\]: field 'label' must be a whole number, found true$",
        ),
        (make_row(label=2), r"candidates\[0\]: field 'label' must be 0 or 1, found 2$"),
        (make_row(text=None), r"candidates\[0\]: field 'text' must be a string, found null$"),
        (make_row(position=-1), r"candidates\[0\]: field 'position' must be 0 or more, found -1$"),
        (
            make_row(position=2),
            r"candidates\[0\]: field 'position' is 2, but document 'd' has 2 sentences$",
        ),
        (
            make_row(headings="Life"),
            r"candidates\[0\]: field 'headings' must be a list, found \"Life\"$",
        ),
        (
            make_row(headings=["Life", 3]),
            r"candidates\[0\]: headings\[1\] must be a string, found 3$",
        ),
        (
            make_row(retrieval_score="high"),
            r"candidates\[0\]: field 'retrieval_score' must be a number, found \"high\"$",
        ),
        (
            {"question": "Who?", "candidates": [], "documents": [{"id": "d"}, {"id": "d"}]},
            r"documents\[1\]: document 'd' is listed twice$",
        ),
        (
            {"question": "Who?", "candidates": [], "documents": [{"title": "T"}]},
            r"documents\[0\]: field 'id' is missing$",
        ),
    ],
)
def test_a_broken_line_is_named(write_rows: WriteRows, row: dict[str, Any], message: str) -> None:
    path = write_rows("own.jsonl", [make_row(), row])

    with pytest.raises(DataError, match=rf"own\.jsonl:2: {message}"):
        list(read_examples(path))


def test_a_candidate_without_a_document_has_any_position(write_rows: WriteRows) -> None:
    row = make_row(document=None, position=7)
    row["documents"][0]["id"] = "None"

    (example,) = read_examples(write_rows("own.jsonl", [row]))

    assert (example.candidates[0].document, example.candidates[0].position) == (None, 7)


def test_nothing_is_written_when_the_examples_fail(tmp_path: Path) -> None:
    def fail() -> Iterator[Example]:
        yield EXAMPLE
        raise DataError("broken", path=Path("source.tsv"), line=3)

    (tmp_path / "own.jsonl").write_text("old")

    with pytest.raises(DataError, match=r"source\.tsv:3: broken"):
        write_examples(tmp_path / "own.jsonl", fail())

    assert [path.name for path in tmp_path.iterdir()] == ["own.jsonl"]
    assert (tmp_path / "own.jsonl").read_text() == "old"


def test_two_documents_of_one_id_cannot_be_written(tmp_path: Path) -> None:
    documents = (Document("d", "One"), Document("d", "Two"))
    candidates = tuple(Candidate(item.title, "Text.", item) for item in documents)

    with pytest.raises(
        InputError, match=r"^question 'q': two different documents have the id 'd'$"
    ):
        write_examples(tmp_path / "own.jsonl", [Example("q", "Q?", candidates, (True, False))])

    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "own.jsonl"

    with pytest.raises(InputError) as raised:
        write_examples(path, [EXAMPLE])

    assert str(raised.value) == f"cannot write {path}: No such file or directory"
