"""The common part of all rerank dialects: from their requests to one job, and back.

Any model name is accepted, unknown keys are ignored, and null means that an optional field is
absent: their clients send all of these.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from rejoinder.server.budget import CutStage, describe_cut
from rejoinder.server.operation import Call, check_text
from rejoinder.server.problems import Problem
from rejoinder.server.workers.messages import RankRequest

Fields = dict[str, Any]
"""A document as an object, with its text in one of the fields."""


class RankedSpan(Struct, frozen=True):
    """A sentence of a ranked text."""

    start: int
    end: int
    relevance: float


class RankedText(Struct, frozen=True):
    """A text by its index in the request."""

    place: int
    score: float | None
    """JSON has no number for one that is not finite."""
    relevance: float
    spans: list[RankedSpan]


class TextRanking(Struct, frozen=True):
    """The fields of a worker's `DocumentRanking` that the dialects return."""

    scorer: str
    documents: list[RankedText]
    trace: list[CutStage]

    @property
    def headers(self) -> dict[str, str]:
        """What the budget cut, as a header of the reply; none where there was time for all."""
        return describe_cut(self.trace)


_decode_ranking = msgspec.json.Decoder(TextRanking).decode


class DocumentResult(Struct, frozen=True):
    """A document by its index in the request."""

    index: int
    relevance_score: float | None
    """Null for a raw score that is not finite."""
    document: Fields | UnsetType = UNSET


async def rank(
    call: Call,
    question: str,
    documents: Sequence[str | Fields],
    *,
    top: int | None = None,
    fields: Sequence[str] | None = None,
    spans: int = 0,
    name: str = "documents",
) -> tuple[TextRanking, list[str]]:
    """Return the ranking, and the text of each document.

    Args:
        top: how many documents to return; all by default.
        fields: the fields to read of a document that is an object, in this order.
        name: the dialect's name for the documents.
    """
    call.check_question(question, "query")
    call.check_count(len(documents), name)
    if top is not None and top < 1:
        raise Problem(422, f"the number of results must be 1 or more, got {top}")
    texts = [
        _get_text(document, f"{name}[{place}]", fields) for place, document in enumerate(documents)
    ]
    reply = await call.submit(RankRequest(question, texts, top=top, spans=spans))
    return _decode_ranking(reply), texts


def list_results(
    ranking: TextRanking, documents: Sequence[str | Fields] | None, *, are_raw: bool = False
) -> list[DocumentResult]:
    """Return the documents as Cohere, Jina and vLLM do, best first.

    Args:
        documents: those of the request, if the client wants them back.
        are_raw: whether to return the scorer's scores, not relevance between 0 and 1.
    """
    results = []
    for item in ranking.documents:
        document = UNSET if documents is None else documents[item.place]
        if isinstance(document, str):
            document = {"text": document}
        score = item.score if are_raw else item.relevance
        results.append(DocumentResult(item.place, score, document))
    return results


def count_words(question: str, texts: Sequence[str]) -> int:
    """Return roughly how many words were read, for clients that expect a token count."""
    words = len(question.split())
    return sum(words + len(text.split()) for text in texts)


def _get_text(document: str | Fields, name: str, fields: Sequence[str] | None) -> str:
    if isinstance(document, str):
        text = document
    else:
        keys = fields or ["text"]
        missing = [key for key in keys if key not in document]
        if missing:
            raise Problem(422, f"{name} has no field {missing[0]!r}")
        text = "\n".join(_to_text(document[key]) for key in keys)
    check_text(text, name)
    return text


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
