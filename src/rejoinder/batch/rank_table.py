"""Rank a table of questions: a pure function on Arrow record batches, run on workers."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from rejoinder.batch.schemas import QUESTIONS, RANKED, check_columns
from rejoinder.errors import InputError
from rejoinder.models.ranking import check_min_confidence, order
from rejoinder.models.scorer import Scorer
from rejoinder.types import Candidate, Document, Ranking, ScoredCandidate


def rank_table(
    batch: pa.RecordBatch,
    *,
    scorer: Scorer,
    top: int | None = None,
    min_confidence: float | None = None,
    first_row: int = 0,
) -> pa.RecordBatch:
    """Return the ranking of each question, in row order, with the columns of `RANKED`.

    Args:
        top: keep only so many candidates of each question.
        min_confidence: abstain below this confidence, instead of where the scorer finds
            no answer likely.
        first_row: the index of the first row in its file, for error messages.

    Raises:
        InputError: a column is missing or of another type, a row is invalid, or the scorer has
            no confidence to compare.
    """
    check_columns(batch.schema, QUESTIONS)
    check_min_confidence(min_confidence, scorer)
    rows = []
    for place, row in enumerate(batch.to_pylist()):
        try:
            question, candidates = _get_question(row), _read_candidates(row)
        except InputError as error:
            raise InputError(f"row {first_row + place}: {error}") from error
        ranking = order(question, candidates, scorer=scorer, min_confidence=min_confidence)
        rows.append(_to_row(row.get("id"), ranking, top))
    return pa.RecordBatch.from_pylist(rows, schema=RANKED)


def _get_question(row: Mapping[str, Any]) -> str:
    if row["question"] is None:
        raise InputError("the question is null")
    question: str = row["question"]
    return question


def _read_candidates(row: Mapping[str, Any]) -> list[Candidate]:
    if row["candidates"] is None:
        raise InputError("the candidates are null")
    documents = _read_documents(row.get("documents") or [])
    return [
        _to_candidate({"text": item} if isinstance(item, str) else item, place, documents)
        for place, item in enumerate(row["candidates"])
    ]


def _read_documents(items: Sequence[Mapping[str, Any] | None]) -> dict[str, Document]:
    documents: dict[str, Document] = {}
    for item in items:
        if item is None or item["id"] is None:
            raise InputError("a document has no id")
        if item["id"] in documents:
            raise InputError(f"document {item['id']!r} is listed twice")
        sentences = tuple(item.get("sentences") or ())
        if None in sentences:
            raise InputError(f"a sentence of document {item['id']!r} is null")
        documents[item["id"]] = Document(item["id"], item.get("title") or "", sentences)
    return documents


def _to_candidate(
    item: Mapping[str, Any] | None, place: int, documents: dict[str, Document]
) -> Candidate:
    if item is None or item["text"] is None:
        raise InputError(f"candidate {place} has no text")
    name, position = item.get("document"), item.get("position")
    document = None if name is None else documents.setdefault(name, Document(name))
    if position is not None:
        _check_position(position, document, place)
    id_ = item.get("id")
    return Candidate(str(place) if id_ is None else id_, item["text"], document, position)


def _check_position(position: int, document: Document | None, place: int) -> None:
    if position < 0:
        raise InputError(f"candidate {place}: the position must be 0 or more, found {position}")
    if document and document.sentences and position >= len(document.sentences):
        known = f"document {document.id!r} has {len(document.sentences)} sentences"
        raise InputError(f"candidate {place}: the position is {position}, but {known}")


def _to_row(id_: str | None, ranking: Ranking, top: int | None) -> dict[str, Any]:
    return {
        "id": id_,
        "question": ranking.question,
        "answers": [_to_answer(item) for item in ranking.items[:top]],
        "confidence": ranking.confidence,
        "abstains": ranking.abstains,
    }


def _to_answer(item: ScoredCandidate) -> dict[str, Any]:
    candidate = item.candidate
    return {
        "id": candidate.id,
        "text": candidate.text,
        "document": candidate.document.id if candidate.document else None,
        "position": candidate.position,
        "score": item.score,
        "stage": item.stage,
    }
