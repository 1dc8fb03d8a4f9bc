"""The tools: each is one small function over a call of the library.

The docstring of a function is what a model reads about its tool, and the types of its parameter
and of its result are the tool's schemas.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, get_type_hints

from msgspec import Struct

from rejoinder.documents.formats import find_suffix
from rejoinder.engine.citing import cite as run_cite
from rejoinder.engine.engine import Engine
from rejoinder.errors import InputError
from rejoinder.index.update import check_upload_name
from rejoinder.mcp.messages import (
    MAX_ADDED,
    MAX_HEADINGS,
    MAX_HIGHLIGHTS,
    MAX_SENTENCE,
    MAX_TITLE,
    MAX_URL,
    AddArguments,
    AddResult,
    AnswerArguments,
    AnswerResult,
    CiteArguments,
    CitedSentence,
    CiteResult,
    Highlight,
    HighlightArguments,
    HighlightResult,
    Quotation,
    QuotedAnswer,
    ReadArguments,
    ReadResult,
    Result,
    SearchArguments,
    SearchResult,
    cut_around,
)
from rejoinder.mcp.resources import make_uri, read_part
from rejoinder.models.lexical.scorers import RetrievalOrder
from rejoinder.models.ranking import check_question, check_where
from rejoinder.types import Answer, Source

MAX_CITATIONS = 2
"""Citations of a sentence."""

Run = Callable[[Engine, Any], Result]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: a function of an engine and arguments, and what clients are told about it."""

    name: str
    title: str
    description: str
    takes: type[Struct]
    gives: type[Result]
    run: Run
    writes: bool
    """Whether it changes the index."""


def tool(title: str, *, writes: bool = False) -> Callable[[Run], Tool]:
    """Return a decorator that makes a tool of a function of an engine and arguments."""

    def decorate(run: Run) -> Tool:
        hints = get_type_hints(run)
        takes, gives = hints["given"], hints["return"]
        paragraphs = (inspect.getdoc(run) or "").split("\n\n")
        description = "\n\n".join(" ".join(part.split()) for part in paragraphs)
        return Tool(run.__name__, title, description, takes, gives, run, writes)

    return decorate


@tool("Answer from the documents")
def answer(engine: Engine, given: AnswerArguments) -> AnswerResult:
    """Answer a question with sentences of the user's documents, word for word, best first.

    Each comes with its document, place and paragraph. Quote it, and name its document. Where
    `abstains` is true, no sentence is likely to answer: say so instead of answering.
    """
    found = engine.answer(
        given.question,
        top=given.top,
        budget_ms=given.budget_ms,
        where=given.where,
        min_confidence=given.min_confidence,
    )
    cut = [stage.scorer for stage in found.trace if stage.timed_out]
    is_late = given.budget_ms is not None and found.milliseconds >= given.budget_ms
    if is_late and found.scorer == RetrievalOrder.name:
        cut = ["all"]  # retrieval took all the time
    return AnswerResult(
        abstains=found.abstains,
        confidence=found.confidence,
        answers=[_to_quoted_answer(item) for item in found.answers],
        note=found.note,
        cut=cut,
    )


@tool("Search the documents")
def search(engine: Engine, given: SearchArguments) -> SearchResult:
    """List the sentences of the documents that match by words and by meaning, best first.

    Use it to see what the documents have about a topic. To answer a question use `answer`, which
    reads the sentences closely and says when none answers.
    """
    check_question(given.question)
    check_where(given.where)
    quotations = []
    with engine.leased() as current:
        for hit in current.index.search(given.question, given.top, where=given.where):
            source = current.index.locate(hit.candidate)
            if source is not None:  # else it was removed meanwhile
                quotations.append(Quotation(**_describe(hit.candidate.text, source)))
    return SearchResult(quotations)


@tool("Cite an answer")
def cite(engine: Engine, given: CiteArguments) -> CiteResult:
    """Find the sentences of the documents, or of given texts, that support each sentence of a text.

    Check your own answer with it before you give it. Name the documents of the citations. A
    sentence that is `unsupported` is not in the documents: leave it out, or say that it is yours.
    One that is `unread` was not checked in time: cite it again, by itself.
    Also read what is cited: a sentence on the same matter may contradict.
    """
    total = sum(map(len, given.sources or ()))
    if total > MAX_ADDED:
        raise InputError(f"the sources have {total:,} characters; the limit is {MAX_ADDED:,}")
    sources = engine if given.sources is None else given.sources
    found = run_cite(
        given.answer,
        sources,
        top=MAX_CITATIONS,
        where=given.where,
        budget_ms=given.budget_ms,
    )
    texts = {} if given.sources is None else {"uri": ""}  # a given text is no resource
    sentences = [
        CitedSentence(
            text=item.text[:MAX_SENTENCE],
            start=item.start,
            end=item.end,
            verdict=item.verdict,
            support=item.support,
            citations=[
                Quotation(**(_describe(citation.sentence, citation.source) | texts))
                for citation in item.citations
            ],
        )
        for item in found.statements
    ]
    return CiteResult(
        sentences=sentences,
        supported=found.supported,
        unsupported=found.unsupported,
        unread=found.unread,
        note=found.note,
        cut=[stage.scorer for stage in found.trace if stage.timed_out],
    )


@tool("Read a document")
def read(engine: Engine, given: ReadArguments) -> ReadResult:
    """Return a part of a document's text, to read around an answer.

    At most 8,000 characters are returned; `next` is the `from` of the next part.
    """
    return read_part(engine, given.document, given.start, given.end)


@tool("Highlight a text")
def highlight(engine: Engine, given: HighlightArguments) -> HighlightResult:
    """List the sentences of a text that answer a question, word for word, in its order.

    The text is one that you have, such as a page you fetched; it is not searched for in the
    documents. An empty list means that no sentence of it is likely to answer.
    """
    check_question(given.question)
    found = engine.highlight(
        given.question, given.text, threshold=given.threshold, budget_ms=given.budget_ms
    )
    best = sorted(found.highlighted, key=lambda item: -item.score)[:MAX_HIGHLIGHTS]
    return HighlightResult(
        highlights=[
            Highlight(
                sentence=item.sentence[:MAX_SENTENCE],
                start=item.start,
                end=item.end,
                score=round(item.score, 4),
                truncated=len(item.sentence) > MAX_SENTENCE,
            )
            for item in sorted(best, key=lambda item: item.start)
        ],
        sentences=len(found.sentences),
        more=len(found.highlighted) - len(best),
        note=found.note,
        cut=[stage.scorer for stage in found.trace if stage.timed_out],
    )


@tool("Add a document", writes=True)
def add(engine: Engine, given: AddArguments) -> AddResult:
    """Add a text to the user's documents; it replaces the one that was added under this name.

    Only do this if the user asked for it.
    """
    check_upload_name(given.name)
    suffix = find_suffix(given.name)
    with NamedTemporaryFile(
        "w", encoding="utf-8", suffix=".unknown" if suffix is None else suffix
    ) as file:
        file.write(given.text)
        file.flush()
        with engine.writing() as index:
            event = index.add_upload(given.name, Path(file.name), metadata=given.metadata)
    if event.what == "skipped":
        raise InputError(f"{given.name} was not added: {event.reason}")
    return AddResult(f"uploaded:{given.name}", event.sentences, event.what == "changed")


TOOLS = (answer, search, highlight, cite, read, add)


def _to_quoted_answer(item: Answer) -> QuotedAnswer:
    return QuotedAnswer(
        **_describe(item.sentence, item.source),
        confidence=item.confidence,
        paragraph=cut_around(item.context, item.source),
    )


def _describe(sentence: str, source: Source) -> dict[str, Any]:
    """Return the fields of a quotation."""
    return {
        "sentence": sentence[:MAX_SENTENCE],
        "document": source.document,
        "title": source.title[:MAX_TITLE],
        "headings": [heading[:MAX_TITLE] for heading in source.headings[-MAX_HEADINGS:]],
        "line": source.line,
        "page": source.page,
        "anchor": source.anchor,
        "url": source.url if len(source.url) <= MAX_URL else "",
        "start": source.start,
        "end": source.end,
        "uri": make_uri(source.document),
        "truncated": len(sentence) > MAX_SENTENCE,
    }
