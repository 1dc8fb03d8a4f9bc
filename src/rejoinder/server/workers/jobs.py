"""Does the jobs of the server, with an engine: no HTTP here."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.file import read_cascade_file
from rejoinder.cascade.loading import DEFAULT, find_cascade, load
from rejoinder.engine.binding import bind_scorer
from rejoinder.engine.engine import Engine
from rejoinder.engine.explain import match_words
from rejoinder.engine.texts import RankedDocument, answer_text, rank_documents
from rejoinder.errors import InputError
from rejoinder.index.index import Index
from rejoinder.index.update import add_upload, remove_document
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import StaticVectors, load_vectors
from rejoinder.server.workers.messages import (
    AddDocument,
    Added,
    Answered,
    AnswerReport,
    Ask,
    DocumentReport,
    DocumentsPage,
    FrontierPoint,
    Info,
    Job,
    ListDocuments,
    MarkAnswer,
    Marked,
    Match,
    Rank,
    Ranked,
    RankedReport,
    Removed,
    RemoveDocument,
    Reply,
    SourceReport,
    SpanReport,
    StageInfo,
    StageReport,
)
from rejoinder.types import Answer, Answers, StageTrace


class NoSuchDocumentError(InputError):
    """The index holds no document of this number."""


class Work:
    """An engine that several threads may use at once."""

    def __init__(self, index: Path | None, scorer: str = DEFAULT) -> None:
        self._scorer = load(scorer)
        self._vectors = load_vectors()
        self._index = None if index is None else Index(index, create=True)
        self._engine = None if self._index is None else Engine(self._index, self._scorer)
        self.info = _describe(self._scorer, scorer, has_index=index is not None)

    def close(self) -> None:
        """Close the index."""
        if self._index:
            self._index.close()

    def do(self, job: Job) -> Reply:
        """Return the reply to a job.

        Raises:
            RejoinderError: it cannot be done, and why.
        """
        match job:
            case Rank():
                return self._rank(job)
            case Ask():
                return self._ask(job)
            case ListDocuments():
                return self._list(job)
            case AddDocument():
                return self._add(job)
            case RemoveDocument():
                return self._remove(job)
            case MarkAnswer():
                return self._mark(job)

    def _rank(self, job: Rank) -> Ranked:
        ranking = rank_documents(
            job.question,
            job.texts,
            scorer=self._scorer,
            titles=job.titles,
            top=job.top,
            budget_ms=job.budget_ms,
        )
        return Ranked(
            question=ranking.question,
            scorer=ranking.scorer,
            documents=[_report_document(item, job.spans) for item in ranking.documents],
            trace=_report_trace(ranking.trace),
            confidence=ranking.confidence,
            abstains=ranking.abstains,
        )

    def _ask(self, job: Ask) -> Answered:
        start = time.perf_counter()
        if job.text is not None:
            found = answer_text(
                job.question, job.text, scorer=self._scorer, top=job.top, budget_ms=job.budget_ms
            )
        else:
            found = self._get_engine().answer(
                job.question, top=job.top, budget_ms=job.budget_ms, where=job.where
            )
        elapsed = 1000 * (time.perf_counter() - start)
        return _report_answers(found, elapsed, self._vectors if job.explain else None)

    def _list(self, job: ListDocuments) -> DocumentsPage:
        index = self._get_index()
        rows, total = index.store.list_documents(
            after=job.after, limit=job.limit + 1, contains=job.contains
        )
        followed = index.followed_generation
        documents = [
            DocumentReport(
                id=row.document.id,
                name=row.document.name,
                title=row.document.title,
                sentences=row.document.sentences,
                bytes=row.size_bytes,
                metadata=dict(row.document.metadata),
                state="ready" if row.generation <= followed else "waiting",
            )
            for row in rows[: job.limit]
        ]
        has_more = len(rows) > job.limit
        return DocumentsPage(documents, total, documents[-1].id if has_more else None)

    def _add(self, job: AddDocument) -> Added:
        pieces = self._vectors.pieces
        assert pieces is not None
        with self._changing() as index:
            event = add_upload(index, job.name, Path(job.path), pieces, metadata=job.metadata)
        assert event.what != "removed"
        return Added(event.path, event.what, event.documents, event.sentences, event.reason)

    def _remove(self, job: RemoveDocument) -> Removed:
        with self._changing() as index:
            name = remove_document(index, job.id)
        if name is None:
            raise NoSuchDocumentError(f"the index holds no document {job.id}")
        return Removed(job.id, name)

    def _mark(self, job: MarkAnswer) -> Marked:
        self._get_engine().mark(job.question, job.sentence, right=job.right)
        return Marked(job.question, job.sentence, job.right)

    @contextmanager
    def _changing(self) -> Iterator[Index]:
        """Give an index of its own, so that others go on reading the one that is open."""
        with Index(self._get_index().folder) as index:
            yield index
            bind_scorer(self._scorer, index)  # what is stored for it follows as it is opened

    def _get_index(self) -> Index:
        if self._index is None:
            raise InputError("no index is served; start it with 'rejoinder serve INDEX'")
        return self._index

    def _get_engine(self) -> Engine:
        self._get_index()
        assert self._engine is not None
        return self._engine


def _describe(scorer: Scorer, name: str, *, has_index: bool) -> Info:
    if not isinstance(scorer, Cascade):
        return Info(scorer.name, [StageInfo(scorer.name, None)], has_index, None, {}, [])
    file = read_cascade_file(find_cascade(name))
    return Info(
        scorer.name,
        [StageInfo(stage.scorer.name, stage.keep) for stage in scorer.stages],
        has_index,
        scorer.calibration.threshold if scorer.calibration else None,
        dict(file.tuned),
        [FrontierPoint(item.cascade, item.accuracy, item.predicted_ms) for item in file.frontier],
    )


def _report_document(item: RankedDocument, spans: int | None) -> RankedReport:
    return RankedReport(
        item.place,
        item.rank,
        item.score,
        item.relevance,
        [
            SpanReport(span.sentence, span.start, span.end, span.score, span.relevance)
            for span in item.spans[:spans]
        ],
    )


def _report_trace(trace: Sequence[StageTrace]) -> list[StageReport]:
    return [
        StageReport(
            stage.scorer,
            stage.given,
            stage.scored,
            stage.kept,
            round(stage.milliseconds, 3),
            stage.timed_out,
        )
        for stage in trace
    ]


def _report_answers(found: Answers, elapsed: float, vectors: StaticVectors | None) -> Answered:
    return Answered(
        question=found.question,
        answers=[_report_answer(found.question, answer, vectors) for answer in found.answers],
        closest=_report_answer(found.question, found.closest, vectors) if found.closest else None,
        abstains=found.abstains,
        confidence=found.confidence,
        scorer=found.scorer,
        retrieved=found.retrieved,
        milliseconds=round(elapsed, 3),
        trace=_report_trace(found.trace),
    )


def _report_answer(question: str, answer: Answer, vectors: StaticVectors | None) -> AnswerReport:
    source = answer.source
    return AnswerReport(
        sentence=answer.sentence,
        source=SourceReport(
            source.document, source.title, source.line, source.page, source.start, source.end
        ),
        score=answer.score,
        rank=answer.rank,
        confidence=answer.confidence,
        before=answer.before,
        after=answer.after,
        matches=None
        if vectors is None
        else [
            Match(match.question_word, match.sentence_word, match.relatedness)
            for match in match_words(question, answer.sentence, vectors)
        ],
    )
