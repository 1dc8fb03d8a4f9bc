"""What all rerank dialects have in common: from their requests to one job, and back.

Any model name is taken, unknown keys are passed over, and null stands for an optional that is
left out: that is what their clients send.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from rejoinder.server.bodies import check_text
from rejoinder.server.problems import Problem
from rejoinder.server.settings import Settings
from rejoinder.server.workers.messages import Rank, Ranked

Fields = dict[str, Any]
Given = list[str | Fields]
"""Documents as texts, or as objects with a `text` among their fields."""


class DocumentResult(Struct, frozen=True):
    """A document by its place in the request."""

    index: int
    relevance_score: float
    document: Fields | UnsetType = UNSET


def make_job(
    question: str,
    documents: Sequence[str | Fields],
    settings: Settings,
    *,
    top: int | None = None,
    fields: Sequence[str] | None = None,
    spans: int | None = 0,
    names: tuple[str, str] = ("query", "documents"),
) -> Rank:
    """Return the job that a request means.

    Args:
        top: how many documents the client wants; all if not said.
        fields: which fields of a document that is an object are read, in this order.
        names: what the dialect calls question and documents.

    Raises:
        Problem: something in it cannot be.
    """
    check_question(question, settings, names[0])
    if not documents:
        raise Problem(422, f"{names[1]} is empty")
    if len(documents) > settings.max_documents:
        message = f"{names[1]} has {len(documents)} entries, {settings.max_documents} are allowed"
        raise Problem(413, message)
    if top is not None and top < 1:
        raise Problem(422, f"1 or more documents can be asked for, found {top}")
    texts = [
        _get_text(document, f"{names[1]}[{place}]", fields)
        for place, document in enumerate(documents)
    ]
    return Rank(question, texts, top=top, spans=spans, budget_ms=settings.budget_ms)


def check_question(question: str, settings: Settings, name: str) -> None:
    """Refuse a question that cannot be asked.

    Raises:
        Problem: it is empty, too long, or no text.
    """
    check_text(question, name)
    if not question.strip():
        raise Problem(422, f"{name} is empty")
    if len(question) > settings.max_question_characters:
        most = settings.max_question_characters
        raise Problem(413, f"{name} has {len(question)} characters, {most} are allowed")


def list_results(
    ranked: Ranked, documents: Sequence[str | Fields] | None, *, are_raw: bool = False
) -> list[DocumentResult]:
    """Return the documents as Cohere, Jina and vLLM give them, best first.

    Args:
        documents: those of the request, where the client wants them back.
        are_raw: whether scores are those of the scorer, not between 0 and 1.
    """
    return [
        DocumentResult(
            item.place,
            item.score if are_raw else item.relevance,
            UNSET if documents is None else _show_document(documents[item.place]),
        )
        for item in ranked.documents
    ]


def _show_document(document: str | Fields) -> Fields:
    return {"text": document} if isinstance(document, str) else document


def count_words(job: Rank) -> int:
    """Return about how many words were read, which clients take for tokens."""
    asked = len(job.question.split())
    return sum(asked + len(text.split()) for text in job.texts)


def get_ranked(reply: object) -> Ranked:
    """Return a reply as the kind that a rank job gets."""
    assert isinstance(reply, Ranked)
    return reply


def _get_text(document: str | Fields, name: str, fields: Sequence[str] | None) -> str:
    if isinstance(document, str):
        text = document
    else:
        wanted = fields or ["text"]
        missing = [key for key in wanted if key not in document]
        if missing:
            raise Problem(422, f"{name} has no field {missing[0]!r}")
        text = "\n".join(_to_text(document[key]) for key in wanted)
    check_text(text, name)
    return text


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
