"""The nouns of the package: what is asked, what may answer it, what comes back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Document:
    """A title and ordered sentences: where a candidate stands, and what stands around it."""

    id: str
    title: str = ""
    sentences: Sequence[str] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sentence that may answer the question.

    `position` counts from 0 inside the document, or inside the list where there is no
    document.  None says that order has no meaning here, and that nothing may be read
    from where the candidate stands.
    """

    id: str
    text: str
    document: Document | None = None
    position: int | None = None
    tokens: bytes | None = field(default=None, repr=False, compare=False)
    """The text as word pieces (`text.pieces.WordPiece.encode`), where a store has them."""
    retrieval_score: float | None = field(default=None, repr=False, compare=False)
    """What the search that found it gave it as a score, where one did."""


@dataclass(frozen=True, slots=True)
class Example:
    """One question with its judged candidates, in original order."""

    id: str
    question: str
    candidates: tuple[Candidate, ...]
    labels: tuple[bool, ...]
    """True where the candidate at the same place answers the question."""

    def __post_init__(self) -> None:
        if len(self.candidates) != len(self.labels):
            raise ValueError(
                f"question {self.id!r} has {len(self.candidates)} candidates"
                f" but {len(self.labels)} labels"
            )


@dataclass(frozen=True, slots=True)
class ScoredCandidate:
    """A candidate with its score; a higher score means a better answer, rank 1 is best."""

    candidate: Candidate
    score: float
    """As its stage gave it: scores of two stages say nothing to each other."""
    rank: int
    stage: int = 0
    """The stage that gave the score, its place in the trace; -1 where the clock left no time."""


@dataclass(frozen=True, slots=True)
class StageTrace:
    """What one stage did with the candidates that reached it."""

    scorer: str
    given: int
    scored: int
    kept: int
    """How many went on to the next stage; of the last one, how many it scored."""
    milliseconds: float
    is_cut: bool = False
    """Whether the clock made it score or keep fewer than it would have."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What ranking returns: the candidates of one question, best first."""

    question: str
    scorer: str
    items: tuple[ScoredCandidate, ...]
    trace: tuple[StageTrace, ...] = ()
    confidence: float | None = None
    """How likely the first candidate is an answer; None where the scorer is not calibrated, or
    the clock did not let its last stage begin."""
    abstains: bool = False
    """Whether the confidence is below the threshold: no candidate here answers."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an answer stands: `text[start:end]` of the document, in code points.

    `line` counts in the file, where it has lines, and `page` in a PDF; both from 1.
    """

    document: str
    title: str
    line: int | None
    start: int
    end: int
    page: int | None = None


@dataclass(frozen=True, slots=True)
class WordMatch:
    """A word of the question, the most related word of the sentence, and their cosine."""

    question_word: str
    sentence_word: str
    relatedness: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A sentence that answers, where it was found, and what stands before and after it."""

    sentence: str
    source: Source
    score: float
    rank: int
    confidence: float | None = None
    """How likely it answers; known of the first answer of a calibrated scorer."""
    before: str = ""
    after: str = ""
    matches: tuple[WordMatch, ...] | None = None
    """How the question's words relate to the sentence's; None unless explained."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What comes back for a question: answers, best first, or the abstention."""

    question: str
    answers: tuple[Answer, ...]
    closest: Answer | None = None
    """The best sentence where none is good enough to be an answer."""
    abstains: bool = field(init=False)
    """Whether there is no answer: no sentence was retrieved, or none is good enough."""
    confidence: float | None = None
    scorer: str = ""
    retrieved: int = 0
    """How many sentences were found by their words, and ranked."""
    milliseconds: float = 0.0
    """How long retrieval and ranking took."""
    trace: tuple[StageTrace, ...] = ()
    """What each stage of the scorer did."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "abstains", not self.answers)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a user says of an answer: whether the sentence answers the question."""

    question: str
    sentence: str
    right: bool


def to_candidates(
    texts: Iterable[str | Candidate], *, in_order: bool = False
) -> Sequence[Candidate]:
    """Return candidates for plain strings; what is a candidate already stays as it is.

    Args:
        in_order: the strings are one text in its order (a page, a search engine's rank),
            which order-reading scorers may use.  A bare list says nothing by its order.
    """
    return [
        item
        if isinstance(item, Candidate)
        else Candidate(str(place), item, position=place if in_order else None)
        for place, item in enumerate(texts)
    ]
