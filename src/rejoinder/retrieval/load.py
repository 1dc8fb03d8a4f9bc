"""Loads documents into a search engine from many processes at once.

An export reads an index, which one process writes.  Here each process has some of the documents,
and writes the records that an export of them would write.  A document that the engine has in the
same revision is left alone, and any other replaces what the engine has of it; so documents may be
loaded again, by another process too, at any time.

The records are read from a temporary SQLite file by the reader of exports, so that both are equal.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from rejoinder.documents.parsed import ParsedDocument
from rejoinder.index.files import DATABASE
from rejoinder.index.sqlite.document_writer import DocumentWriter
from rejoinder.index.sqlite.documents import DocumentStore
from rejoinder.index.vectors.vector_index import VectorIndex
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.retrieval.export import BATCH, RecordReader, open_documents
from rejoinder.retrieval.record import SentenceRecord
from rejoinder.retrieval.remote import RemoteIndex, take_batches
from rejoinder.text.wordpiece import WordPiece


class RevisedDocument(NamedTuple):
    """A document with what changes when its content does."""

    document: ParsedDocument
    revision: str


def load_documents(
    remote: RemoteIndex, documents: Sequence[RevisedDocument], tokenizer: WordPiece
) -> int:
    """Store documents in a search engine, and return how many it did not have yet.

    Call `remote.finish` once all documents are loaded.

    Args:
        documents: of different names; at most a few thousand.
        tokenizer: made the tokens of their sentences, or makes them.

    Raises:
        StoreError: the engine does not answer or refuses, or has no index of this name.
    """
    known = remote.get_revisions([each.document.name for each in documents])
    missing = [each for each in documents if known.get(each.document.name) != each.revision]
    if not missing:
        return 0
    revisions = {each.document.name: each.revision for each in missing}
    open_documents(remote, revisions, known)
    encoder = remote.encoder if remote.has_vectors else None
    with _storing((each.document for each in missing), tokenizer) as store:
        for batch in take_batches(_read_records(store, encoder, revisions), BATCH):
            remote.write(batch)
    remote.put_revisions(revisions)
    return len(missing)


def _read_records(
    store: DocumentStore, encoder: SentenceEncoder | None, revisions: dict[str, str]
) -> Iterator[SentenceRecord]:
    reader = RecordReader(store, VectorIndex(store.path.parent, store, encoder), encoder)
    for stored in store.get_documents():
        yield from reader.read(stored, revisions[stored.name])


@contextmanager
def _storing(documents: Iterable[ParsedDocument], tokenizer: WordPiece) -> Iterator[DocumentStore]:
    """Yield a temporary file with these documents, as an index stores them."""
    with (
        TemporaryDirectory(prefix="rejoinder-") as folder,
        closing(DocumentStore(Path(folder) / DATABASE, create=True)) as store,
    ):
        with store.changing() as generation:
            store.set("tokenizer", tokenizer.hash)
            for document in documents:
                file = document.name.encode()
                writer = DocumentWriter.begin(store, file, document, tokenizer.encode, generation)
                for _ in writer.write(document.blocks):
                    pass
                writer.finish()
        yield store
