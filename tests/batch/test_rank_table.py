from typing import Any

import pyarrow as pa
import pytest

from rejoinder.batch.rank_table import rank_table
from rejoinder.batch.schemas import RANKED
from rejoinder.cascade.loading import load
from rejoinder.errors import InputError
from rejoinder.models.ranking import rank
from rejoinder.models.scorer import Candidates, Scorer, Scores


def to_batch(*rows: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows))


@pytest.fixture
def scorer() -> Scorer:
    return load("bm25")


def test_each_question_is_ranked_as_alone(scorer: Scorer) -> None:
    rows = [
        {"id": "a", "question": "who wrote it?", "candidates": ["It rained.", "Ada wrote it."]},
        {"id": "b", "question": "when?", "candidates": ["Today.", "When it rained.", "Never."]},
    ]

    ranked = rank_table(to_batch(*rows), scorer=scorer)

    assert ranked.schema == RANKED
    for row, out in zip(rows, ranked.to_pylist(), strict=True):
        expected = rank(str(row["question"]), list(row["candidates"]), scorer=scorer)
        assert out["id"] == row["id"]
        assert [answer["text"] for answer in out["answers"]] == [
            item.candidate.text for item in expected.items
        ]
        assert [answer["score"] for answer in out["answers"]] == [
            item.score for item in expected.items
        ]


class Neighbours:
    """Scores a candidate by how many sentences its document has, and by where it stands."""

    name = "neighbours"

    def score(self, question: str, candidates: Candidates) -> Scores:
        import numpy as np

        return np.array(
            [
                100 * len(item.document.sentences) + (item.position or 0)
                if not isinstance(item, str) and item.document
                else -1
                for item in candidates
            ],
            dtype=float,
        )


def test_scorers_see_documents_and_positions() -> None:
    batch = to_batch(
        {
            "question": "q",
            "candidates": [
                {"text": "a", "document": None, "position": None, "id": None},
                {"text": "b", "document": "d", "position": 1, "id": "B"},
                {"text": "c", "document": "e", "position": 7, "id": "C"},
            ],
            "documents": [{"id": "d", "title": "D", "sentences": ["x", "b"]}],
        }
    )

    (row,) = rank_table(batch, scorer=Neighbours(), top=2).to_pylist()

    assert [(item["id"], item["score"]) for item in row["answers"]] == [("B", 201.0), ("C", 7.0)]
    assert row["answers"][0]["document"] == "d"
    assert row["id"] is None


def test_a_question_without_candidates_has_no_answers(scorer: Scorer) -> None:
    schema = pa.schema([("question", pa.string()), ("candidates", pa.list_(pa.string()))])
    batch = pa.RecordBatch.from_pylist([{"question": "q", "candidates": []}], schema=schema)

    assert rank_table(batch, scorer=scorer).to_pylist()[0]["answers"] == []


def test_any_kind_of_arrow_text_and_list_will_do(scorer: Scorer) -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array(["ice?", "ice?"]).dictionary_encode(),
            pa.array([["ice", "tea"], ["tea", "ice"]], pa.large_list(pa.large_string())),
        ],
        names=["question", "candidates"],
    )

    ranked = rank_table(batch, scorer=scorer).to_pylist()

    assert [row["answers"][0]["text"] for row in ranked] == ["ice", "ice"]


def test_confidence_and_abstention_go_along() -> None:
    from rejoinder.cascade.calibration import Calibration, Logistic
    from rejoinder.cascade.cascade import Cascade, Stage

    sure = Calibration(Logistic(intercept=0, best=0), threshold=0.6)
    cascade = Cascade("calibrated", [Stage(load("bm25"))], calibration=sure)

    (row,) = rank_table(
        to_batch({"question": "ice", "candidates": ["ice"]}), scorer=cascade
    ).to_pylist()

    assert row["confidence"] == 0.5  # 1 / (1 + exp(0))
    assert row["abstains"] is True


CANDIDATE = {"text": "a", "document": "d", "position": 0}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"query": "q", "candidates": ["a"]}, "no column 'question' (columns: query, candidates)"),
        ({"question": "q"}, "no column 'candidates'"),
        ({"question": 3, "candidates": ["a"]}, "column 'question' is int64; it must be text"),
        ({"question": "q", "candidates": "a"}, "column 'candidates' is string; it must be a list"),
        ({"question": "q", "candidates": [{"t": "a"}]}, "column 'candidates' is list"),
        ({"question": "q", "candidates": ["a"], "id": 1}, "column 'id' is int64"),
        (
            {"question": "q", "candidates": ["a"], "documents": ["d"]},
            "column 'documents' is list",
        ),
        (
            {"question": "q", "candidates": [CANDIDATE | {"position": -1}]},
            "row 7: candidate 0: the position must be 0 or more, found -1",
        ),
        (
            {
                "question": "q",
                "candidates": [CANDIDATE | {"position": 1}],
                "documents": [{"id": "d", "sentences": ["a"]}],
            },
            "row 7: candidate 0: the position is 1, but document 'd' has 1 sentences",
        ),
        (
            {"question": "q", "candidates": ["a"], "documents": [{"id": "d"}, {"id": "d"}]},
            "row 7: document 'd' is listed twice",
        ),
        (
            {
                "question": "q",
                "candidates": ["a"],
                "documents": [{"id": "d", "sentences": ["a", None]}],
            },
            "row 7: a sentence of document 'd' is null",
        ),
        ({"question": "q", "candidates": ["a", None]}, "row 7: candidate 1 has no text"),
    ],
)
def test_an_invalid_row_is_named(scorer: Scorer, row: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        rank_table(to_batch(row), scorer=scorer, first_row=7)

    assert problem in str(caught.value)


@pytest.mark.parametrize("column", ["question", "candidates"])
def test_a_null_is_named_with_its_row(scorer: Scorer, column: str) -> None:
    rows = [{"question": "q", "candidates": ["a"]}, {"question": "q", "candidates": ["a"]}]
    rows[1][column] = None  # type: ignore[assignment]

    with pytest.raises(InputError, match=r"row 1: the .* null"):
        rank_table(to_batch(*rows), scorer=scorer)


def test_a_document_without_an_id_is_refused(scorer: Scorer) -> None:
    batch = to_batch(
        {"question": "q", "candidates": ["a"], "documents": [{"id": "d"}, {"id": None}]}
    )

    with pytest.raises(InputError, match="row 0: a document has no id"):
        rank_table(batch, scorer=scorer)
