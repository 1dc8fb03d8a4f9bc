"""Cite: for each sentence of an answer, the sentences of its sources that support it.

Of each statement, the sentences that share its words and meaning are found, and a cascade
(`weights/cite.toml`) scores the best of them.  A citation is always a sentence of a source, with
its place there.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from math import log1p
from typing import TYPE_CHECKING

import numpy as np

from rejoinder.bundle.folder import WEIGHTS
from rejoinder.cascade.calibration import to_probability
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import load
from rejoinder.engine.engine import Engine
from rejoinder.engine.given import check_texts
from rejoinder.errors import InputError
from rejoinder.models.ranking import check_top, check_where, order
from rejoinder.models.staged import Deadline
from rejoinder.text.language import is_foreign
from rejoinder.text.sentences import SentenceSpan, split_sentences
from rejoinder.text.words import normalise_words, split_words
from rejoinder.types import (
    Candidate,
    Citation,
    Citations,
    Document,
    Source,
    StageTrace,
    Statement,
    Where,
)

if TYPE_CHECKING:
    from rejoinder.retrieval import Retriever

MAX_ANSWER = 100_000
MAX_STATEMENTS = 200
"""Characters and sentences of an answer."""
RETRIEVED = 50
"""Sentences that are found for a statement."""
MIN_SUPPORT = 0.5
TOP = 3
"""Citations of a statement, by default."""

Find = Callable[[str], Sequence[Candidate]]
Locate = Callable[[Candidate], Source | None]


def cite(
    answer: str,
    sources: str | Document | Sequence[str | Document] | Engine,
    *,
    top: int = TOP,
    min_support: float = MIN_SUPPORT,
    where: Where | None = None,
    budget_ms: float | None = None,
) -> Citations:
    """Return the sentences of an answer, each with the sentences that support it, or none.

    >>> result = cite("Tea is hot. It is blue.", ["Tea is served hot.", "Ice is cold."])
    >>> [(statement.verdict, len(statement.citations)) for statement in result.statements]
    [('supported', 1), ('unsupported', 0)]

    Args:
        sources: texts, documents with a `text`, or an engine (`open`, `open_files`), whose index
            is searched.  The `document` of a citation's source is the id of the document; of a
            text, its place in the list.
        top: how many citations a statement has at most.
        min_support: how probable it must be that a sentence supports a statement.
        where: only search documents of the index whose metadata match.
        budget_ms: the latency budget.  Statements are read in their order; one that has no
            citation when it runs out is `unread`, not `unsupported`.

    Raises:
        InputError: the answer is empty or too long, there are no sources, they are too long or
            HTML, `top` is below 1, `min_support` is no probability, `where` is no filter, or the
            budget is negative.
        StoreError: there is no index any more, it cannot be read, or it is incomplete.
    """
    start = time.perf_counter()
    deadline = None if budget_ms is None else Deadline.after(budget_ms)
    spans = _split_answer(answer)
    check_top(top)
    check_where(where)
    if not 0 <= min_support <= 1:
        raise InputError(f"min_support must be from 0 to 1, found {min_support}")
    if isinstance(sources, Engine):
        with sources.leased() as engine:
            find = partial(_search, engine.retriever, where)
            citing = _Citing(find, engine.retriever.locate, top, min_support, deadline)
            cited = citing.run(answer, spans)
    else:
        if where is not None:
            raise InputError("where filters documents of an index; the sources are texts")
        texts = SourceTexts(_list_documents(sources))
        citing = _Citing(texts.find, texts.locate, top, min_support, deadline)
        cited = citing.run(answer, spans)
    counts = Counter(statement.verdict for statement in cited)
    return Citations(
        tuple(cited),
        supported=counts["supported"],
        unsupported=counts["unsupported"],
        milliseconds=1000 * (time.perf_counter() - start),
        note=_describe_language(answer, cited),
        unread=counts["unread"],
        trace=citing.sum_trace(counts["unread"]),
    )


@cache
def load_citing() -> Cascade:
    """Return the cascade that scores support, loaded once."""
    scorer = load(WEIGHTS / "cite.toml")
    assert isinstance(scorer, Cascade)
    return scorer


def _search(index: "Retriever", where: Where | None, statement: str) -> list[Candidate]:
    """Return the sentences of an index for a statement, with tokens only if they are read."""
    found = [hit.candidate for hit in index.search(statement, RETRIEVED, where=where)]
    if load_citing().tokenizer == index.tokenizer_hash:
        return found
    return [replace(candidate, tokens=None) for candidate in found]


class _Citing:
    """Finds the citations of statements, one after another."""

    def __init__(
        self,
        find: Find,
        locate: Locate,
        top: int,
        min_support: float,
        deadline: Deadline | None,
    ) -> None:
        self._find = find
        self._locate = locate
        self._top = top
        self._min_support = min_support
        self._deadline = deadline
        self._scorer = load_citing()
        self._traces: list[StageTrace] = []

    def run(self, answer: str, spans: Sequence[SentenceSpan]) -> list[Statement]:
        """Return the sentences of an answer with their citations."""
        # A short line without a full stop looks like a heading; an answer may be nothing else.
        has_prose = not all(span.is_heading for span in spans)
        statements = []
        for span in spans:
            text = span.extract(answer)
            if text.endswith("?") or (span.is_heading and has_prose):
                statements.append(Statement(text, span.start, span.end, "skipped"))
            else:
                statements.append(self._judge(text, span))
        return statements

    def sum_trace(self, unread: int) -> tuple[StageTrace, ...]:
        """Return what each stage did, for all statements together; late if one is unread."""
        summed = []
        for stage in self._scorer.stages:
            own = [trace for trace in self._traces if trace.scorer == stage.scorer.name]
            summed.append(
                StageTrace(
                    stage.scorer.name,
                    given=sum(trace.given for trace in own),
                    scored=sum(trace.scored for trace in own),
                    kept=sum(trace.kept for trace in own),
                    milliseconds=sum(trace.milliseconds for trace in own),
                    timed_out=unread > 0 or any(trace.timed_out for trace in own),
                )
            )
        return tuple(summed)

    def _judge(self, text: str, span: SentenceSpan) -> Statement:
        if self._deadline is not None and self._deadline.left_ms <= 0:
            return Statement(text, span.start, span.end, "unread")
        ranking = order(text, self._find(text), scorer=self._scorer, deadline=self._deadline)
        self._traces += ranking.trace
        last = len(self._scorer.stages) - 1
        judged = [
            (item.candidate, to_probability(item.score))
            for item in ranking.items
            if item.stage == last
        ]
        citations = tuple(
            islice(
                (
                    Citation(candidate.text, source, support)
                    for candidate, support in judged
                    if support >= self._min_support and (source := self._locate(candidate))
                ),
                self._top,
            )
        )
        if not citations and any(stage.timed_out for stage in ranking.trace):
            return Statement(text, span.start, span.end, "unread")
        return Statement(
            text,
            span.start,
            span.end,
            "supported" if citations else "unsupported",
            judged[0][1] if judged else 0.0,
            citations,
        )


class SourceTexts:
    """The sentences of texts, found by the rarity of the words that a statement shares."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = documents
        self._candidates: list[Candidate] = []
        self._spans: dict[str, SentenceSpan] = {}
        places: dict[str, list[int]] = defaultdict(list)
        for number, document in enumerate(documents):
            for candidate, span in _split_source(number, document):
                self._spans[candidate.id] = span
                for word in set(normalise_words(candidate.text, split_words)):
                    places[word].append(len(self._candidates))
                self._candidates.append(candidate)
        self._places = {word: np.array(own) for word, own in places.items()}

    def find(self, statement: str) -> list[Candidate]:
        """Return the sentences that share most with a statement, each with its score."""
        scores = np.zeros(len(self._candidates))
        for word in set(normalise_words(statement, split_words)):
            own = self._places.get(word)
            if own is not None:
                scores[own] += log1p(len(scores) / len(own))
        best = np.argsort(-scores, kind="stable")[:RETRIEVED]
        return [
            replace(self._candidates[place], retrieval_score=float(scores[place]))
            for place in best.tolist()
        ]

    def locate(self, candidate: Candidate) -> Source:
        """Return where a sentence is."""
        number, span = int(candidate.id.partition("#")[0]), self._spans[candidate.id]
        document = self._documents[number]
        line = document.text.count("\n", 0, span.start) + 1
        return Source(document.id, document.title, line, span.start, span.end)


def _split_source(number: int, document: Document) -> list[tuple[Candidate, SentenceSpan]]:
    spans = split_sentences(document.text)
    page = Document(str(number), document.title, [span.extract(document.text) for span in spans])
    is_only_headings = all(span.is_heading for span in spans)
    return [
        (Candidate(f"{number}#{position}", page.sentences[position], page, position), span)
        for position, span in enumerate(spans)
        if is_only_headings or not span.is_heading
    ]


def _split_answer(answer: str) -> list[SentenceSpan]:
    """Return the sentences of an answer."""
    if not isinstance(answer, str):
        raise InputError(f"the answer must be text, found {answer!r:.60}")
    if len(answer) > MAX_ANSWER:
        raise InputError(f"the answer has {len(answer):,} characters; the limit is {MAX_ANSWER:,}")
    spans = split_sentences(answer)
    if not spans:
        raise InputError("the answer has no sentence")
    if len(spans) > MAX_STATEMENTS:
        raise InputError(f"the answer has {len(spans)} sentences; the limit is {MAX_STATEMENTS}")
    return spans


def _list_documents(sources: object) -> list[Document]:
    """Return the sources as documents; those that are texts are numbered."""
    given = [sources] if isinstance(sources, str | Document) else sources
    if not isinstance(given, Sequence) or not given:
        raise InputError("give sources: texts, documents, or an engine over an index")
    documents = []
    for place, source in enumerate(given):
        document = Document(str(place), text=source) if isinstance(source, str) else source
        if not isinstance(document, Document):
            raise InputError(f"source {place} is neither text nor a document: {source!r:.60}")
        if not document.text.strip():
            raise InputError(f"source {place} has no text")
        documents.append(document)
    check_texts([document.text for document in documents], "source")
    return documents


def _describe_language(answer: str, statements: Sequence[Statement]) -> str:
    cited = " ".join(item.sentence for own in statements for item in own.citations[:1])
    named = (("answer", answer), ("sources", cited))
    found = [name for name, text in named if is_foreign(text)]
    if not found:
        return ""
    verb = "seems" if found == ["answer"] else "seem"
    return (
        f"the {' and the '.join(found)} {verb} to be in another language; support was measured on"
        " English alone"
    )
