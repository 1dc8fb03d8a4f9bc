"""What the server asks of its workers, and what they reply.

Jobs travel from the process that speaks HTTP to one that computes (pool.py, worker.py).  Replies
to our own routes are sent on to the client as they are, so their fields are the HTTP API's.
"""

from typing import Literal

import msgspec
from msgspec import Struct, field


class Rank(Struct, frozen=True, tag=True):
    """Rank documents, each by its best sentence."""

    question: str
    texts: list[str]
    titles: list[str] | None = None
    top: int | None = None
    budget_ms: float | None = None
    spans: int | None = 1
    """How many sentences to tell of each document, best first; None for all."""


class Ask(Struct, frozen=True, tag=True):
    """Answer a question out of the index, or out of a text."""

    question: str
    text: str | None = None
    top: int = 1
    budget_ms: float | None = None
    where: dict[str, str | list[str]] = field(default_factory=dict)
    explain: bool = False


class ListDocuments(Struct, frozen=True, tag=True):
    """List documents of the index, in the order in which they were added."""

    after: int = 0
    limit: int = 100
    contains: str = ""


class AddDocument(Struct, frozen=True, tag=True):
    """Add a file's documents, or replace those of the same name."""

    name: str
    path: str
    metadata: dict[str, str] = field(default_factory=dict)


class RemoveDocument(Struct, frozen=True, tag=True):
    """Remove a document by its number."""

    id: int


class MarkAnswer(Struct, frozen=True, tag=True):
    """Keep what a user says of an answer."""

    question: str
    sentence: str
    right: bool | None


Job = Rank | Ask | ListDocuments | AddDocument | RemoveDocument | MarkAnswer


class StageReport(Struct, frozen=True):
    """What one stage of the cascade did."""

    scorer: str
    given: int
    scored: int
    kept: int
    milliseconds: float
    timed_out: bool


class SpanReport(Struct, frozen=True):
    """A sentence at `[start, end)` of its document, in code points."""

    sentence: str
    start: int
    end: int
    score: float
    relevance: float


class RankedReport(Struct, frozen=True):
    """A document, by its place in the request."""

    place: int
    rank: int
    score: float
    relevance: float
    spans: list[SpanReport]


class Ranked(Struct, frozen=True):
    """Documents, best first."""

    question: str
    scorer: str
    documents: list[RankedReport]
    trace: list[StageReport]
    confidence: float | None
    abstains: bool


class Match(Struct, frozen=True):
    """A word of the question, the closest word of the sentence, and their relatedness."""

    asked: str
    found: str
    relatedness: float


class SourceReport(Struct, frozen=True):
    """Where a sentence stands: `[start, end)` of the document's text, in code points."""

    document: str
    title: str
    line: int | None
    page: int | None
    start: int
    end: int


class AnswerReport(Struct, frozen=True):
    """A sentence, where it stands, and what stands around it."""

    sentence: str
    source: SourceReport
    score: float
    rank: int
    confidence: float | None
    before: str
    after: str
    matches: list[Match] | None = None
    """Which words match; with `explain` only."""


class Answered(Struct, frozen=True):
    """Answers, best first; none and what came closest where nothing is good enough."""

    question: str
    answers: list[AnswerReport]
    closest: AnswerReport | None
    """What comes nearest where something was found, but nothing that is good enough."""
    abstains: bool
    """Whether there is no answer: nothing was found, or nothing that is good enough."""
    confidence: float | None
    scorer: str
    retrieved: int
    milliseconds: float
    trace: list[StageReport]


class DocumentReport(Struct, frozen=True):
    """A document of the index."""

    id: int
    name: str
    title: str
    sentences: int
    bytes: int
    """The size of the file that it was read from."""
    metadata: dict[str, str]
    state: Literal["ready", "waiting"]
    """`waiting` until what finds sentences has followed."""


class DocumentsPage(Struct, frozen=True):
    """Some documents of the index."""

    documents: list[DocumentReport]
    total: int
    next: int | None
    """What to give as `after` for more; null at the end."""


class Added(Struct, frozen=True):
    """What became of a file."""

    name: str
    what: Literal["added", "changed", "unchanged", "skipped"]
    documents: int
    sentences: int
    reason: str
    """Why it was skipped; empty where it was not."""


class Removed(Struct, frozen=True):
    """A document that was removed."""

    id: int
    name: str


class Marked(Struct, frozen=True):
    """What is known of an answer now."""

    question: str
    sentence: str
    right: bool | None


class Failed(Struct, frozen=True, tag=True):
    """A job that could not be done."""

    kind: Literal["input", "missing", "store", "bug"]
    message: str


Reply = Ranked | Answered | DocumentsPage | Added | Removed | Marked

REPLIES: dict[type, type[Reply]] = {
    Rank: Ranked,
    Ask: Answered,
    ListDocuments: DocumentsPage,
    AddDocument: Added,
    RemoveDocument: Removed,
    MarkAnswer: Marked,
}
"""What each kind of job is replied with."""


class StageInfo(Struct, frozen=True):
    """A stage of the cascade that is served."""

    scorer: str
    keep: int | None


class FrontierPoint(Struct, frozen=True):
    """A cascade that nothing beat when the stages were chosen."""

    cascade: str
    accuracy: float
    """P@1, in points of 100."""
    predicted_ms: float


class Info(Struct, frozen=True, tag=True):
    """What a worker serves; the first thing that it says."""

    scorer: str
    stages: list[StageInfo]
    has_index: bool
    threshold: float | None
    tuned: dict[str, str | int | float]
    frontier: list[FrontierPoint]


class Sent(Struct, frozen=True, array_like=True):
    """A job with the number that its reply will carry."""

    number: int
    job: Job


class Received(Struct, frozen=True, array_like=True):
    """A reply with the number of its job, or why there is none."""

    number: int
    reply: msgspec.Raw
    failed: Failed | None = None


Hello = Info | Failed

_encoder = msgspec.msgpack.Encoder()


def pack(message: Sent | Received | Hello) -> bytes:
    """Return a message as it is sent: its length in four bytes, then so many bytes."""
    body = _encoder.encode(message)
    return len(body).to_bytes(4, "big") + body


def pack_reply(number: int, reply: Reply | Failed) -> bytes:
    """Return a reply as it is sent."""
    if isinstance(reply, Failed):
        return pack(Received(number, msgspec.Raw(_encoder.encode(None)), reply))
    return pack(Received(number, msgspec.Raw(_encoder.encode(reply))))


def unpack_reply(received: Received, job: Job) -> Reply | Failed:
    """Return what was replied to a job."""
    if received.failed:
        return received.failed
    return msgspec.msgpack.decode(received.reply, type=REPLIES[type(job)])


unpack_sent = msgspec.msgpack.Decoder(Sent).decode
unpack_received = msgspec.msgpack.Decoder(Received).decode
unpack_hello = msgspec.msgpack.Decoder(Hello).decode
