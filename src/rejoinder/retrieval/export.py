"""Loads an index into a search engine, and brings the engine up to date with it.

The engine keeps the revision of each document.  An export compares them with the index, deletes
what is gone, and writes what is new or has changed; so it can be killed and repeated at any time,
and run from any copy of the index.  A document whose writing has begun has an empty revision until
all of its sentences are stored.

The revisions of all documents, of both sides, are held in memory; sentences are read as a stream.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple
from uuid import uuid4

from rejoinder.documents.parsed import Sentence
from rejoinder.documents.passages import Passage, Section, iterate_passages
from rejoinder.errors import StoreError
from rejoinder.index.candidates import URL, make_url
from rejoinder.index.fulltext.terms import join_fields
from rejoinder.index.index import Index
from rejoinder.index.sqlite.documents import DocumentStore, StoredDocument, compute_digest
from rejoinder.index.sqlite.passages import get_passages
from rejoinder.index.vectors.vector_index import VectorIndex, name_bundle
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.retrieval.record import Schema, SentenceRecord, make_id, make_tags
from rejoinder.retrieval.remote import RemoteIndex, take_batches
from rejoinder.retrieval.url import open_retriever

BATCH = 500
"""Records of one request, about."""
MAX_OPEN = 1_000
"""Documents whose writing is announced in one request."""
SOURCE = "export source"
"""The setting of an index that identifies it to engines."""

TABLE = "table"
"""The source of documents that came from tables (load.py)."""

OnProgress = Callable[[int, int], None]


class ExportReport(NamedTuple):
    """The outcome of an export, in documents."""

    written: int
    """New or changed."""
    removed: int
    unchanged: int
    sentences: int
    """How many were written."""


def export_index(
    index: Index, url: str, *, on_progress: OnProgress = lambda _, __: None
) -> ExportReport:
    """Bring a search engine up to date with an index.

    Args:
        url: where the engine is (`open_retriever`).
        on_progress: called with the number of sentences written, and of all to write.

    Raises:
        InputError: the URL is not one of a known engine.
        StoreError: the engine does not answer or refuses, or has something else of this name.
    """
    with open_retriever(url) as remote, index.leased() as opened:
        return _export(opened, remote, on_progress)


def _export(index: Index, remote: RemoteIndex, on_progress: OnProgress) -> ExportReport:
    store, encoder = index.store, index.vectors.find_encoder()
    _prepare(remote, store, encoder)
    checksums = store.get_checksums()
    documents = {item.name: item for item in store.get_documents()}
    known = remote.get_revisions()
    removed = [name for name in known if name not in documents]
    if removed:
        remote.delete_sentences(dict.fromkeys(removed, ""))
    missing = [item for item in documents.values() if known.get(item.name) != checksums[item.id]]
    total, written = sum(item.sentences for item in missing), 0
    on_progress(0, total)
    reader = RecordReader(store, index.vectors, encoder)
    revisions: dict[str, str] = {}
    for group in take_batches(missing, MAX_OPEN):
        if revisions:
            remote.put_revisions(revisions)
        revisions = {item.name: checksums[item.id] for item in group}
        open_documents(remote, revisions, known)
        records = (each for item in group for each in reader.read(item, revisions[item.name]))
        for batch in take_batches(records, BATCH):
            remote.write(batch)
            written += len(batch)
            on_progress(written, total)
    if removed or missing:
        remote.finish()
        # Last, so that whoever continues after a kill finishes too.
        if revisions:
            remote.put_revisions(revisions)
        remote.delete_revisions(removed)
    return ExportReport(len(missing), len(removed), len(documents) - len(missing), written)


def _prepare(remote: RemoteIndex, store: DocumentStore, encoder: SentenceEncoder | None) -> None:
    """Create what holds the records, or check that it is of this index and its encoder."""
    source = str(store.get(SOURCE) or "")
    if not source:
        source = uuid4().hex
        store.set(SOURCE, source)
    wanted = make_schema(source, encoder)
    found = remote.read_schema()
    if found is None:
        remote.create(wanted)
    else:
        check_schema(remote, found, wanted, "the index has now")


def make_schema(source: str, encoder: SentenceEncoder | None) -> Schema:
    """Return the schema of records of a source, with the vectors of an encoder."""
    vectors = (encoder.hash, name_bundle(encoder), encoder.width) if encoder else ("", "", 0)
    return Schema(source, *vectors)


def check_schema(remote: RemoteIndex, found: Schema, wanted: Schema, named: str) -> None:
    """Raise a StoreError unless records of a schema may be added to those that are there.

    Args:
        named: what the encoder of the wanted schema is the encoder of.
    """
    if found.source != wanted.source:
        what = f"it has the documents of {'a table' if found.source == TABLE else 'another index'}"
    elif found.encoder != wanted.encoder:
        what = f"its vectors were made by another encoder than {named}"
    else:
        return
    raise StoreError(f"{remote.label}: {what}; choose another name")


def open_documents(
    remote: RemoteIndex, revisions: Mapping[str, str], known: Mapping[str, str]
) -> None:
    """Announce documents whose sentences are written next, and delete those of other revisions.

    Args:
        known: has the documents that the engine has.
    """
    remote.put_revisions(dict.fromkeys(revisions, ""))
    changed = {name: own for name, own in revisions.items() if name in known}
    if changed:
        remote.delete_sentences(changed)


class RecordReader:
    """Reads the records of documents from an index, as a stream."""

    def __init__(
        self, store: DocumentStore, vectors: VectorIndex, encoder: SentenceEncoder | None
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._encoder = encoder

    def read(self, document: StoredDocument, revision: str) -> Iterator[SentenceRecord]:
        """Yield the records of all sentences of a document."""
        make = _RecordMaker(self._store, document, revision)
        context: deque[SentenceRecord] = deque()

        def pass_on(sections: Iterable[Section]) -> Iterator[Section]:
            for path, sentences in sections:
                for sentence in sentences:
                    record = make(path, sentence)
                    if not sentence.may_answer:
                        context.append(record)
                yield path, sentences

        passages = iterate_passages(pass_on(self._store.iterate_blocks(document.id)))
        for batch in take_batches(passages, BATCH):
            yield from self._add_derived(make, document, batch)
            while context:
                yield context.popleft()
        yield from context

    def _add_derived(
        self, make: "_RecordMaker", document: StoredDocument, batch: list[Passage]
    ) -> Iterator[SentenceRecord]:
        places = [(document.id, passage.sentence.position) for passage in batch]
        texts = get_passages(self._store, places)
        vectors = (
            self._vectors.encode(self._encoder, document.title, batch)
            if self._encoder
            else [None] * len(batch)
        )
        for passage, place, vector in zip(batch, places, vectors, strict=True):
            yield make.waiting.pop(passage.sentence.position)._replace(
                passage=texts.get(place, ""),
                terms=join_fields(document.title, passage),
                vector=vector,
            )


class _RecordMaker:
    """Makes the records of one document, in the order of its sentences."""

    def __init__(self, store: DocumentStore, document: StoredDocument, revision: str) -> None:
        self._store = store
        self._document = document
        self._revision = revision
        self._blocks = store.get_block_starts(document.id)
        self._text = store.get_text(document.id)
        self._tags = make_tags(document.metadata)
        ((self._file,),) = store.query("SELECT file FROM documents WHERE id = ?", (document.id,))
        self._before: Sentence | None = None
        self.waiting: dict[int, SentenceRecord] = {}
        """Records of sentences that may answer, by position, whose passages are not read yet."""

    def __call__(self, path: tuple[str, ...], sentence: Sentence) -> SentenceRecord:
        document, before = self._document, self._before
        self._before = sentence
        is_same_block = before is not None and before.block == sentence.block
        kind, anchor, start = self._blocks[sentence.block]
        raw = self._text[before.end if before and is_same_block else start : sentence.end]
        plain = f" {sentence.text}" if is_same_block else sentence.text
        found = None
        if kind == "definition" and is_same_block:
            found = self._store.locate(document.id, sentence.position)
        given = document.metadata.get(URL, "")
        record = SentenceRecord(
            id=make_id(document.name, sentence.position),
            document=document.name,
            revision=self._revision,
            position=sentence.position,
            may_answer=bool(sentence.may_answer),
            text=sentence.text,
            title=document.title,
            path=path,
            term=found.path[-1] if found and len(found.path) > len(path) else "",
            raw="" if raw == plain else raw,
            kind=kind,
            block=sentence.block,
            start=sentence.start,
            end=sentence.end,
            line=sentence.line,
            page=sentence.page,
            anchor=anchor,
            url=make_url(given, self._file or b"", sentence.page, anchor),
            metadata=document.metadata,
            tags=self._tags,
            digest=compute_digest(sentence.text),
            sentences=document.sentences,
        )
        if sentence.may_answer:
            self.waiting[sentence.position] = record
        return record
