"""Messages between the HTTP process and its workers.

A job is a validated request.  A worker encodes its reply as JSON, once: on our own routes these
bytes are the body of the response.
"""

from collections.abc import Sequence
from typing import Annotated, Literal, Protocol, get_args

import msgspec
from msgspec import Meta, Struct, field

from rejoinder.cascade.file import Point
from rejoinder.documents.blocks import Kind
from rejoinder.engine.highlight import PrunedText, ScoredSentence
from rejoinder.engine.texts import DocumentRanking
from rejoinder.index.report import FileEvent
from rejoinder.index.sqlite.documents import ListedDocument, Sort
from rejoinder.types import Answers, Citations, FileChange, StageTrace

ALL_SPANS = 2**31
"""More sentences than a document of any accepted size has."""

Budget = Annotated[float, Meta(ge=0, le=600_000)]


class AskOptions(Struct, frozen=True, kw_only=True):
    """Where to search for answers, and what to return of them."""

    text: str | None = None
    """Answer from this text instead of the index."""
    top: Annotated[int, Meta(ge=1, le=100)] | None = None
    """How many answers to return; 1 by default."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds, queueing included; the server's by default."""
    where: dict[str, str | list[str]] | None = None
    """Only search documents whose metadata have this value, or one of several; `folder` stands for
    its sub-folders too."""
    min_confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Abstain below this confidence; by default the server's, or if the scorer finds no answer
    likely."""
    context: Literal["sentence", "paragraph", "section"] | None = None
    """What to return around each sentence: its paragraph (or list, or table; the default), its
    whole section, or nothing."""
    explain: bool | None = None
    """Whether to return `matches`."""


class AnswerJob(AskOptions, frozen=True):
    """A question over the index, or over a text."""

    question: str


class AnswerRequest(AskOptions, frozen=True):
    """A question over the index, or over a text; or a list of questions."""

    question: str | list[str]
    """A budget is that of each question."""

    def list_jobs(self) -> list[AnswerJob]:
        """Return a job for each question."""
        options = {name: getattr(self, name) for name in AskOptions.__struct_fields__}
        questions = [self.question] if isinstance(self.question, str) else self.question
        return [AnswerJob(question, **options) for question in questions]


class InputDocument(Struct, frozen=True):
    """A document to rank."""

    text: str
    id: str | None = None
    """Returned with the document."""
    title: str | None = None


class RankRequest(Struct, frozen=True):
    """A question and documents to rank for it."""

    question: str
    documents: Sequence[str | InputDocument]
    top: Annotated[int, Meta(ge=1)] | None = None
    """How many documents to return; all by default."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds, queueing included; the server's by default."""
    min_confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Abstain below this confidence; by default the server's, or if the scorer finds no answer
    likely."""
    spans: Annotated[int, Meta(ge=0)] | None = None
    """How many sentences to return of each document, best first; 1 by default."""


class HighlightRequest(Struct, frozen=True):
    """A question and documents, each of whose sentences is to be rated."""

    question: str
    documents: Sequence[str | InputDocument]
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    """The score from which a sentence is highlighted; by default the one with the best F1."""
    prune: bool | None = None
    """Whether to return each document with only the sentences that may answer, too."""
    pruning_threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    """The score from which pruning keeps a sentence; by default hardly any answer is lost."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds, queueing included; the server's by default."""


class HighlightedDocument(Struct, frozen=True):
    """A document of the request, in its place."""

    id: str | None
    """The id that the caller gave."""
    sentences: tuple[ScoredSentence, ...]
    """In the order of the text, without headings."""
    pruned: PrunedText | None
    """Null unless asked for."""
    note: str
    """What to know about the scores: that the question or the text is not in English, or that the
    text is HTML, of which no sentence is rated."""


class Highlighted(Struct, frozen=True):
    """The documents in the order of the request, with a score for each sentence."""

    question: str
    documents: list[HighlightedDocument]
    threshold: float
    scorer: str
    milliseconds: float
    trace: tuple[StageTrace, ...]
    """What each stage did, for all documents together."""


class CiteRequest(Struct, frozen=True):
    """An answer, and what may support it: the index, or texts."""

    answer: str
    sources: Sequence[str | InputDocument] | None = None
    """Cite these texts instead of the index; `document` of a citation's source is the `id` of the
    text, or its place in this list."""
    top: Annotated[int, Meta(ge=1, le=100)] = 3
    """How many citations a sentence of the answer has at most."""
    min_support: Annotated[float, Meta(ge=0, le=1)] = 0.5
    """How probable it must be that a sentence supports another."""
    where: dict[str, str | list[str]] | None = None
    """Only cite documents of the index whose metadata have this value, or one of several."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds, queueing included; the server's by default. A sentence without a
    citation by then is `unread`."""


class Feedback(Struct, frozen=True):
    """A user's mark on an answer."""

    question: str
    sentence: str
    """The answer, word for word."""
    right: bool | None
    """Whether it answers the question; null removes the mark."""


class ListDocuments(Struct, frozen=True):
    """List documents of the index."""

    after: int = 0
    limit: int = 100
    contains: str = ""
    sort: Sort = "added"


class ListFacets(Struct, frozen=True):
    """List the metadata that documents have."""


class ReadDocument(Struct, frozen=True):
    """Read a document by its id."""

    id: int


class AddDocument(Struct, frozen=True):
    """Add the documents of a file, or replace those of the same name."""

    name: str
    path: str
    metadata: dict[str, str] = field(default_factory=dict)


class RemoveDocument(Struct, frozen=True):
    """Remove a document by its id."""

    id: int


class RemoveDocuments(Struct, frozen=True):
    """Remove documents by their ids."""

    ids: list[int]


class FollowIndex(Struct, frozen=True):
    """Open the index that is at the path now, or close one that is gone."""


TimedJob = AnswerJob | RankRequest | HighlightRequest | CiteRequest
"""Jobs with a budget."""

Job = (
    TimedJob
    | Feedback
    | ListDocuments
    | ListFacets
    | ReadDocument
    | AddDocument
    | RemoveDocument
    | RemoveDocuments
    | FollowIndex
)


class DocumentsPage(Struct, frozen=True):
    """A page of the list of documents."""

    documents: list[ListedDocument]
    total: int
    next: int | None
    """The `after` of the next page; null on the last one."""


class FacetValue(Struct, frozen=True):
    """A value of a metadata key."""

    value: str
    documents: int
    """How many documents have it."""


class Facet(Struct, frozen=True):
    """A metadata key, for `where`; of `folder`, the values are folders with their sub-folders."""

    key: str
    values: list[FacetValue]
    """The most frequent ones, most frequent first."""
    distinct: int
    """How many values there are."""
    documents: int
    """How many documents have the key."""


class Facets(Struct, frozen=True):
    """The metadata that documents have."""

    facets: list[Facet]


class SentencePlace(Struct, frozen=True):
    """Where a sentence is: `text[start:end]` of the document, in code points."""

    start: int
    end: int
    line: int | None
    page: int | None


class DocumentBlock(Struct, frozen=True):
    """A paragraph, list item, table row or the like."""

    kind: Kind
    """Code below a paragraph, an item or a definition belongs to the block that introduces it."""
    headings: tuple[str, ...]
    """The headings above it, outermost first."""
    sentences: list[SentencePlace]


class DocumentContent(Struct, frozen=True):
    """A document of the index with its text."""

    id: int
    name: str
    title: str
    metadata: dict[str, str]
    text: str
    blocks: list[DocumentBlock]
    """In the order of the text."""
    file: FileChange | None = None
    """What has become of the document's file since it was indexed; null if it has none."""


class Removed(Struct, frozen=True):
    """A document that was removed."""

    id: int
    name: str


class RemovedMany(Struct, frozen=True):
    """Documents that were removed."""

    removed: list[Removed]
    missing: list[int]
    """The ids that the index does not have."""


Reply = (
    Answers
    | DocumentRanking
    | Highlighted
    | Citations
    | Feedback
    | DocumentsPage
    | Facets
    | DocumentContent
    | FileEvent
    | Removed
    | RemovedMany
    | FollowIndex
)


class StageInfo(Struct, frozen=True):
    """A stage of the served cascade."""

    scorer: str
    keep: int | None
    """How many candidates it passes on; null for the last stage."""


class WorkerInfo(Struct, frozen=True):
    """The index and scorer that a worker has opened; its first message."""

    scorer: str
    stages: list[StageInfo]
    has_index: bool
    threshold: float | None = None
    """The confidence below which the server abstains; null if it abstains by answerability, or
    never."""
    has_confidence: bool = False
    """Whether the scorer is calibrated: answers have a confidence, which `min_confidence` compares
    with."""
    rates_sentences: bool = False
    """Whether the scorer is calibrated for single sentences, as highlighting needs it."""
    tuned: dict[str, str | int | float] = field(default_factory=dict)
    """The `[tuned]` table of the cascade file."""
    frontier: tuple[Point, ...] = ()
    """The cascades that `rejoinder tune` chose from, fastest first."""


class Failure(Struct, frozen=True):
    """Why a job has no reply."""

    kind: Literal["input", "missing", "store", "bug"]
    message: str


class Received(Struct, frozen=True, array_like=True):
    """A message of a worker: the number of the job, and its reply as JSON or its failure."""

    number: int
    outcome: bytes | Failure


class Backend(Protocol):
    """The workers, as the HTTP side sees them."""

    info: WorkerInfo
    """The index and scorer that are served."""

    @property
    def is_ready(self) -> bool:
        """Whether a worker can take a job now."""

    @property
    def index_problem(self) -> str:
        """Why questions over the index fail; empty where they do not."""

    def check_capacity(self) -> None:
        """Refuse a job with status 429 if the queue is full."""

    async def submit(self, job: Job) -> bytes:
        """Return the reply to a job as JSON."""


_encoder = msgspec.msgpack.Encoder()
_job_decoder = msgspec.msgpack.Decoder(tuple[int, str, msgspec.Raw])
_job_types: dict[str, type[Job]] = {kind.__name__: kind for kind in get_args(Job)}


def pack_job(number: int, job: Job) -> bytes:
    """Return a job as a frame: its length in four bytes, then that many bytes."""
    return _frame(_encoder.encode((number, type(job).__name__, job)))


def unpack_job(body: bytes) -> tuple[int, Job]:
    """Return the number and the job of a frame, without its length."""
    number, kind, job = _job_decoder.decode(body)
    return number, msgspec.msgpack.decode(job, type=_job_types[kind])


def pack_reply(number: int, reply: Reply | WorkerInfo | Failure) -> bytes:
    """Return a reply as a frame."""
    outcome = reply if isinstance(reply, Failure) else msgspec.json.encode(reply)
    return _frame(_encoder.encode(Received(number, outcome)))


unpack_reply = msgspec.msgpack.Decoder(Received).decode


def _frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


decode_highlights = msgspec.json.Decoder(Highlighted).decode
"""Return a worker's reply to a `HighlightRequest`."""
