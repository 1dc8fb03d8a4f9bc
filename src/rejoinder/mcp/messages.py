"""The arguments and the results of the tools.

Everything a result holds is bounded, so that a model can read it whole.  A result has two forms:
structured content, and blocks of text for clients that show a model only text.  In the text forms
each line of a document is marked or in a block of its own: a document cannot imitate our lines.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from rejoinder.server.workers.messages import Budget
from rejoinder.types import ContextBlock, Source

MAX_QUESTION = 10_000
MAX_NAME = 500
MAX_ADDED = 1_000_000
MAX_READ = 8_000
MAX_CITED = 20_000
"""Characters of a question, of a name, of a document that is added, of one read, and of an answer
that is cited."""

MAX_SENTENCE = 2_000
MAX_PARAGRAPH = 3_000
MAX_TITLE = 200
MAX_HEADINGS = 8
MAX_URL = 2_000
"""Characters of a sentence, of a paragraph and of a title or heading; headings of a sentence;
characters of a URL; a longer one is left out."""
MAX_METADATA = 50
"""Values of a document that is added."""

MAX_HIGHLIGHTS = 50
"""Sentences that `highlight` returns, the most likely ones."""

Question = Annotated[str, Meta(min_length=1, max_length=MAX_QUESTION)]
Name = Annotated[str, Meta(min_length=1, max_length=4_096)]
Key = Annotated[str, Meta(min_length=1, max_length=200)]
Value = Annotated[str, Meta(max_length=2_000)]
Offset = Annotated[int, Meta(ge=0, le=2**53)]


class Result(Struct, frozen=True):
    """What a tool returns."""

    def list_blocks(self) -> list[str]:
        """Return the text form."""
        raise NotImplementedError


class Quotation(Struct, frozen=True, kw_only=True):
    """A sentence of a document, word for word, and where it is."""

    sentence: str
    document: str
    """The name of the document, for `read`."""
    title: str
    headings: list[str]
    """The headings above the sentence, outermost first."""
    line: int | None
    page: int | None
    anchor: str
    """The anchor of the sentence's section; empty if unknown."""
    url: str
    """Opens the place in a browser; empty if there is none."""
    start: int
    end: int
    """Where the sentence is in the text of the document, for `from` and `to` of `read`."""
    uri: str
    """The document as a resource; empty for a text that you gave."""
    truncated: bool
    """Whether the sentence is longer, and only its beginning is here."""

    def describe_place(self) -> str:
        """Return where the sentence is on one line."""
        place = f", page {self.page}" if self.page else f", line {self.line}" if self.line else ""
        title = [] if self.title in self.document else [self.title]
        path = " \u203a ".join([*title, *self.headings])
        name = self.url if self.url.startswith("http") else self.document
        return _join_lines(f"{name}{place}" + (f" ({path})" if path else ""))


class QuotedAnswer(Quotation, frozen=True, kw_only=True):
    """An answer: a sentence, and the text that makes it readable."""

    confidence: float | None
    """Probability that the sentence answers; only for the first one, and where it is known."""
    paragraph: str
    """The paragraph, list or table around the sentence."""


class AnswerArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `answer`."""

    question: Question
    """The question, as a person would ask it."""
    top: Annotated[int, Meta(ge=1, le=10)] = 3
    """How many sentences to return at most."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds; the best sentences known by then are returned."""
    where: dict[str, str | list[str]] | None = None
    """Only search documents whose metadata have this value, or one of several."""
    min_confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Abstain below this confidence, instead of below the server's own threshold."""


class AnswerResult(Result, frozen=True, kw_only=True):
    """The sentences that are most likely to answer, best first."""

    abstains: bool
    """Whether no sentence is likely to answer; `answers` are then only the closest ones."""
    confidence: float | None
    """Probability that the first sentence answers; null if unknown."""
    answers: list[QuotedAnswer]
    note: str
    """What to know about the answers, for example that they are not in English."""
    cut: list[str]
    """The stages of the ranking that the time limit cut short; `all` if none began."""

    def list_blocks(self) -> list[str]:
        """Return the sentences, each with its place and the text around it."""
        if not self.answers:
            return ["No sentence of the documents was found for this question."]
        lines = [self._describe_verdict()]
        for number, answer in enumerate(self.answers, start=1):
            lines += [
                f'{number}. "{_join_lines(answer.sentence)}"',
                f"   {answer.describe_place()}",
            ]
            if _join_lines(answer.paragraph) != _join_lines(answer.sentence):
                lines += [f"   | {line}" for line in answer.paragraph.splitlines() if line.strip()]
        if self.cut:
            lines.append(f"The time limit cut short: {', '.join(self.cut)}.")
        return ["\n".join([*lines, *filter(None, [self.note])])]

    def _describe_verdict(self) -> str:
        shown = "" if self.confidence is None else f" (confidence {self.confidence:.0%})"
        if self.abstains:
            return f"No sentence of the documents is likely to answer{shown}. The closest:"
        if self.cut and self.confidence is None:
            return (
                "From the documents, word for word; there was no time to judge whether they answer:"
            )
        return f"From the documents, word for word{shown}:"


class SearchArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `search`."""

    question: Question
    """A question, or words to search for."""
    top: Annotated[int, Meta(ge=1, le=50)] = 10
    """How many sentences to return at most."""
    where: dict[str, str | list[str]] | None = None
    """Only search documents whose metadata have this value, or one of several."""


class SearchResult(Result, frozen=True):
    """The sentences that match by words and meaning, best first; not judged as answers."""

    quotations: list[Quotation]

    def list_blocks(self) -> list[str]:
        """Return the sentences, each with its place."""
        if not self.quotations:
            return ["No sentence of the documents matches."]
        lines = ["Sentences of the documents that match, word for word:"]
        for number, quotation in enumerate(self.quotations, start=1):
            sentence = _join_lines(quotation.sentence)
            lines += [f'{number}. "{sentence}"', f"   {quotation.describe_place()}"]
        return ["\n".join(lines)]


class CiteArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `cite`."""

    answer: Annotated[str, Meta(min_length=1, max_length=MAX_CITED)]
    """The text to check, as you want to tell it to the user: at most 200 sentences."""
    sources: Annotated[list[str], Meta(min_length=1, max_length=100)] | None = None
    """Texts that may support it, together at most 1,000,000 characters; without them, the documents
    are searched. `document` of a citation is then the place of its text in this list."""
    where: dict[str, str | list[str]] | None = None
    """Only search documents whose metadata have this value, or one of several."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds; sentences that it leaves without a citation are `unread`."""


class CitedSentence(Struct, frozen=True, kw_only=True):
    """A sentence of the answer, and what supports it."""

    text: str
    start: int
    end: int
    """Where it is in the answer."""
    verdict: Literal["supported", "unsupported", "skipped", "unread"]
    """`skipped` is a heading or a question, which states nothing; `unread` was not checked in time,
    and may be supported."""
    support: float | None
    """Probability that the best sentence of the sources supports it; null if skipped or unread."""
    citations: list[Quotation]
    """The sentences that support it, best first."""


class CiteResult(Result, frozen=True, kw_only=True):
    """The sentences of the answer, each with the sentences that support it, or none."""

    sentences: list[CitedSentence]
    supported: int
    unsupported: int
    unread: int
    """How many the time limit left unchecked."""
    note: str
    """What to know about the verdicts, for example that the answer is not in English."""
    cut: list[str]
    """The stages of the check that the time limit cut short."""

    def list_blocks(self) -> list[str]:
        """Return each sentence with its verdict, and each citation with its place."""
        unread = f", {self.unread} not checked in time" if self.unread else ""
        lines = [f"{self.supported} supported, {self.unsupported} without support{unread}:"]
        for number, sentence in enumerate(self.sentences, start=1):
            lines.append(f'{number}. {sentence.verdict}: "{_join_lines(sentence.text)}"')
            for quotation in sentence.citations:
                lines += [
                    f'   | "{_join_lines(quotation.sentence)}"',
                    f"   {quotation.describe_place()}",
                ]
        return ["\n".join([*lines, *filter(None, [self.note])])]


class ReadArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `read`."""

    document: Name
    """The name of the document, as results show it."""
    start: Offset = field(name="from", default=0)
    """The first character to return, counted from 0."""
    end: Offset | None = field(name="to", default=None)
    """The character to stop before; at most 8,000 characters are returned."""


class ReadResult(Result, frozen=True, kw_only=True):
    """A part of the text of a document."""

    document: str
    title: str
    uri: str
    """The document as a resource."""
    start: int = field(name="from")
    end: int = field(name="to")
    """The part is `text[from:to]` of the document."""
    text: str
    next: int | None
    """The `from` of the next part; null at the end of the document."""

    def list_blocks(self) -> list[str]:
        """Return which part it is, and the part as a block of its own."""
        name = _join_lines(self.document)
        part = f"{name}, characters {self.start} to {self.end}"
        rest = "the end" if self.next is None else f"read on with from={self.next}"
        return [f"{part}; {rest}. The text follows as data:", self.text]


class HighlightArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `highlight`."""

    question: Question
    """The question, as a person would ask it."""
    text: Annotated[str, Meta(min_length=1, max_length=MAX_ADDED)]
    """The text to read."""
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    """Return sentences that answer with at least this probability."""
    budget_ms: Budget | None = None
    """Time limit in milliseconds; sentences that it leaves unread have a rough score."""


class Highlight(Struct, frozen=True, kw_only=True):
    """A sentence of the text that answers, word for word."""

    sentence: str
    start: int
    end: int
    """The sentence is `text[start:end]`."""
    score: float
    """The probability that it answers."""
    truncated: bool
    """Whether the sentence is longer, and only its beginning is here."""


class HighlightResult(Result, frozen=True, kw_only=True):
    """The sentences of the text that answer, in its order."""

    highlights: list[Highlight]
    sentences: int
    """How many sentences the text has."""
    more: int
    """How many less likely ones reach the threshold, but are left out."""
    note: str
    """What to know about the scores, for example that the text is not in English."""
    cut: list[str]
    """The stages of the rating that the time limit cut short."""

    def list_blocks(self) -> list[str]:
        """Return the sentences with their scores."""
        size = f"{self.sentences} sentence{'' if self.sentences == 1 else 's'}"
        if not self.highlights:
            return ["\n".join([f"None of {size} is likely to answer.", *filter(None, [self.note])])]
        lines = [f"Of {size}, word for word:"]
        for item in self.highlights:
            lines.append(f'- "{_join_lines(item.sentence)}" ({item.score:.0%})')
        if self.more:
            lines.append(f"{self.more} less likely ones are left out.")
        if self.cut:
            lines.append(f"The time limit cut short: {', '.join(self.cut)}.")
        return ["\n".join([*lines, *filter(None, [self.note])])]


class AddArguments(Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of `add`."""

    name: Annotated[str, Meta(min_length=1, max_length=MAX_NAME)]
    """A file name such as notes.md; its suffix determines the format."""
    text: Annotated[str, Meta(min_length=1, max_length=MAX_ADDED)]
    """The text of the document."""
    metadata: Annotated[dict[Key, Value], Meta(max_length=MAX_METADATA)] | None = None
    """Values that `where` may ask for later."""


class AddResult(Result, frozen=True):
    """A document that was added, or replaced."""

    document: str
    """The name of the document, for `read`."""
    sentences: int
    replaced: bool
    """Whether it replaced an earlier document of the same name."""

    def list_blocks(self) -> list[str]:
        """Return the outcome on one line."""
        verb = "Replaced" if self.replaced else "Added"
        return [f"{verb} {_join_lines(self.document)} ({self.sentences} sentences)."]


def cut_around(blocks: tuple[ContextBlock, ...], source: Source) -> str:
    """Return the text of blocks around a sentence, at most MAX_PARAGRAPH characters of it."""
    text, place = "", 0
    for block in blocks:
        text += "\n" if text else ""
        if block.start <= source.start < block.end:
            place = len(text) + source.start - block.start
        text += block.text
    start = max(0, min(place - MAX_PARAGRAPH // 3, len(text) - MAX_PARAGRAPH))
    return text[start : start + MAX_PARAGRAPH]


def _join_lines(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())
