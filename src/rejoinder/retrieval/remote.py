"""An index in a search engine: the parts that all engines share.

`RemoteIndex` is a retriever over a few requests that each engine implements: two searches in one
request, records by id, and what an export needs.  It keeps no state of a question or a document,
so any number of servers may answer from the same engine.

Words and vectors are merged by the formula of the embedded index (index/merging.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self, TypeVar, overload

from rejoinder.errors import BundleError, StoreError
from rejoinder.index.candidates import MAX_COPIES, is_page_source
from rejoinder.index.fulltext.query import split_question
from rejoinder.index.fulltext.terms import stem_words, weigh_counts
from rejoinder.index.index import MIN_SEARCHED
from rejoinder.index.merging import merge
from rejoinder.index.sqlite.context import ReadBlock, Surroundings, choose_context
from rejoinder.models.registry import SHIPPED_ENCODER, open_sentence_encoder
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder, Vector
from rejoinder.models.staged import Deadline
from rejoinder.retrieval.record import Schema, SentenceRecord, make_id, make_tag_filters
from rejoinder.retrieval.retriever import Retriever
from rejoinder.retrieval.url import EngineUrl
from rejoinder.types import Candidate, Document, RetrievalScores, ScoredCandidate, Source, Where

SECONDS = 10.0
"""How long a request may take that has no deadline."""
LOAD_SECONDS = 120.0
"""How long a request of an export may take."""
READY_SECONDS = 2.0
"""How long all shards may take to answer that they are there."""
NOWHERE = make_id("", 0)
"""The id of no sentence: documents have a name."""
MIN_SECONDS = 0.001
Item = TypeVar("Item")
Result = TypeVar("Result")
NEAR = {"sentence": 0, "paragraph": 40, "section": 300}
"""Sentences before and after an answer that are read for its context."""


class QueryWord(NamedTuple):
    """A content word of a question."""

    word: str
    """Normalised, not stemmed."""
    terms: tuple[str, ...]
    """Its stems; mostly one."""


@dataclass(frozen=True, slots=True)
class SentenceQuery:
    """What an engine searches for.

    A sentence matches if it has a content word or is near the vector, and has a tag of each group.
    """

    question: str
    content: tuple[QueryWord, ...]
    function: tuple[str, ...]
    """Stems of function words, which only order the sentences that a content word has found."""
    vector: Vector | None
    min_cosine: float
    """Sentences whose cosine is smaller are not about the question."""
    tags: tuple[tuple[str, ...], ...]
    limit: int
    """At most so many sentences by words, and as many by the vector."""


class Found(NamedTuple):
    """What an engine found: scores by id, best first, and the records."""

    words: Mapping[str, float]
    meaning: Mapping[str, float]
    """Cosines."""
    records: Mapping[str, SentenceRecord]


class TermCounts(NamedTuple):
    """How many sentences have each term; a term that none has may be left out."""

    sentences: Mapping[str, int]
    total: int
    """How many sentences may answer."""


@dataclass(frozen=True, slots=True)
class RemoteCandidate(Candidate):
    """A candidate with the record that it was found in."""

    record: SentenceRecord | None = field(default=None, repr=False, compare=False)


class RemoteIndex(Retriever, ABC):
    """An index in a search engine.  Thread-safe.

    Methods raise a `StoreError` that names the engine, the request and the remedy.
    """

    engine: str
    """The name of the engine, for messages."""

    def __init__(self, url: EngineUrl) -> None:
        self.url = url
        self.label = f"{self.engine} at {url.place}"
        self._schema: Schema | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Each engine implements these.  `seconds` is how long the request may take.

    @abstractmethod
    def close(self) -> None:
        """Close all connections."""

    @abstractmethod
    def read_schema(self, seconds: float = SECONDS) -> Schema | None:
        """Return the stored schema; None where the engine has nothing of this name.

        Raises:
            StoreError: the engine does not answer, is of a version that cannot be used, or what
                has this name is not an export of rejoinder.
        """

    @abstractmethod
    def find(self, query: SentenceQuery, seconds: float) -> Found:
        """Return the sentences that match, with their records (without passages)."""

    @abstractmethod
    def fetch(
        self, ids: Sequence[str], digests: Sequence[int], seconds: float
    ) -> list[SentenceRecord]:
        """Return the records of these ids that exist, with passages, in any order.

        And, in the same request, up to `MAX_COPIES` others that may answer of each digest.
        """

    def count_terms(
        self,
        terms: Collection[str],  # noqa: ARG002
        seconds: float,  # noqa: ARG002
    ) -> TermCounts | None:
        """Return how many sentences have each term; None where the engine does not tell."""
        return None

    @abstractmethod
    def create(self, schema: Schema) -> None:
        """Create what holds the records; the engine has nothing of this name yet."""

    @abstractmethod
    def get_revisions(self, documents: Collection[str] | None = None) -> dict[str, str]:
        """Return the revisions by document that were put.

        Args:
            documents: only of these, at most a few thousand.
        """

    @abstractmethod
    def put_revisions(self, revisions: Mapping[str, str]) -> None:
        """Store the revision of each of these documents."""

    @abstractmethod
    def write(self, records: Sequence[SentenceRecord]) -> None:
        """Store records; each replaces the one of the same id."""

    @abstractmethod
    def delete_sentences(self, revisions: Mapping[str, str]) -> None:
        """Delete the sentences of these documents that are not of the given revision."""

    @abstractmethod
    def delete_revisions(self, documents: Collection[str]) -> None:
        """Delete the revisions of these documents."""

    @abstractmethod
    def finish(self) -> None:
        """Make everything that was written or deleted visible to searches."""

    # The retriever.

    def open(self, seconds: float = SECONDS) -> Schema:
        """Return the schema of the records, which is read once."""
        if self._schema is None:
            self._schema = self.read_schema(seconds)
        if self._schema is None:
            raise self.missing()
        return self._schema

    @property
    def schema(self) -> Schema:
        """The schema of the records."""
        return self.open()

    @property
    def has_vectors(self) -> bool:
        """Whether the records have vectors."""
        return bool(self.schema.encoder)

    @cached_property
    def encoder(self) -> SentenceEncoder | None:
        """The encoder of the stored vectors; None where there are none."""
        schema = self.schema
        if not schema.encoder:
            return None
        folder = Path(schema.bundle) if schema.bundle else SHIPPED_ENCODER
        try:
            encoder = open_sentence_encoder(folder)
        except BundleError as error:
            raise StoreError(
                f"{self.label}: the encoder of its vectors is missing: {error}"
            ) from error
        if encoder.hash != schema.encoder:
            raise StoreError(
                f"{self.label}: its vectors were made by another encoder than {encoder.folder};"
                " export the index again, under another name"
            )
        return encoder

    def check_ready(self) -> None:
        """Raise a StoreError if the index is gone, or a part of it does not answer."""
        if self.read_schema() is None:
            raise self.missing()
        # Each shard is asked for a sentence that none of them has.
        self.fetch([NOWHERE], (), READY_SECONDS)

    def search(
        self,
        question: str,
        k: int,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> list[ScoredCandidate]:
        """Return at most k candidates, best first; of copies, the one that matches best."""
        if k < 1:
            return []
        self.open(_count_seconds(deadline))
        limit = max(MIN_SEARCHED, 2 * k)
        while True:
            query = self._make_query(question, where, limit)
            found = self.find(query, _count_seconds(deadline))
            results = self._take_distinct(found, k, deadline)
            is_all = max(len(found.words), len(found.meaning)) < limit
            if len(results) == k or is_all or limit > MAX_COPIES * k:
                return results
            limit *= 4  # most of them are copies of each other

    def locate(self, candidate: Candidate) -> Source | None:
        """Return the source of a candidate, which came with it."""
        record = _get_record(candidate)
        return record and _to_source(record)

    def read_surroundings(
        self,
        candidates: Sequence[Candidate],
        form: str,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> list[Surroundings]:
        """Return the source, context and copies of each candidate, in one request."""
        records = [_get_record(candidate) for candidate in candidates]
        known = [record for record in records if record]
        ids = [id_ for record in known for id_ in _list_near(record, NEAR[form])]
        digests = [record.digest for record in known]
        # Once the budget is used up, the answer comes without context.
        fetched = self._fetch_in_time(ids, digests, deadline) or []
        tags = make_tag_filters(where)
        return [
            _make_surroundings(record, fetched, form, tags) if record else Surroundings(None)
            for record in records
        ]

    def find_page_copy(
        self,
        candidate: Candidate,
        *,
        where: Where | None = None,
        deadline: Deadline | None = None,
    ) -> Candidate | None:
        """Return the same sentence of a document that is no source of a page, if there is one."""
        record = _get_record(candidate)
        if record is None:
            return None
        tags = make_tag_filters(where)
        make = _CandidateMaker(self, deadline)
        for copy in self._fetch_in_time((), [record.digest], deadline) or ():
            other = make(copy)
            if _is_copy(record, copy, tags) and not is_page_source(other):
                return other
        return None

    def weigh_words(self, words: Sequence[str], *, deadline: Deadline | None = None) -> list[float]:
        """Return how rare each word is, from 0 to 1; 1 where the engine counts no words."""
        stems = [stem_words(word) for word in words]
        terms = {term for each in stems for term in each}
        counts = _ask_in_time(lambda seconds: self.count_terms(terms, seconds), deadline)
        return weigh_counts(stems, *counts) if counts else super().weigh_words(words)

    def read_passages(
        self, candidates: Sequence[Candidate], *, deadline: Deadline | None = None
    ) -> list[Candidate]:
        """Return the candidates with their passages."""
        records = self._fetch_in_time([item.id for item in candidates], (), deadline)
        if records is None:
            return list(candidates)
        passages = {record.id: record.passage for record in records}
        return [replace(item, passage=passages.get(item.id) or None) for item in candidates]

    def get_texts(
        self, document: str, count: int, deadline: Deadline | None = None
    ) -> tuple[str, ...]:
        """Return the texts of the sentences of a document; empty where they were removed.

        Raises:
            StoreError: the engine does not answer, or not before the deadline.
        """
        ids = [make_id(document, position) for position in range(count)]
        records = self._fetch_in_time(ids, (), deadline)
        if records is None:
            request = "reading the sentences of a document"
            raise self.failed(request, "the budget of the question is used up", "allow more time")
        texts = {record.id: record.text for record in records}
        return tuple(texts.get(id_, "") for id_ in ids)

    def _fetch_in_time(
        self, ids: Sequence[str], digests: Sequence[int], deadline: Deadline | None
    ) -> list[SentenceRecord] | None:
        """Return what `fetch` does; None where the deadline has passed."""
        if not ids and not digests:
            return []
        unique = list(dict.fromkeys(ids)), list(dict.fromkeys(digests))
        return _ask_in_time(lambda seconds: self.fetch(*unique, seconds), deadline)

    # For the engines.

    def missing(self) -> StoreError:
        """Return the error that the engine has nothing of this name."""
        return StoreError(
            f"{self.label}: there is no index; load one with"
            f" 'rejoinder index export --index DIR --to {self.url.shown}'"
        )

    def foreign(self, what: str) -> StoreError:
        """Return the error that something of this name is not rejoinder's."""
        return StoreError(
            f"{self.label}: {what} of this name was not made by rejoinder; choose another name"
        )

    def failed(self, request: str, reason: str, remedy: str = "") -> StoreError:
        """Return the error of a request."""
        return StoreError(f"{self.label}: {request} failed ({reason}){remedy and f'; {remedy}'}")

    def encode(self, question: str) -> Vector | None:
        """Return the vector of a question; None where it has none."""
        vector = self.encoder.encode_question(question) if self.encoder else None
        return vector if vector is not None and vector.any() else None

    def _make_query(self, question: str, where: Where | None, limit: int) -> SentenceQuery:
        content, function = split_question(question)
        words = tuple(QueryWord(word, tuple(stem_words(word))) for word in content)
        own = {term for word in words for term in word.terms}
        others = sorted(set(stem_words(" ".join(function))) - own)
        return SentenceQuery(
            question,
            tuple(word for word in words if word.terms),
            tuple(others),
            self.encode(question),
            self.encoder.min_cosine if self.encoder else 0.0,
            make_tag_filters(where),
            limit,
        )

    def _take_distinct(
        self, found: Found, k: int, deadline: Deadline | None
    ) -> list[ScoredCandidate]:
        results: dict[str, ScoredCandidate] = {}
        make = _CandidateMaker(self, deadline)
        for id_, scores in merge(found.words, found.meaning).items():
            record = found.records[id_]
            if record.text not in results:
                candidate = make(record, scores)
                results[record.text] = ScoredCandidate(candidate, scores.merged, len(results) + 1)
                if len(results) == k:
                    break
        return list(results.values())


class _CandidateMaker:
    """Makes the candidates of one question; those of a document share it."""

    def __init__(self, index: RemoteIndex, deadline: Deadline | None) -> None:
        self._index = index
        self._deadline = deadline
        self._documents: dict[str, Document] = {}

    def __call__(
        self, record: SentenceRecord, scores: RetrievalScores | None = None
    ) -> RemoteCandidate:
        """Return the candidate of a record."""
        document = self._documents.get(record.document)
        if document is None:
            sentences = RemoteSentences(self._index, record, self._deadline)
            document = self._documents[record.document] = Document(
                record.document, record.title, sentences, metadata=record.metadata
            )
        return RemoteCandidate(
            record.id,
            record.text,
            document,
            record.position,
            record.headings,
            retrieval_score=scores and scores.merged,
            retrieval=scores,
            record=record,
        )


class RemoteSentences(Sequence[str]):
    """The sentences of a document in order, fetched on first access.

    They are part of the question that has found the document, so they are fetched before its
    deadline or not at all.
    """

    def __init__(
        self, index: RemoteIndex, record: SentenceRecord, deadline: Deadline | None
    ) -> None:
        self._index = index
        self._document = record.document
        self._revision = record.revision
        self._count = record.sentences
        self._deadline = deadline

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        return self._texts[place]

    def __eq__(self, other: object) -> bool:
        """Whether one can be read in place of the other.

        Scorers keep documents for later questions, whose deadlines are others; so two are only
        equal once one of them has its texts.
        """
        return self is other or (
            isinstance(other, RemoteSentences)
            and (other._document, other._revision) == (self._document, self._revision)
            and other._index is self._index
            and (self._deadline == other._deadline or self._is_read or other._is_read)
        )

    def __hash__(self) -> int:
        return hash(self._document)

    @property
    def _is_read(self) -> bool:
        return "_texts" in self.__dict__

    @cached_property
    def _texts(self) -> tuple[str, ...]:
        return self._index.get_texts(self._document, self._count, self._deadline)


def sort_hits(
    scores: Mapping[str, float], records: Mapping[str, SentenceRecord]
) -> list[tuple[str, float]]:
    """Return scores best first; equal ones in the order of documents, as every replica has them."""

    def get_place(item: tuple[str, float]) -> tuple[float, str, int]:
        record = records[item[0]]
        return -item[1], record.document, record.position

    return sorted(scores.items(), key=get_place)


def take_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield lists of at most so many items.

    >>> list(take_batches("abc", 2))
    [['a', 'b'], ['c']]
    """
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def _ask_in_time(ask: Callable[[float], Result], deadline: Deadline | None) -> Result | None:
    """Return the answer to a request; None where the deadline has passed."""
    if deadline is not None and deadline.left_ms <= 0:
        return None
    try:
        return ask(_count_seconds(deadline))
    except StoreError:
        if deadline is None or deadline.left_ms > 0:
            raise
        return None


def _count_seconds(deadline: Deadline | None) -> float:
    return SECONDS if deadline is None else min(SECONDS, max(MIN_SECONDS, deadline.left_ms / 1000))


def _list_near(record: SentenceRecord, reach: int) -> list[str]:
    """Return the ids of the sentences around one that are in its document."""
    first = max(0, record.position - reach)
    stop = min(record.sentences, record.position + reach + 1)
    return [make_id(record.document, position) for position in range(first, stop)]


def _get_record(candidate: Candidate) -> SentenceRecord | None:
    return candidate.record if isinstance(candidate, RemoteCandidate) else None


def _to_source(record: SentenceRecord) -> Source:
    headings = (*record.headings, record.term) if record.term else record.headings
    place = record.line, record.start, record.end, record.page
    return Source(record.document, record.title, *place, headings, record.anchor, None, record.url)


def _make_surroundings(
    record: SentenceRecord,
    fetched: Iterable[SentenceRecord],
    form: str,
    tags: Sequence[Collection[str]],
) -> Surroundings:
    fetched = list(fetched)
    source = _to_source(record)
    near = sorted(
        (
            other
            for other in fetched
            if (other.document, other.revision) == (record.document, record.revision)
            and abs(other.position - record.position) <= NEAR[form]
        ),
        key=lambda other: other.position,
    )
    blocks = _join_blocks(near)
    copies = [_to_source(copy) for copy in fetched if _is_copy(record, copy, tags)][:MAX_COPIES]
    if form == "sentence" or not any(block.end > source.start for block in blocks):
        return Surroundings(source, (), tuple(copies))
    return Surroundings(source, choose_context(blocks, source, form), tuple(copies))


def _is_copy(
    record: SentenceRecord, other: SentenceRecord, tags: Sequence[Collection[str]]
) -> bool:
    return (
        other.may_answer
        and other.digest == record.digest
        and other.id != record.id
        and all(not set(group).isdisjoint(other.tags) for group in tags)
    )


def _join_blocks(records: Iterable[SentenceRecord]) -> list[ReadBlock]:
    """Return the blocks of consecutive sentences of a document."""
    parts: dict[int, list[SentenceRecord]] = {}
    for record in records:
        parts.setdefault(record.block, []).append(record)
    blocks = []
    for own in parts.values():
        first, last = own[0], own[-1]
        text = (first.raw or first.text) + "".join(one.raw or f" {one.text}" for one in own[1:])
        blocks.append(ReadBlock(first.kind, first.path, last.end - len(text), last.end, text))
    return blocks
