"""An index of documents in a folder: the facade over SQLite and the data derived from it.

    folder/index.sqlite       documents and sentences, the source of truth (sqlite/)
    folder/fulltext-*/        the full-text index (fulltext/)
    folder/vectors-*/         the vectors of sentences (vectors/)
    folder/sidecar/*/         rows that models made of the sentences (sidecar/)
    folder/lock               held by the one process that writes

A change is committed to SQLite first, and is durable from then on: the next process that opens
the index brings stale derived data up to date.
"""

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rejoinder.errors import StoreError
from rejoinder.index.candidates import (
    MAX_COPIES,
    get_candidate,
    get_number,
    locate,
    locate_copies,
    read_distinct,
    to_document,
)
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.merging import merge
from rejoinder.index.sqlite.database import FORMAT
from rejoinder.index.sqlite.documents import (
    Counts,
    DocumentStore,
    Place,
)
from rejoinder.index.vectors.vector_index import VectorIndex
from rejoinder.index.writer import Writer
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.models.sidecar import SidecarEncoder
from rejoinder.storage.files import get_cache_folder, lock_folder
from rejoinder.text.wordpiece import WordPiece
from rejoinder.types import (
    Candidate,
    Document,
    RetrievalScores,
    ScoredCandidate,
    Source,
    Where,
)

if TYPE_CHECKING:
    from rejoinder.index.report import FileEvent, UpdateReport
    from rejoinder.index.sidecar.sidecars import IndexRows, Progress, Sidecars
    from rejoinder.models.static_vectors.vectors import StaticVectors

DATABASE = "index.sqlite"
SIDECARS = "sidecar"
MIN_SEARCHED = 200
"""Sentences that each source finds, so that their scores can be compared."""

log = logging.getLogger(__name__)


class Index:
    """Documents and their sentences on disk, searched by words and meaning; a `Retriever`.

    Many processes and threads may search while one process writes.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        create: bool = False,
        tokenizer: WordPiece | None = None,
        encoder: SentenceEncoder | None = None,
    ) -> None:
        """Open an index, and bring its derived data up to date where that is possible.

        Args:
            create: create the folder where there is no index yet.
            tokenizer: tokenizes the stored sentences; by default that of the shipped models.
            encoder: makes the vectors of sentences and questions, from now on; by default the
                one that made the stored vectors, else the shipped one.

        Raises:
            StoreError: there is no index, or it cannot be read.
        """
        self.folder = Path(folder)
        self._tokenizer = tokenizer
        if create:
            _create_folder(self.folder)
        self.store = DocumentStore(self.folder / DATABASE, create=create)
        self._full_text = FullTextIndex(self.folder, self.store)
        self.vectors = VectorIndex(self.folder, self.store, encoder)
        if self._full_text.is_stale or self.vectors.is_stale:
            try:
                with self._locked():
                    self._catch_up()
                    self.vectors.catch_up(rebuild=False)
            except StoreError as error:
                log.info("%s: read as it is: %s", self.folder, error)

    @cached_property
    def sidecars(self) -> "Sidecars":
        """The rows that models made of the sentences."""
        from rejoinder.index.sidecar.sidecars import Sidecars

        return Sidecars(self.folder / SIDECARS, self.store)

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._full_text.close()
        self.store.close()

    @property
    def tokenizer_hash(self) -> str | None:
        """The hash of the tokenizer of the stored tokens; None before the first document."""
        hash_: str | None = self.store.get("tokenizer")
        return hash_

    @property
    def searchable_generation(self) -> int:
        """The generation up to which documents can be searched."""
        self._full_text.refresh()
        return self._full_text.current.generation

    def add(
        self,
        paths: Iterable[Path | str],
        *,
        metadata: Mapping[str, str] | None = None,
        on_event: "Callable[[FileEvent], None] | None" = None,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> "UpdateReport":
        """Bring the index up to date with files and folders.

        Unchanged files are not read again.  Files that were deleted from a folder are removed;
        a folder that cannot be listed keeps its documents.

        Args:
            metadata: stored with every document, to filter by; None keeps the earlier metadata.
            on_event: called for each file, once its documents are on disk.
            on_progress: called now and then with the number of bytes read, and of all.

        Raises:
            InputError: a path does not exist, there is nothing to read, or a metadata key is
                reserved.
            StoreError: the index cannot be written, or another process is writing.
        """
        from rejoinder.index.update import add_files

        return add_files(self, paths, metadata, on_event, on_progress)

    def add_documents(
        self, documents: Iterable[Document], *, metadata: Mapping[str, str] | None = None
    ) -> int:
        """Add documents from memory, and return how many.

        A document replaces the one of the same id.  Its sentences are stored as they are;
        without sentences, its text is split.  Documents are committed in batches: those
        before a bad one stay.

        Args:
            metadata: stored with every document, over its own metadata.

        Raises:
            InputError: a document has no id, neither text nor sentences, or an empty sentence.
            StoreError: the index cannot be written, or another process is writing.
        """
        from rejoinder.index.update import add_documents

        return add_documents(self, documents, metadata)

    def add_upload(
        self, name: str, path: Path, *, metadata: Mapping[str, str] | None = None
    ) -> "FileEvent":
        """Add a file under a name of its own; it replaces the earlier upload of that name.

        Args:
            path: where the bytes are for now; its suffix tells the format.
            metadata: as in `add`.

        Raises:
            InputError: a metadata key is reserved.
            StoreError: the index cannot be written, or another process is writing.
        """
        from rejoinder.index.update import add_upload

        return add_upload(self, name, path, metadata)

    def remove(
        self,
        paths: Iterable[Path | str],
        *,
        on_event: "Callable[[FileEvent], None] | None" = None,
    ) -> "UpdateReport":
        """Remove the documents of files, and of all files below folders.

        Raises:
            InputError: no document of the index is from there.
            StoreError: the index cannot be written, or another process is writing.
        """
        from rejoinder.index.update import remove_files

        return remove_files(self, paths, on_event)

    def remove_document(self, document: str | int) -> str | None:
        """Remove one document, and return its id; None where it does not exist.

        Args:
            document: its id, or its number in this index.

        Raises:
            StoreError: the index cannot be written, or another process is writing.
        """
        with self.writing(adds=False) as writer:
            column: Literal["id", "name"] = "name" if isinstance(document, str) else "id"
            matches = self.store.find_documents(column, [document])
            if not matches:
                return None
            with writer.change() as change:
                for stored in matches:
                    change.remove_document(stored.id)
            writer.commit()
        return matches[0].name

    def documents(self) -> list[Document]:
        """Return all documents, in the order of their addition; sentences are read lazily."""
        return [to_document(self.store, stored) for stored in self.store.get_documents()]

    def get_text(self, document: Document) -> str:
        """Return the text that offsets of a document's sentences count in; empty if removed."""
        return self.store.get_text(get_number(document))

    def count(self) -> Counts:
        """Return how many documents and sentences there are."""
        return self.store.count()

    def prepare(self) -> None:
        """Open the encoder and verify the vectors now, not with the first search."""
        self.vectors.search("", 0, None)

    def search(self, question: str, k: int, *, where: Where | None = None) -> list[ScoredCandidate]:
        """Return the k sentences that match a question best by words and meaning, best first.

        A sentence that occurs in several places word for word is returned once: where it
        matches best.
        """
        if k < 1:
            return []
        limit = max(MIN_SEARCHED, 2 * k)
        while True:
            found, is_all = self._search_both(question, limit, where)
            results = read_distinct(self.store, found, k)
            if len(results) == k or is_all or limit > MAX_COPIES * k:
                return results
            limit *= 4  # most of them are copies of each other

    def _search_both(
        self, question: str, limit: int, where: Where | None
    ) -> tuple[dict[Place, RetrievalScores], bool]:
        """Return what both sources find, and whether there is no more to find."""
        self._full_text.refresh()
        full_text = self._full_text.current
        words = full_text.search(question, limit, where)
        meaning = self.vectors.search(full_text.correct(question), limit, where)
        return merge(words, meaning), max(len(words), len(meaning)) < limit

    def get_candidate(self, number: int, position: int) -> Candidate | None:
        """Return the sentence at a position of a document; None where it was removed."""
        return get_candidate(self.store, (number, position))

    def locate(self, candidate: Candidate) -> Source | None:
        """Return the source of a candidate of this index; None where it was removed."""
        return locate(self.store, candidate.document, candidate.position)

    def locate_copies(self, candidate: Candidate, *, where: Where | None = None) -> list[Source]:
        """Return the other places where a candidate occurs word for word, the first of many."""
        return locate_copies(self.store, candidate, where)

    def open_sidecar(self, encoder: SidecarEncoder) -> "IndexRows | None":
        """Return the stored rows of an encoder, brought up to date where possible.

        None where nothing is stored.

        Raises:
            StoreError: they are corrupt, or were made by another bundle.
        """
        from rejoinder.index.sidecar.sidecars import IndexRows

        rows = self.sidecars.open(encoder)
        if rows is None:
            return None
        if rows.state.generation != self.store.generation:
            try:
                with self._locked():
                    self.sidecars.follow(rows, encoder, partial(_announce, rows.folder))
                    self._forget_removed()
            except StoreError as error:
                log.info("%s: read as it is: %s", rows.folder, error)
        return IndexRows(rows)

    def store_sidecar(
        self, encoder: SidecarEncoder, on_progress: "Progress" = lambda *_: None
    ) -> None:
        """Store the rows that an encoder makes of all sentences.

        Rows that are missing are made; corrupt rows, and rows of this name by another bundle,
        are replaced.

        Raises:
            StoreError: they cannot be written, or another process is writing.
        """
        with self._locked():
            self.sidecars.store(encoder, on_progress)
            self._forget_removed()

    def update_sidecars(
        self,
        encoders: Sequence[SidecarEncoder] = (),
        *,
        on_progress: "Progress" = lambda *_: None,
        on_warning: Callable[[str], None] = log.warning,
    ) -> None:
        """Store the rows of these encoders, and bring all other sidecars up to date.

        Other sidecars are updated with the bundle that made them; where that is gone or has
        changed, a warning says so, and they stay as they are.

        Args:
            on_progress: is called with the number of documents done, of all, and the sidecar.

        Raises:
            StoreError: rows cannot be written, or another process is writing.
        """
        given = {encoder.name: encoder for encoder in encoders}
        stored = self.sidecars.open_encoders(on_warning, leave_out=given.keys())
        for encoder in [*given.values(), *stored]:
            self.store_sidecar(encoder, on_progress)

    def drop_vectors(self) -> None:
        """Delete the vectors, and store none from now on: questions are answered by words.

        An index that is opened with an encoder stores vectors again.

        Raises:
            StoreError: the index cannot be written, or another process is writing.
        """
        with self._locked():
            self.vectors.drop()

    def update_vectors(
        self, *, on_progress: Callable[[int, int], None] = lambda _, __: None
    ) -> None:
        """Store the vectors that are missing, corrupt, or of another encoder.

        `add` does the same; with a large encoder it takes long, and this shows how far it is.

        Args:
            on_progress: called with the number of documents done, and of all.

        Raises:
            StoreError: they cannot be written, or another process is writing.
        """
        with self._locked():
            self._catch_up()
            self.vectors.catch_up(rebuild=True, on_progress=on_progress)

    def compact(self) -> None:
        """Rewrite all files, so that removed text is gone from the disk.

        Raises:
            StoreError: the index cannot be written, or others are reading or writing.
        """
        from rejoinder.index.feedback import drop_orphans

        with self._locked():
            drop_orphans(self.store)
            self.store.compact()
            self.sidecars.compact()
            self.vectors.compact()
            self._full_text.rebuild()

    def check(self) -> list[str]:
        """Return all problems: damaged or missing documents, stale or corrupt derived data."""
        from rejoinder.index.check import find_problems

        return find_problems(self.store, self._full_text, self.vectors, self.sidecars)

    @contextmanager
    def writing(self, *, adds: bool = True) -> Iterator[Writer]:
        """Hold the lock and yield the writer; other processes may read meanwhile.

        Args:
            adds: documents will be added, which needs the tokenizer.

        Raises:
            StoreError: the index cannot be written, or another process is writing.
        """
        with self._locked():
            self._catch_up()
            self.vectors.catch_up(rebuild=True)
            encode = self._take_tokenizer().encode if adds else None
            derived = self._full_text.current, self.vectors
            try:
                yield Writer(self.store, *derived, encode, self._forget_removed)
            finally:
                self.vectors.close()
                self._full_text.close()

    def _take_tokenizer(self) -> WordPiece:
        """Return the tokenizer; tokens of another one are replaced."""
        tokenizer = self._tokenizer or load_tokenizer()
        if self.tokenizer_hash != tokenizer.hash:
            with self.store.changing():
                self.store.replace_tokens(tokenizer.encode)
                self.store.set("tokenizer", tokenizer.hash)
        return tokenizer

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock, over rows that are not ahead of SQLite."""
        with lock_folder(self.folder):
            if self._has_sidecars():
                self.sidecars.fall_back()
            yield

    def _catch_up(self) -> None:
        """Bring a stale full-text index up to date; the lock is held."""
        if self._full_text.is_stale:
            self._full_text.catch_up()
            self._forget_removed()

    def _forget_removed(self) -> None:
        """Drop removed documents from all derived data, then their numbers from SQLite."""
        generation = self._full_text.current.generation
        if self._has_sidecars():
            self.sidecars.drop_removed()
            generation = min(generation, self.sidecars.get_generation())
        self.store.forget_removed(until=generation)

    def _has_sidecars(self) -> bool:
        return (self.folder / SIDECARS).exists()


def get_cached_index(paths: Iterable[Path]) -> Path:
    """Return the folder in the user's cache for an index of these files and folders."""
    names = sorted({path.resolve() for path in paths})
    key = sha256(b"\0".join(map(os.fsencode, names))).hexdigest()[:16]
    return get_cache_folder() / f"indexes-{FORMAT}" / key


@cache
def load_shipped_vectors() -> "StaticVectors":
    """Return the shipped static vectors, which are opened once per process."""
    from rejoinder.models.static_vectors.vectors import load_vectors

    return load_vectors()


def load_tokenizer() -> WordPiece:
    """Return the tokenizer of the shipped models, which indexes use by default."""
    tokenizer = load_shipped_vectors().pieces
    assert tokenizer is not None
    return tokenizer


def _announce(folder: Path, done: int, total: int, _: str) -> None:
    """Log once that a question has to wait."""
    if done == 1:
        log.warning("%s: %d documents that it lacks are stored first", folder, total)


def _create_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # The index holds the user's own text: nobody else may read it.
        with suppress(PermissionError):
            folder.chmod(0o700)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be created ({error.strerror})") from error
