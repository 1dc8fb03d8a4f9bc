"""Our own routes' requests: answers, ranking and documents."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType, field

from rejoinder.server.api.rerank import check_question
from rejoinder.server.bodies import check_text
from rejoinder.server.problems import Problem
from rejoinder.server.settings import Settings
from rejoinder.server.workers.messages import Ask, MarkAnswer, Rank, Ranked, SpanReport, StageReport

Budget = Annotated[float, Meta(ge=0, le=600_000)]
Top = Annotated[int, Meta(ge=1, le=100)]


class AnswerRequest(Struct, frozen=True):
    """A question over the index, or over the text that comes with it."""

    question: str
    text: str | None = None
    """Answer out of this, not out of the index."""
    top: Top | None = None
    budget_ms: Budget | None = None
    where: dict[str, str | list[str]] | None = None
    """What a document's metadata must say: a value, or one of several."""
    explain: bool | None = None


class FeedbackRequest(Struct, frozen=True):
    """What a user says of an answer."""

    question: str
    sentence: str
    """The answer, word for word."""
    right: bool | None
    """Whether it answers the question; null takes back what was said."""


class RankedText(Struct, frozen=True):
    """A document to rank."""

    text: str
    id: str | None = None
    title: str | None = None


class RankRequest(Struct, frozen=True):
    """A question and documents to rank for it."""

    question: str
    documents: list[str | RankedText]
    top: Annotated[int, Meta(ge=1)] | None = None
    budget_ms: Budget | None = None
    spans: Annotated[int, Meta(ge=0)] | None = None
    """How many sentences to tell of each document, best first; 1 if not said."""


class RankedItem(Struct, frozen=True):
    """A document, by its place in the request and by its id, with its best sentences."""

    place: int
    rank: int
    score: float
    relevance: float
    spans: list[SpanReport]
    id: str | UnsetType = UNSET


class RankResponse(Struct, frozen=True):
    """The documents, best first."""

    question: str
    scorer: str
    documents: list[RankedItem]
    confidence: float | None
    abstains: bool
    trace: list[StageReport] = field(default_factory=list)


def answer_to_job(request: AnswerRequest, settings: Settings) -> Ask:
    """Return the job that a request means.

    Raises:
        Problem: something in it cannot be.
    """
    check_question(request.question, settings, "question")
    if request.text is not None:
        check_text(request.text, "text")
    return Ask(
        request.question,
        request.text,
        request.top or 1,
        settings.budget_ms if request.budget_ms is None else request.budget_ms,
        request.where or {},
        bool(request.explain),
    )


def feedback_to_job(request: FeedbackRequest, settings: Settings) -> MarkAnswer:
    """Return the job that a request means.

    Raises:
        Problem: something in it cannot be.
    """
    check_question(request.question, settings, "question")
    check_text(request.sentence, "sentence")
    return MarkAnswer(request.question, request.sentence, request.right)


def rank_to_job(request: RankRequest, settings: Settings) -> Rank:
    """Return the job that a request means.

    Raises:
        Problem: something in it cannot be.
    """
    check_question(request.question, settings, "question")
    if not request.documents:
        raise Problem(422, "documents is empty")
    if len(request.documents) > settings.max_documents:
        found, most = len(request.documents), settings.max_documents
        raise Problem(413, f"documents has {found} entries, {most} are allowed")
    given = [
        RankedText(document) if isinstance(document, str) else document
        for document in request.documents
    ]
    for place, document in enumerate(given):
        check_text(document.text, f"documents[{place}]")
        check_text(document.title or "", f"documents[{place}].title")
    return Rank(
        request.question,
        [document.text for document in given],
        [document.title or "" for document in given],
        request.top,
        settings.budget_ms if request.budget_ms is None else request.budget_ms,
        1 if request.spans is None else request.spans,
    )


def rank_to_response(request: RankRequest, ranked: Ranked) -> RankResponse:
    """Return a reply with the ids that the client gave."""
    items = []
    for item in ranked.documents:
        given = request.documents[item.place]
        id_ = given.id if isinstance(given, RankedText) else None
        items.append(
            RankedItem(item.place, item.rank, item.score, item.relevance, item.spans, id_ or UNSET)
        )
    return RankResponse(
        ranked.question, ranked.scorer, items, ranked.confidence, ranked.abstains, ranked.trace
    )
