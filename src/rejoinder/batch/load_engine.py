"""Load the documents of a table into a search engine: each partition by the worker that encodes it.

The part on disk is written last (job_output.py), so whatever has a part is in the engine.  A
partition that runs twice loads the same documents with the same ids and revisions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from rejoinder.batch.encode_table import to_documents
from rejoinder.batch.partitions import PartitionedTable
from rejoinder.errors import DataError, InputError
from rejoinder.index.index import load_tokenizer
from rejoinder.models.registry import SHIPPED_ENCODER, open_sentence_encoder
from rejoinder.retrieval import open_retriever
from rejoinder.retrieval.export import TABLE, check_schema, make_schema
from rejoinder.retrieval.load import RevisedDocument, load_documents
from rejoinder.retrieval.record import Schema
from rejoinder.retrieval.url import parse_url


@dataclass(frozen=True, slots=True)
class EngineTarget:
    """The search engine that a job loads documents into; the process that runs the job has it."""

    url: str = field(repr=False)
    """Where it is (`open_retriever`); may have a password."""
    embed: Path | None = None
    """The bundle of the encoder of vectors; by default that of the stored ones, else the shipped
    one."""
    has_vectors: bool = True

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        return parse_url(self.url).shown

    def check(self) -> None:
        """Check that the engine has nothing of this name, or an index that this job may fill.

        Raises:
            StoreError: the engine does not answer, or has something else of this name.
        """
        with open_retriever(self.url) as remote:
            if found := remote.read_schema():
                wanted = self._choose_schema(found)
                check_schema(remote, found, wanted, "the options name")

    def create(self, *, done: int) -> None:
        """Create the index, unless it is there.

        Args:
            done: how many parts earlier runs have loaded.

        Raises:
            StoreError: the engine refuses.
            InputError: the engine has lost what earlier runs have loaded.
        """
        with open_retriever(self.url) as remote:
            if remote.read_schema() is not None:
                return
            if done:
                raise InputError(
                    f"{remote.label}: there is no index, although {done} partitions were loaded;"
                    " delete the output folder, or choose another one, to load all again"
                )
            remote.create(self._choose_schema(None))

    def finish(self) -> None:
        """Make everything that was loaded visible to searches."""
        with open_retriever(self.url) as remote:
            remote.finish()

    def _choose_schema(self, found: Schema | None) -> Schema:
        if not self.has_vectors:
            return make_schema(TABLE, None)
        if found and self.embed is None:
            return Schema(TABLE, found.encoder, found.bundle, found.width)
        return make_schema(TABLE, open_sentence_encoder(self.embed or SHIPPED_ENCODER))


def load_part(encoded: pa.RecordBatch, url: str) -> int:
    """Load encoded documents into a search engine, and return how many it did not have yet."""
    revisions = [
        blake2b(repr(row).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        for row in encoded.to_pylist()
    ]
    documents = map(RevisedDocument, to_documents(encoded), revisions)
    with open_retriever(url) as remote:
        return load_documents(remote, list(documents), load_tokenizer())


def check_ids(table: PartitionedTable) -> None:
    """Check that no two rows have the same id: workers would replace each other's documents.

    The ids are read as a stream; of each, 8 bytes are held in memory.

    Raises:
        DataError: two rows have the same id, or a file cannot be read.
    """
    paths = [Path(name) for name, *_ in table.files]
    hashes = np.fromiter((hash(id_) for _, id_ in _read_ids(paths)), np.int64)
    hashes.sort()
    repeated = set(hashes[1:][hashes[1:] == hashes[:-1]].tolist())
    seen: set[str] = set()
    for path, id_ in _read_ids(paths) if repeated else ():
        if hash(id_) in repeated:
            if id_ in seen:
                raise DataError(
                    f"two rows have the id {id_!r:.80}; give each an id of its own", path=path
                )
            seen.add(id_)


def _read_ids(paths: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                for batch in file.iter_batches(columns=["id"]):
                    yield from ((path, id_) for id_ in batch.column(0).to_pylist() if id_)
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"cannot be read ({error})", path=path) from error
