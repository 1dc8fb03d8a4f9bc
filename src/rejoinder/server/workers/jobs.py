"""Run jobs with an engine; nothing here knows HTTP."""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.file import read_cascade_file
from rejoinder.cascade.loading import find_cascade, load
from rejoinder.engine.answers import TextOptions
from rejoinder.engine.citing import cite
from rejoinder.engine.engine import Engine, open_remote
from rejoinder.engine.explain import explain_answers
from rejoinder.engine.highlight import highlight_texts
from rejoinder.engine.texts import DocumentRanking, answer_text, rank_documents
from rejoinder.errors import InputError
from rejoinder.index.file_reader import compare_file
from rejoinder.index.index import Index
from rejoinder.models.ranking import check_min_confidence
from rejoinder.models.scorer import Scorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.server.workers.messages import (
    AddDocument,
    AnswerJob,
    CiteRequest,
    DocumentBlock,
    DocumentContent,
    DocumentsPage,
    Facet,
    Facets,
    FacetValue,
    Failure,
    Feedback,
    FollowIndex,
    Highlighted,
    HighlightedDocument,
    HighlightRequest,
    InputDocument,
    Job,
    ListDocuments,
    ListFacets,
    RankRequest,
    ReadDocument,
    Removed,
    RemovedMany,
    RemoveDocument,
    RemoveDocuments,
    Reply,
    SentencePlace,
    StageInfo,
    WorkerInfo,
)
from rejoinder.types import Answers, Citations, Document

MAX_FACET_VALUES = 30


class JobRunner:
    """An index and a scorer; several threads may run jobs at once."""

    def __init__(
        self,
        place: Path | str | None,
        scorer: str,
        provider: str = "cpu",
        *,
        min_confidence: float | None = None,
        create: bool = True,
    ) -> None:
        """Open an index and a scorer.

        Args:
            place: the folder of the index, or the URL of a search engine.
            min_confidence: for jobs without one; by default the scorer decides.
            create: create an empty index where there is none.

        Raises:
            InputError: the scorer has no confidence to compare with `min_confidence`.
        """
        self._scorer = load(scorer, provider=provider)
        check_min_confidence(min_confidence, self._scorer)
        self._min_confidence = min_confidence
        load_vectors()  # now, so that the first request to explain does not wait
        self._engine: Engine | None = None
        if isinstance(place, str):
            self._engine = open_remote(place, self._scorer)
        elif place is not None:
            if create:
                Index(place, create=True).close()
            self._engine = Engine(Index(place), self._scorer)
        self.info = _describe(
            self._scorer, scorer, has_index=place is not None, min_confidence=min_confidence
        )

    def close(self) -> None:
        """Close the index."""
        if self._engine:
            self._engine.close()

    def run(self, job: Job) -> Reply | Failure:
        """Return the reply to a job; the index that is there now stays open meanwhile."""
        is_own = isinstance(job, RankRequest | HighlightRequest)
        is_alone = any(getattr(job, name, None) is not None for name in ("text", "sources"))
        needs_index = not (is_own or is_alone)
        with self._engine.leased() if self._engine and needs_index else nullcontext():
            return self._run(job)

    def _run(self, job: Job) -> Reply | Failure:
        match job:
            case RankRequest():
                return self._rank(job)
            case HighlightRequest():
                return self._highlight(job)
            case AnswerJob():
                return self._answer(job)
            case CiteRequest():
                return self._cite(job)
            case ListDocuments() | ListFacets() | ReadDocument():
                return self._show(job)
            case AddDocument() | RemoveDocument() | RemoveDocuments():
                return self._change(job)
            case Feedback():
                self._get_engine().mark(job.question, job.sentence, right=job.right)
                return job
            case FollowIndex():
                self._get_engine().retriever.check_ready()
                return job

    def _show(self, job: ListDocuments | ListFacets | ReadDocument) -> Reply | Failure:
        match job:
            case ListDocuments():
                return self._list(job)
            case ListFacets():
                return self._list_facets()
            case ReadDocument():
                return self._read(job)

    def _change(self, job: AddDocument | RemoveDocument | RemoveDocuments) -> Reply | Failure:
        match job:
            case AddDocument():
                with self._get_engine().writing() as index:
                    return index.add_upload(job.name, Path(job.path), metadata=job.metadata)
            case RemoveDocument():
                return self._remove(job)
            case RemoveDocuments():
                return self._remove_many(job)

    def sample_sentences(self, count: int) -> list[str]:
        """Return sentences of the index; none without an index on this machine."""
        has_index = self._engine is not None and self._engine.has_index
        return self._get_engine().index.store.sample_sentences(count) if has_index else []

    def _rank(self, job: RankRequest) -> DocumentRanking:
        documents = _to_documents(job.documents)
        return rank_documents(
            job.question,
            [document.text for document in documents],
            scorer=self._scorer,
            titles=[document.title or "" for document in documents],
            ids=[document.id for document in documents],
            top=job.top,
            spans=1 if job.spans is None else job.spans,
            budget_ms=job.budget_ms,
            min_confidence=self._get_min_confidence(job),
        )

    def _highlight(self, job: HighlightRequest) -> Highlighted:
        documents = _to_documents(job.documents)
        found = highlight_texts(
            job.question,
            [document.text for document in documents],
            scorer=self._scorer,
            titles=[document.title or "" for document in documents],
            threshold=job.threshold,
            budget_ms=job.budget_ms,
        )
        highlighted = [
            HighlightedDocument(
                document.id,
                item.sentences,
                item.prune(job.pruning_threshold) if job.prune else None,
                item.note,
            )
            for document, item in zip(documents, found, strict=True)
        ]
        first = found[0]
        return Highlighted(
            *(job.question, highlighted, first.threshold),
            *(first.scorer, first.milliseconds, first.trace),
        )

    def _cite(self, job: CiteRequest) -> Citations:
        options: dict[str, Any] = {
            name: getattr(job, name) for name in ("top", "min_support", "where", "budget_ms")
        }
        if job.sources is None:
            return cite(job.answer, self._get_engine(), **options)
        documents = [
            Document(source.id or str(place), source.title or "", text=source.text)
            for place, source in enumerate(_to_documents(job.sources))
        ]
        return cite(job.answer, documents, **options)

    def _answer(self, job: AnswerJob) -> Answers:
        options: TextOptions = {
            "top": job.top or 1,
            "budget_ms": job.budget_ms,
            "min_confidence": self._get_min_confidence(job),
            "context": job.context or "paragraph",
        }
        if job.text is None:
            explain = bool(job.explain)
            engine = self._get_engine()
            return engine.answer(job.question, where=job.where, explain=explain, **options)
        answers = answer_text(job.question, job.text, scorer=self._scorer, **options)
        return explain_answers(answers) if job.explain else answers

    def _get_min_confidence(self, job: AnswerJob | RankRequest) -> float | None:
        return self._min_confidence if job.min_confidence is None else job.min_confidence

    def _list(self, job: ListDocuments) -> DocumentsPage:
        index = self._get_engine().index
        rows, total = index.store.list_documents(
            searchable=index.searchable_generation,
            after=job.after,
            limit=job.limit + 1,
            contains=job.contains,
            sort=job.sort,
        )
        documents = rows[: job.limit]
        if len(rows) <= job.limit:
            return DocumentsPage(documents, total, None)
        by_id = job.sort in ("added", "newest")
        return DocumentsPage(
            documents, total, documents[-1].id if by_id else job.after + len(documents)
        )

    def _list_facets(self) -> Facets:
        engine = self._get_engine()
        if not engine.has_index:  # search engines are not asked for the values they filter by
            return Facets([])
        counts = engine.index.count_metadata(values=MAX_FACET_VALUES)
        facets = []
        for key, group in groupby(counts, key=lambda count: count.key):
            own = list(group)
            values = [FacetValue(count.value, count.documents) for count in own]
            facets.append(Facet(key, values, own[0].distinct, own[0].keyed))
        return Facets(facets)

    def _read(self, job: ReadDocument) -> DocumentContent | Failure:
        store = self._get_engine().index.store
        found = store.find_documents("id", [job.id])
        if not found:
            return _describe_missing(job.id)
        (document,) = found
        file = store.get_file(document.id)
        known = store.get_block_starts(document.id)
        blocks = [
            DocumentBlock(
                known[sentences[0].block][0],
                headings,
                [SentencePlace(item.start, item.end, item.line, item.page) for item in sentences],
            )
            for headings, sentences in store.iterate_blocks(document.id)
        ]
        return DocumentContent(
            document.id,
            document.name,
            document.title,
            dict(document.metadata),
            store.get_text(document.id),
            blocks,
            compare_file(*file) if file else None,
        )

    def _remove(self, job: RemoveDocument) -> Removed | Failure:
        with self._get_engine().writing() as index:
            name = index.remove_document(job.id)
        if name is None:
            return _describe_missing(job.id)
        return Removed(job.id, name)

    def _remove_many(self, job: RemoveDocuments) -> RemovedMany:
        removed, missing = [], []
        with self._get_engine().writing() as index:
            for id_ in dict.fromkeys(job.ids):
                name = index.remove_document(id_)
                if name is None:
                    missing.append(id_)
                else:
                    removed.append(Removed(id_, name))
        return RemovedMany(removed, missing)

    def _get_engine(self) -> Engine:
        if self._engine is None:
            raise InputError("no index is served; start it with 'rejoinder serve INDEX'")
        return self._engine


def _to_documents(given: Sequence[str | InputDocument]) -> list[InputDocument]:
    return [InputDocument(item) if isinstance(item, str) else item for item in given]


def _describe_missing(number: int) -> Failure:
    return Failure("missing", f"the index has no document {number}")


def _describe(
    scorer: Scorer, name: str, *, has_index: bool, min_confidence: float | None
) -> WorkerInfo:
    if not isinstance(scorer, Cascade):
        return WorkerInfo(scorer.name, [StageInfo(scorer.name, None)], has_index)
    file = read_cascade_file(find_cascade(name))
    own = scorer.calibration.min_confidence if scorer.calibration else None
    return WorkerInfo(
        scorer.name,
        [StageInfo(stage.scorer.name, stage.keep) for stage in scorer.stages],
        has_index,
        own if min_confidence is None else min_confidence,
        scorer.calibration is not None,
        scorer.sentences is not None,
        dict(file.tuned),
        file.frontier,
    )
