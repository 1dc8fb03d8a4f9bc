"""The public types: documents and candidates in, rankings and answers out."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Where = Mapping[str, str | Sequence[str]]
"""Required metadata of a document: for each key a value, or one of several.

In an index, the folder `folder` stands for its sub-folders too."""


@dataclass(frozen=True, slots=True)
class Document:
    """A title and ordered sentences; the context of its candidates."""

    id: str
    title: str = ""
    sentences: Sequence[str] = field(default=(), repr=False)
    text: str = field(default="", repr=False, compare=False)
    """The whole text, where it is not split yet; `Index.add_documents` splits it."""
    metadata: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Values that a search may filter by."""


class RetrievalScores(NamedTuple):
    """The scores by which a search found a sentence; None where a source did not find it."""

    merged: float
    words: float | None = None
    """BM25 of the full-text index."""
    meaning: float | None = None
    """The cosine of the sentence's vector with the question's."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources that found it: `words`, `meaning`."""
        found = {"words": self.words, "meaning": self.meaning}
        return tuple(name for name, score in found.items() if score is not None)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer the question.

    `position` counts from 0 inside the document, or inside the list where there is no
    document.  None means that the order of the list has no meaning; scorers then ignore it.
    """

    id: str
    text: str
    document: Document | None = None
    position: int | None = None
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first, without the title."""
    tokens: bytes | None = field(default=None, repr=False, compare=False)
    """The encoded tokens (`text.wordpiece.WordPiece.encode`), where an index stores them."""
    retrieval_score: float | None = field(default=None, repr=False, compare=False)
    """The score of the retriever, where there is one."""
    retrieval: RetrievalScores | None = field(default=None, repr=False, compare=False)
    """The score of each source of the index that found it."""
    passage: str | None = field(default=None, repr=False, compare=False)
    """The part of its section that holds it, for stages that read passages; None if unknown."""


@dataclass(frozen=True, slots=True)
class Example:
    """One question with its judged candidates, in original order."""

    id: str
    question: str
    candidates: tuple[Candidate, ...]
    labels: tuple[bool, ...]
    """True where the candidate at the same index answers the question."""
    answer_strings: tuple[str, ...] = ()
    """The words that answer it, as parts of sentences; empty where a data set does not say."""

    def __post_init__(self) -> None:
        if len(self.candidates) != len(self.labels):
            raise ValueError(
                f"question {self.id!r} has {len(self.candidates)} candidates"
                f" but {len(self.labels)} labels"
            )


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate with its score (higher is better) and its rank (1 is best)."""

    candidate: Candidate
    score: float
    """The score of its last stage; scores of different stages are not comparable."""
    rank: int
    stage: int = 0
    """Index in the trace of the stage that gave the score; -1 if time ran out before the first."""


@dataclass(frozen=True, slots=True)
class StageTrace:
    """Counts and time of one stage."""

    scorer: str
    given: int
    scored: int
    kept: int
    """How many it passed to the next stage; for the last stage, how many it scored."""
    milliseconds: float
    timed_out: bool = False
    """Whether it scored or kept fewer candidates because the budget ran out."""
    unread: int = 0
    """How many candidates it did not read, because none of them was likely to win."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The candidates of one question, best first."""

    question: str
    scorer: str
    items: tuple[ScoredCandidate, ...]
    trace: tuple[StageTrace, ...] = ()
    confidence: float | None = None
    """Probability that the first candidate answers; None if the scorer is not calibrated, or
    time ran out before its last stage."""
    abstains: bool = False
    """Whether no candidate is likely to answer."""


FileChange = Literal["unchanged", "changed", "gone"]
"""What has become of the file of a document since it was indexed."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer is: `text[start:end]` of the document, in code points.

    `line` is the line in the file and `page` the page of a PDF, both from 1; None if unknown.
    """

    document: str
    title: str
    line: int | None
    start: int
    end: int
    page: int | None = None
    headings: tuple[str, ...] = ()
    """The headings above it, outermost first, without the title."""
    anchor: str = ""
    """Links to its section: `document#anchor`; empty if unknown."""
    document_id: int | None = None
    """The number of the document in its index; None if it is in none."""
    url: str = ""
    """Opens the place in a browser: the file, or the `url` of the document's metadata, with the
    anchor or the page; empty if there is neither."""
    file: FileChange | None = None
    """What has become of the document's file since it was indexed; None if it has none here."""


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """A paragraph, list item, table row, … around an answer: `text[start:end]` of the document."""

    kind: str
    """heading, paragraph, item, definition, row, caption or code."""
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of the question, the most related word of the sentence, and their cosine."""

    question_word: str
    sentence_word: str
    relatedness: float
    weight: float = 1.0
    """How much the match says, from 0 to 1: by the inverse document frequency of the more frequent
    word.  0 if one is a function word; 1 for other words of a text or a remote index, which has no
    counts."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence that answers, its source, and the text around it."""

    sentence: str
    source: Source
    score: float
    rank: int
    confidence: float | None = None
    """Probability that it answers; only for the first answer of a calibrated scorer."""
    context: tuple[ContextBlock, ...] = ()
    """The blocks that make it readable, in the order of the document; one of them holds it."""
    other_sources: tuple[Source, ...] = ()
    """Other places that say the same, word for word or nearly so."""
    found_by: tuple[str, ...] = ()
    """The sources of the index that found it: `words`, `meaning`, or both."""
    matches: tuple[WordMatch, ...] | None = None
    """How the words of the question relate to the sentence; None unless explained."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The best sentences for a question, and whether to believe the first."""

    question: str
    answers: tuple[Answer, ...]
    """Best first, also where it abstains; empty only if nothing was retrieved."""
    abstains: bool = False
    """Whether no sentence is likely enough to answer, or nothing was retrieved."""
    confidence: float | None = None
    """Probability that the first sentence answers; None if the scorer is not calibrated."""
    scorer: str = ""
    retrieved: int = 0
    """How many sentences were retrieved and ranked."""
    milliseconds: float = 0.0
    """How long retrieval and ranking took."""
    trace: tuple[StageTrace, ...] = ()
    """What each stage of the scorer did."""
    note: str = ""
    """What to know about the answers: that the question or the first is not in English."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A sentence of a source that supports a statement."""

    sentence: str
    source: Source
    support: float
    """Probability that the sentence supports the statement."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer, `answer[start:end]` in code points, and what supports it."""

    text: str
    start: int
    end: int
    verdict: Literal["supported", "unsupported", "skipped", "unread"]
    """`skipped` is a heading or a question, which states nothing; `unread` had no citation when the
    budget ran out, and may have one."""
    support: float | None = None
    """Probability that the best sentence of the sources supports it; None if it is skipped or
    unread."""
    citations: tuple[Citation, ...] = ()
    """The sentences that support it, best first; empty unless it is supported."""


@dataclass(frozen=True, slots=True)
class Citations:
    """The sentences of an answer, each with the sentences of the sources that support it."""

    statements: tuple[Statement, ...]
    supported: int
    """How many statements have a citation."""
    unsupported: int
    """How many have none."""
    milliseconds: float = 0.0
    """How long it took."""
    note: str = ""
    """What to know about the verdicts: that the answer or its sources are not in English."""
    unread: int = 0
    """How many the budget left without a verdict."""
    trace: tuple[StageTrace, ...] = ()
    """What each stage of the scorer did, for all statements together."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A user's judgement: whether the sentence is a right answer to the question."""

    question: str
    sentence: str
    right: bool


def to_candidates(
    texts: Iterable[str | Candidate], *, in_order: bool = False
) -> Sequence[Candidate]:
    """Turn strings into candidates; candidates are returned as they are.

    Args:
        in_order: the order has a meaning (sentences of a page, a search engine's ranking)
            that scorers may use.
    """
    return [
        item
        if isinstance(item, Candidate)
        else Candidate(str(place), item, position=place if in_order else None)
        for place, item in enumerate(texts)
    ]
