"""The engine: question in, answers out: retrieve sentences, rank them, locate the best."""

import copy
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Self, TypeVar, Unpack

from rejoinder.cascade.loading import DEFAULT, to_scorer
from rejoinder.engine.answers import (
    AnswerOptions,
    FoundAnswer,
    build_answers,
    group_by_document,
    group_near_duplicates,
    take_distinct,
    take_group,
)
from rejoinder.engine.binding import bind_scorer
from rejoinder.errors import InputError, StoreError
from rejoinder.index.candidates import is_page_source
from rejoinder.index.index import Index, get_cached_index
from rejoinder.index.sqlite.context import check_form
from rejoinder.models.lexical.scorers import RetrievalOrder
from rejoinder.models.parallel import count_cores, spread
from rejoinder.models.ranking import (
    check_min_confidence,
    check_question,
    check_scorer,
    check_top,
    check_where,
    order,
)
from rejoinder.models.scorer import Scorer, reads_passages
from rejoinder.models.staged import Deadline
from rejoinder.types import Answer, Answers, Candidate, Mark, ScoredCandidate, Source, Where

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

    from rejoinder.engine.highlight import Highlights
    from rejoinder.index.report import FileEvent
    from rejoinder.retrieval import Retriever

RETRIEVED = 100
"""How many sentences are retrieved and ranked."""

FIRST_QUESTION = "What is the name of the first one, and when was it made? \u2603"
"""A question of common words, so that most indexes have sentences to rank for it.

No vocabulary has its last word: the generator that draws a vector for such words takes 9 ms to
import.
"""

P = ParamSpec("P")
T = TypeVar("T")


def _over_current_index(
    method: Callable[Concatenate["Engine", P], T],
) -> Callable[Concatenate["Engine", P], T]:
    """Run a method over the index that is at its path now, and over that one to the end."""

    @wraps(method)
    def run(self: "Engine", /, *args: P.args, **options: P.kwargs) -> T:
        with self.leased() as engine:
            return method(engine, *args, **options)

    return run


class Engine:
    """Answers questions from an index.  Thread-safe.

    When another index takes the place of this one, the next question is answered from that;
    questions in progress finish on the old one.

    Args:
        index: the index to search; the engine closes it.  None with a retriever.
        scorer: ranks the retrieved sentences; without one, they keep the retrieval order.
        retriever: searches elsewhere (`rejoinder.retrieval.open_retriever`); by default the index.
        retrieved: how many sentences to retrieve and rank.
    """

    def __init__(
        self,
        index: Index | None,
        scorer: Scorer | None = None,
        *,
        retriever: "Retriever | None" = None,
        retrieved: int = RETRIEVED,
    ) -> None:
        if scorer is not None:
            check_scorer(scorer)
        if index is None and retriever is None:
            raise InputError("an engine needs an index or a retriever")
        self._index = index
        self._scorer = scorer
        self._retriever = retriever
        self._retrieved = retrieved
        self._temporary: TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._sidecar_stamp: tuple[int, int] | None = None
        self._bound: Engine | None = None
        """This engine over one index, with the scorer bound to its sidecars."""
        self._is_bound = False
        if index is not None and index.store.is_complete:
            with self.leased():
                pass  # else the first question would take as long as two

    @property
    def index(self) -> Index:
        """The index.

        Raises:
            InputError: the engine answers from a retriever, and has no index.
        """
        if self._index is None:
            raise InputError("this needs an index on this machine, and a retriever is open")
        return self._index

    @property
    def has_index(self) -> bool:
        """Whether there is an index on this machine; else a retriever finds all sentences."""
        return self._index is not None

    @property
    def retriever(self) -> "Retriever":
        """What is searched: the given retriever, or the index."""
        return self._retriever or self.index

    @contextmanager
    def leased(self) -> Iterator["Engine"]:
        """Yield this engine over the index that is at its path now.

        In the block the index stays the same, and open.

        Raises:
            StoreError: there is no index any more, it cannot be read, or it is incomplete.
        """
        if self._is_bound or self._index is None:
            yield self
            return
        with ExitStack() as stack:
            try:
                index = stack.enter_context(self.index.leased())
            except StoreError:
                self._bound = None  # it would keep the files of an index that is gone
                raise
            yield self._bind(index)

    def _bind(self, index: Index) -> "Engine":
        """Return this engine over one index; the same one until the index or a sidecar changes."""
        with self._lock:
            if self._bound and self._bound._is_over(index):
                return self._bound
            bound = copy.copy(self)
            bound._index, bound._is_bound, bound._bound = index, True, None
            bound._sidecar_stamp = index.sidecar_stamp
            bound._scorer = self._scorer and bind_scorer(self._scorer, index)
            if self._retriever is None:
                index.prepare()
            if index.store.is_current:
                self._bound = bound
            else:  # replaced meanwhile: the rows may be those of the new index
                bound._scorer = self._scorer
            return bound

    def _is_over(self, index: Index) -> bool:
        own = self.index.store, self._sidecar_stamp
        return own == (index.store, index.sidecar_stamp)

    def prepare(self) -> None:
        """Answer once, so that the first question is as fast as later ones.

        The scorer then has its memory, and the words that many sentences share.
        """
        store = self._index.store if self._index else None
        if store is None or (store.is_complete and not store.is_empty):
            self.answer(FIRST_QUESTION)

    @_over_current_index
    def answer(
        self,
        question: str,
        *,
        top: int = 1,
        budget_ms: float | None = None,
        where: Where | None = None,
        min_confidence: float | None = None,
        context: str = "paragraph",
        explain: bool = False,
    ) -> Answers:
        """Return the best sentences, best first, and whether the first is likely to answer.

        A sentence that the context of a better one shows comes only if there are too few others.

        Args:
            top: how many sentences to return at most.
            budget_ms: the latency budget.  If retrieval uses it up, the answers are in
                retrieval order, and an index is searched by words only.
            where: only search documents whose metadata match: for each key a value, or a
                list of which one must match.  `folder` matches its sub-folders too.
            min_confidence: abstain below this confidence, instead of where the scorer finds
                no answer likely.
            context: what to return around each sentence: its `paragraph` (or list, or
                table), its whole `section`, or nothing (`sentence`).
            explain: add the words of each answer that match the question.

        Raises:
            InputError: the question is empty, `top` is below 1, the budget is negative,
                `where` is not a filter, or the scorer has no confidence to compare.
            UnknownNameError: there is no such context.
            StoreError: there is no index any more, it cannot be read, or it is incomplete.
        """
        check_question(question)
        check_top(top)
        check_where(where)
        check_min_confidence(min_confidence, self._scorer)
        check_form(context)
        start = time.perf_counter()
        deadline = None if budget_ms is None else Deadline.after(budget_ms)
        hits = self.retriever.search(question, self._retrieved, where=where, deadline=deadline)
        ranked_by = self._reserve(deadline, start)
        is_late = deadline is not None and deadline.left_ms <= 0
        scorer = self._scorer if self._scorer and not is_late else RetrievalOrder()
        candidates = self._prepare(hits, scorer, ranked_by)
        ranking = order(
            question,
            candidates,
            scorer=scorer,
            deadline=ranked_by,
            min_confidence=min_confidence,
            only_first=top == 1,
        )
        found = group_near_duplicates(ranking.items)
        best = take_distinct(self._to_answers(found, top, where, context, deadline), top)
        answers = build_answers(ranking, best, retrieved=len(hits), start=start)
        if not explain:
            return answers
        from rejoinder.engine.explain import explain_answers

        weigh = partial(self.retriever.weigh_words, deadline=deadline)
        return explain_answers(answers, weigh)

    async def aanswer(self, question: str, **options: Unpack[AnswerOptions]) -> Answers:
        """Return the same as `answer`, without blocking the event loop."""
        import asyncio  # a process that only calls `answer` need not pay for it

        return await asyncio.to_thread(self.answer, question, **options)

    def answer_many(
        self,
        questions: Sequence[str],
        *,
        threads: int | None = None,
        **options: Unpack[AnswerOptions],
    ) -> list[Answers]:
        """Answer several questions at once, with the same results as `answer` one by one.

        Args:
            threads: how many questions to answer in parallel; by default one per core.
            options: as for `answer`.  The latency budget is that of each question; it also
                counts the time that other questions take from this one on busy cores.

        Raises:
            InputError: as for `answer`, or the questions are one text.
        """
        if isinstance(questions, str):
            raise InputError("the questions are one text; give a list of texts")
        for question in questions:
            check_question(question)

        answer = partial(self.answer, **options)
        return spread(answer, questions, threads=threads or count_cores())

    @_over_current_index
    def mark(self, question: str, answer: Answer | str, *, right: bool | None = True) -> None:
        """Store a user's judgement of an answer, for `rejoinder train --feedback`.

        Args:
            answer: one of the answers, or its sentence.
            right: whether it answers the question; None removes the mark.

        Raises:
            InputError: the question is empty, the sentence is not in the index, there is no
                mark to remove, or `answer` or `right` has another type.
            StoreError: the index cannot be written.
        """
        from rejoinder.index.feedback import add_marks, describe_unknown, remove_mark

        if not isinstance(answer, Answer | str):
            raise InputError("answer must be one of the answers, or its sentence")
        if right not in (True, False, None):
            raise InputError(f"right must be True, False or None, found {right!r:.60}")
        sentence = answer if isinstance(answer, str) else answer.sentence
        if right is None:
            remove_mark(self.index.store, question, sentence)
        elif add_marks(self.index.store, [Mark(question, sentence, right)]):
            raise InputError(describe_unknown(sentence))

    @_over_current_index
    def marks(self) -> list[Mark]:
        """Return the marks whose sentences are still in the index, in order."""
        from rejoinder.index.feedback import get_marks

        return [stored.mark for stored in get_marks(self.index.store)]

    def highlight(
        self,
        question: str,
        text: str,
        *,
        title: str = "",
        threshold: float | None = None,
        budget_ms: float | None = None,
    ) -> "Highlights":
        """Rate every sentence of a text with this engine's scorer, as `rejoinder.highlight` does.

        Raises:
            InputError: the scorer is not calibrated for sentences, or an argument is wrong.
        """
        from rejoinder.engine.highlight import highlight

        return highlight(
            question,
            text,
            title=title,
            threshold=threshold,
            budget_ms=budget_ms,
            scorer=self._scorer,
        )

    @contextmanager
    def writing(self) -> Iterator[Index]:
        """Open the index a second time, to change it while questions are answered from the first.

        At the end of the block the rows that the scorer stores are brought up to date.
        """
        with Index(self.index.folder) as index:
            yield index
            if self._scorer:
                bind_scorer(self._scorer, index)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the index, and the retriever."""
        self._bound = None
        if self._index is not None:
            self._index.close()
        if self._retriever is not None:
            self._retriever.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def _reserve(self, deadline: Deadline | None, start: float) -> Deadline | None:
        """Return when ranking ends, so that a search engine can be asked for the context."""
        if deadline is None or self._retriever is None:
            return deadline
        took = time.perf_counter() - start
        return replace(deadline, at=deadline.at - min(took, deadline.left_ms / 4_000))

    def _prepare(
        self, hits: Sequence[ScoredCandidate], scorer: Scorer, deadline: Deadline | None
    ) -> list[Candidate]:
        """Return the candidates in document order, with tokens only if the scorer reads them."""
        reads_tokens = getattr(scorer, "tokenizer", None) == self.retriever.tokenizer_hash
        candidates = [_to_candidate(hit, reads_tokens=reads_tokens) for hit in hits]
        if reads_passages(scorer):
            candidates = self.retriever.read_passages(candidates, deadline=deadline)
        return group_by_document(candidates)

    def _to_answers(
        self,
        found: Iterator[FoundAnswer],
        top: int,
        where: Where | None,
        form: str,
        deadline: Deadline | None,
    ) -> Iterator[Answer]:
        """Yield answers in their order; the context of a group is read at once."""
        while group := take_group(found, top, form):
            chosen = [
                self._choose_page([item.candidate, *same], where, deadline) for item, same in group
            ]
            around = self.retriever.read_surroundings(chosen, form, where=where, deadline=deadline)
            for (item, duplicates), candidate, own in zip(group, chosen, around, strict=True):
                source = own.source or _get_source(candidate)
                same = [item.candidate, *duplicates]
                others = [self._locate(other) for other in same if other is not candidate]
                yield Answer(
                    candidate.text,
                    source,
                    item.score,
                    item.rank,
                    context=own.context,
                    other_sources=tuple(_drop_repeated(source, [*own.copies, *others])),
                    found_by=item.candidate.retrieval.sources if item.candidate.retrieval else (),
                )

    def _choose_page(
        self, same: Sequence[Candidate], where: Where | None, deadline: Deadline | None
    ) -> Candidate:
        """Return the first of several candidates that say the same; a page before its source."""
        first = same[0]
        if not is_page_source(first):
            return first
        page = next((other for other in same if not is_page_source(other)), None)
        find = self.retriever.find_page_copy
        return page or find(first, where=where, deadline=deadline) or first

    def _locate(self, candidate: Candidate) -> Source:
        return self.retriever.locate(candidate) or _get_source(candidate)


def open(place: Path | str, *, scorer: Scorer | str | Path = DEFAULT) -> Engine:
    """Open an index to answer questions from it; its first question is as fast as later ones.

    Args:
        place: the folder of the index; or the URL of a search engine that it was exported to,
            like `qdrant://localhost:6333/docs`.
        scorer: ranks the retrieved sentences: a scorer, a name of `rejoinder models list`,
            the folder of a bundle, or a cascade file.

    Raises:
        InputError: the URL is not one of a known search engine.
        StoreError: there is no index, or it cannot be read.
    """
    if isinstance(place, str) and "://" in place:
        engine = open_remote(place, to_scorer(scorer))
    else:
        engine = Engine(Index(place), to_scorer(scorer))
    if isinstance(scorer, (str, Path)):
        engine.prepare()  # a scorer of the caller's own is asked nothing by itself
    return engine


def open_remote(url: str, scorer: Scorer | None) -> Engine:
    """Open an index in a search engine; raise a StoreError if it cannot answer questions now."""
    from rejoinder.retrieval import open_retriever

    with ExitStack() as opened:
        retriever = opened.enter_context(open_retriever(url))
        retriever.check_ready()
        opened.pop_all()
    return Engine(None, scorer, retriever=retriever)


def open_files(
    paths: Iterable[Path | str],
    *,
    scorer: Scorer | str | Path = DEFAULT,
    on_event: "Callable[[FileEvent], None] | None" = None,
    on_progress: "Callable[[int, int], None] | None" = None,
) -> Engine:
    """Open files and folders to answer questions from them, through an index in the user's cache.

    A later call reads only files that have changed.  If the cache cannot be written, or another
    process is writing it, the files are read into a temporary index.

    Args:
        scorer: as for `open`.
        on_event: called for each file, once it is in the index.
        on_progress: called now and then with the number of bytes read, and of all.

    Raises:
        InputError: a path does not exist, or one of the paths is a file that cannot be read.
    """
    from tempfile import TemporaryDirectory

    from rejoinder.documents.discovery import show_path

    named = [Path(path) for path in paths]

    shown = {show_path(path.resolve()) for path in named}

    def check(event: "FileEvent") -> None:
        if event.what == "skipped" and event.path in shown:
            raise InputError(f"{event.path}: {event.reason}")
        if on_event is not None:
            on_event(event)

    temporary = None
    try:
        index = Index(get_cached_index(named), create=True)
        index.add(named, on_event=check, on_progress=on_progress)
    except StoreError:
        temporary = TemporaryDirectory(prefix="rejoinder-")
        index = Index(temporary.name, create=True)
        index.add(named, on_event=check, on_progress=on_progress)
    engine = Engine(index, to_scorer(scorer))
    engine._temporary = temporary
    return engine


def _to_candidate(hit: ScoredCandidate, *, reads_tokens: bool) -> Candidate:
    """Return a retrieved candidate with its score, and with tokens only if they are read."""
    candidate = hit.candidate
    tokens = candidate.tokens if reads_tokens else None
    if candidate.retrieval_score == hit.score and candidate.tokens is tokens:
        return candidate  # the index makes them so: nothing is copied
    return replace(candidate, retrieval_score=hit.score, tokens=tokens)


def _drop_repeated(shown: Source, others: Iterable[Source]) -> Iterator[Source]:
    """Yield the sources of other places, each once."""
    seen = {(shown.document, shown.start)}
    for source in others:
        if (place := (source.document, source.start)) not in seen:
            seen.add(place)
            yield source


def _get_source(candidate: Candidate) -> Source:
    """Return the source of a candidate that is not in the index."""
    document = candidate.document
    name, title = (document.id, document.title) if document else ("", "")
    return Source(name, title, None, 0, len(candidate.text))
