"""An index of documents in a folder: the facade over its files (files.py).

A change is committed to SQLite first, and is durable from then on: the next process that opens
the index brings stale derived data up to date.  When another index takes the place of this one, it
is opened instead, with the next call.
"""

import copy
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rejoinder.errors import StoreError
from rejoinder.index.candidates import (
    MAX_COPIES,
    find_page_copy,
    get_candidate,
    get_number,
    locate,
    locate_copies,
    read_distinct,
    read_passages,
    to_document,
)
from rejoinder.index.files import (
    DATABASE,
    IndexFiles,
    check_complete,
    closing_on_error,
    describe_gone,
)
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.merging import merge
from rejoinder.index.sqlite.database import FORMAT, Identity, IncompleteError, read_identity
from rejoinder.index.sqlite.documents import (
    Counts,
    DocumentStore,
    MetadataCount,
    Place,
)
from rejoinder.index.vectors.vector_index import VectorIndex
from rejoinder.index.writer import Writer
from rejoinder.models.parallel import running_beside
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.models.sidecar import SidecarEncoder
from rejoinder.storage.files import get_cache_folder
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
    import threading

    from rejoinder.index.report import FileEvent, UpdateReport
    from rejoinder.index.sidecar.sidecars import IndexRows, Progress, Sidecars
    from rejoinder.index.sqlite.context import Surroundings
    from rejoinder.models.staged import Deadline

RETRY_SECONDS = 0.25
"""Between two attempts to open a new index that cannot be read."""
WARM_UP = "how"
"""A question of one word, which is enough to use everything that a search uses."""
MIN_SEARCHED = 200
"""Sentences that each source finds, so that their scores can be compared."""
READ_LATE = 20
"""Sentences that are read once the deadline has passed: nothing will rank more."""
BRIEF_MS = 3.0
"""With no more time than this, only the rarest words of a question are searched for."""

BESIDE = 100_000
"""Sentences of an index whose search by meaning runs beside the one by words."""

log = logging.getLogger(__name__)


class Index:
    """Documents and their sentences on disk, searched by words and meaning; a `Retriever`.

    Many processes and threads may search while one process writes.  When another index takes the
    place of this one (a rebuilt one, a link that was switched), the next call opens and reads that;
    calls in progress finish on the old one.  While there is none, calls raise a `StoreError`.
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
        self._encoder = encoder
        self._lock = threading.Lock()
        self._follows = True
        self._refusal: tuple[Identity, float, str] | None = None
        """The new index that could not be opened, when to try again, and why it could not."""
        if create:
            _create_folder(self.folder)
        self._files: IndexFiles | None = self._open(create=create)
        self._files.bring_up_to_date()

    @property
    def store(self) -> DocumentStore:
        """The documents and sentences in SQLite."""
        return self._get_files().store

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of sentences."""
        return self._get_files().vectors

    @property
    def sidecars(self) -> "Sidecars":
        """The rows that models made of the sentences."""
        return self._get_files().sidecars

    @property
    def sidecar_stamp(self) -> tuple[int, int] | None:
        """Changes when a sidecar is added, replaced or dropped; None where there is none."""
        return self._get_files().sidecar_stamp

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the files."""
        self._follows = False
        if self._files:
            self._files.close()

    @contextmanager
    def leased(self) -> Iterator["Index"]:
        """Yield the index that is at the path now; in the block it stays the same, and open.

        Raises:
            StoreError: there is no index any more, it cannot be read, or it is incomplete.
        """
        if not self._follows:
            yield self
            return
        with self._lease() as files:
            check_complete(self.folder, files.store)
            pinned = copy.copy(self)
            pinned._files, pinned._follows = files, False
            yield pinned

    def check_ready(self) -> None:
        """Raise a StoreError that says why questions cannot be answered now, if they cannot."""
        with self._lease() as files:
            check_complete(self.folder, files.store)

    @property
    def tokenizer_hash(self) -> str | None:
        """The hash of the tokenizer of the stored tokens; None before the first document."""
        with self._lease() as files:
            hash_: str | None = files.store.get("tokenizer")
            return hash_

    @property
    def searchable_generation(self) -> int:
        """The generation up to which documents can be searched."""
        with self._lease() as files:
            files.full_text.refresh()
            return files.full_text.current.generation

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

    def watch(
        self,
        paths: Iterable[Path | str],
        *,
        metadata: Mapping[str, str] | None = None,
        on_event: "Callable[[FileEvent], None] | None" = None,
        on_progress: Callable[[int, int], None] | None = None,
        on_update: "Callable[[UpdateReport], None] | None" = None,
        stop: "threading.Event | None" = None,
    ) -> "UpdateReport":
        """Bring the index up to date as `add` does, then follow the files until `stop` is set.

        Changes are read within a second.  A path that is deleted loses its documents, and gets
        them back when it exists again.  While another process writes the index, changes wait.
        Sidecars follow too.

        Args:
            metadata: as in `add`, also for files that are new later.
            on_event: called for each file that is not unchanged, once its documents are on disk;
                for a file that cannot be read, once per reason.
            on_progress: called as in `add`.
            on_update: called after the first update, and after each that had events.
            stop: ends the call, from another thread or a signal handler.

        Returns:
            The number of files with each outcome, and the files that are skipped in the end.

        Raises:
            InputError: a path does not exist, a metadata key is reserved, or the system cannot
                follow so many folders.
            StoreError: the index cannot be written.
            MissingExtraError: the package watchfiles is not installed.
        """
        from rejoinder.index.watch import Follower

        follower = Follower(self, paths, metadata, stop)
        return follower.run(on_event, on_progress, on_update)

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

        Its document is called `uploaded:NAME`, so that it cannot pass for another file.

        Args:
            name: a file name, or a relative path without `..`.
            path: where the bytes are for now; its suffix tells the format.
            metadata: as in `add`.

        Raises:
            InputError: the name is that of no upload, or a metadata key is reserved.
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
            matches = writer.store.find_documents(column, [document])
            if not matches:
                return None
            with writer.change() as change:
                for stored in matches:
                    change.remove_document(stored.id)
            writer.commit()
        return matches[0].name

    def documents(self) -> list[Document]:
        """Return all documents, in the order of their addition; sentences are read lazily."""
        with self._lease() as files:
            return [to_document(files.store, stored) for stored in files.store.get_documents()]

    def get_text(self, document: Document, start: int = 0, end: int | None = None) -> str:
        """Return the text that offsets of a document's sentences count in, or `text[start:end]`.

        It is empty if the document was removed.
        """
        with self._lease() as files:
            return files.store.get_text(get_number(document), start, end)

    def get_document(self, name: str) -> Document | None:
        """Return a document by its id; None where there is none.  Sentences are read lazily."""
        with self._lease() as files:
            found = files.store.find_documents("name", [name])
            return to_document(files.store, found[0]) if found else None

    def count(self) -> Counts:
        """Return how many documents and sentences there are."""
        with self._lease() as files:
            return files.store.count()

    def prepare(self) -> None:
        """Search once, so that the first question does not wait for the opening of files."""
        self.search(WARM_UP, 1)

    def search(
        self,
        question: str,
        k: int,
        *,
        where: Where | None = None,
        deadline: "Deadline | None" = None,
    ) -> list[ScoredCandidate]:
        """Return the k sentences that match a question best by words and meaning, best first.

        A sentence that occurs in several places word for word is returned once: where it
        matches best.

        Args:
            where: required metadata of the documents: for each key a value, or one of several.
                `folder` takes a folder as documents are named, or a path of this machine, and
                stands for its sub-folders too.
            deadline: once it has passed, the best that the words alone have found are returned, at
                most `READ_LATE`.  With at most `BRIEF_MS` left, only the rarest words are
                searched for.
        """
        if k < 1:
            return []
        limit = max(MIN_SEARCHED, 2 * k)
        with self._lease() as files:
            where = files.expand(where)
            while True:
                found, is_all = _search_both(files, question, limit, where, deadline)
                is_late = deadline is not None and deadline.left_ms <= 0
                results = read_distinct(files.store, found, min(k, READ_LATE) if is_late else k)
                if len(results) == k or is_all or is_late or limit > MAX_COPIES * k:
                    return results
                limit *= 4  # most of them are copies of each other

    def get_candidate(self, number: int, position: int) -> Candidate | None:
        """Return the sentence at a position of a document; None where it was removed."""
        with self._lease() as files:
            return get_candidate(files.store, (number, position))

    def locate(self, candidate: Candidate) -> Source | None:
        """Return the source of a candidate of this index; None where it was removed."""
        with self._lease() as files:
            return locate(files.store, candidate.document, candidate.position)

    def read_surroundings(
        self,
        candidates: Sequence[Candidate],
        form: str,
        *,
        where: Where | None = None,
        deadline: "Deadline | None" = None,  # noqa: ARG002 (it takes microseconds)
    ) -> "list[Surroundings]":
        """Return the source, the context and the copies of each candidate.

        Args:
            form: how much context: `sentence`, `paragraph` or `section`.
            where: only name copies in documents whose metadata match.
        """
        from rejoinder.index.sqlite.context import Surroundings, read_context

        with self._lease() as files:
            where = files.expand(where)
            read = []
            for item in candidates:
                source = locate(files.store, item.document, item.position)
                context = source and read_context(files.store, item, source, form)
                copies = locate_copies(files.store, item, where)
                read.append(Surroundings(source, context or (), tuple(copies)))
            return read

    def find_page_copy(
        self,
        candidate: Candidate,
        *,
        where: Where | None = None,
        deadline: "Deadline | None" = None,  # noqa: ARG002 (it takes microseconds)
    ) -> Candidate | None:
        """Return the same sentence of a document that is no source of a page, if there is one."""
        with self._lease() as files:
            return find_page_copy(files.store, candidate, files.expand(where))

    def locate_copies(self, candidate: Candidate, *, where: Where | None = None) -> list[Source]:
        """Return the other places where a candidate occurs word for word, the first of many."""
        with self._lease() as files:
            return locate_copies(files.store, candidate, files.expand(where))

    def count_metadata(self, *, values: int) -> list[MetadataCount]:
        """Return the most frequent values of each metadata key, at most so many per key.

        A folder counts the documents of its sub-folders too.
        """
        from rejoinder.index.file_reader import FOLDER

        with self._lease() as files:
            counts = files.store.count_metadata(values=values, leave_out=FOLDER)
            return counts + files.folders.count(values=values)

    def weigh_words(
        self,
        words: Sequence[str],
        *,
        deadline: "Deadline | None" = None,  # noqa: ARG002 (it takes microseconds)
    ) -> list[float]:
        """Return the inverse document frequency of each word, scaled to 0 … 1.

        A word of one sentence, or of none, weighs 1.
        """
        with self._lease() as files:
            return files.full_text.current.weigh_words(words)

    def read_passages(
        self,
        candidates: Sequence[Candidate],
        *,
        deadline: "Deadline | None" = None,  # noqa: ARG002 (it takes a millisecond)
    ) -> list[Candidate]:
        """Return the candidates with their passages; those of other indexes as they are."""
        with self._lease() as files:
            return read_passages(files.store, candidates)

    def open_sidecar(self, encoder: SidecarEncoder) -> "IndexRows | None":
        """Return the stored rows of an encoder, brought up to date where possible.

        None where nothing is stored.

        Raises:
            StoreError: they are corrupt, or were made by another bundle.
        """
        from rejoinder.index.sidecar.sidecars import IndexRows

        with self._lease() as files:
            rows = files.sidecars.open(encoder)
            if rows is None:
                return None
            if rows.state.generation != files.store.generation:
                try:
                    with files.locked():
                        files.sidecars.follow(rows, encoder, partial(_announce, rows.folder))
                        files.forget_removed()
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
        with self._locked() as files:
            files.sidecars.store(encoder, on_progress)
            files.forget_removed()

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
        with self._lease() as files:
            stored = files.sidecars.open_encoders(on_warning, leave_out=given.keys())
        for encoder in [*given.values(), *stored]:
            self.store_sidecar(encoder, on_progress)

    def drop_vectors(self) -> None:
        """Delete the vectors, and store none from now on: questions are answered by words.

        An index that is opened with an encoder stores vectors again.

        Raises:
            StoreError: the index cannot be written, or another process is writing.
        """
        with self._locked() as files:
            files.vectors.drop()

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
        with self._locked() as files:
            files.catch_up()
            files.vectors.catch_up(rebuild=True, on_progress=on_progress)

    def compact(self) -> None:
        """Rewrite all files, so that removed text is gone from the disk.

        Raises:
            StoreError: the index cannot be written, or others are reading or writing.
        """
        from rejoinder.index.feedback import drop_orphans

        with self._locked() as files:
            drop_orphans(files.store)
            files.store.compact()
            files.sidecars.compact()
            files.vectors.compact()
            files.full_text.rebuild()

    def check(self) -> list[str]:
        """Return all problems: damaged or missing documents, stale or corrupt derived data."""
        from rejoinder.index.check import find_problems

        with self._lease() as files:
            return find_problems(files.store, files.full_text, files.vectors, files.sidecars)

    @contextmanager
    def writing(self, *, adds: bool = True) -> Iterator[Writer]:
        """Hold the lock and yield the writer; other processes may read meanwhile.

        Args:
            adds: documents will be added, which needs the tokenizer.

        Raises:
            StoreError: the index cannot be written, or another process is writing.
        """
        with self._locked() as files:
            files.catch_up()
            files.vectors.catch_up(rebuild=True)
            encode = self._take_tokenizer(files.store).encode if adds else None
            derived = files.full_text.current, files.vectors
            try:
                yield Writer(files.store, *derived, encode, files.forget_removed)
            finally:
                files.vectors.close()
                files.full_text.close()
            files.store.mark_complete()

    def _take_tokenizer(self, store: DocumentStore) -> WordPiece:
        """Return the tokenizer; tokens of another one are replaced."""
        tokenizer = self._tokenizer or load_tokenizer()
        if store.get("tokenizer") != tokenizer.hash:
            with store.changing():
                store.replace_tokens(tokenizer.encode)
                store.set("tokenizer", tokenizer.hash)
        return tokenizer

    @property
    def _full_text(self) -> FullTextIndex:
        return self._get_files().full_text

    def _get_files(self) -> IndexFiles:
        """Return the open files; they are not those of another index unless some call saw it."""
        return self._files or self._follow()

    @contextmanager
    def _locked(self) -> Iterator[IndexFiles]:
        with self._lease() as files, files.locked():
            yield files

    @contextmanager
    def _lease(self) -> Iterator[IndexFiles]:
        """Yield the files of the index that is at the path now, and keep them open."""
        if not self._follows:  # closed, or `leased` holds the lease
            yield self._get_files()
            return
        files = self._follow()
        while not files.acquire():  # another thread has retired them meanwhile
            files = self._follow()
        try:
            yield files
        finally:
            files.release()

    def _follow(self) -> IndexFiles:
        """Return the files of the index that is at the path now; wait while they are opened."""
        files = self._files
        if files and (not self._follows or files.store.is_current):
            return files
        with self._lock:
            if self._files and not self._files.store.is_current:
                self._files.retire()
                self._files = None
            if self._files is None:
                if not self._follows:
                    raise StoreError(f"{self.folder}: the index is closed")
                self._files = self._reopen()
            return self._files

    def _reopen(self) -> IndexFiles:
        """Open the index that has taken the place of the one before."""
        identity = read_identity(self.folder / DATABASE)
        if identity is None:
            raise StoreError(describe_gone(self.folder))
        if self._refusal and self._refusal[0] == identity and time.monotonic() < self._refusal[1]:
            raise StoreError(self._refusal[2])
        try:
            files = self._open(create=False)
            with closing_on_error(files):
                check_complete(self.folder, files.store)
                files.bring_up_to_date()
        except IncompleteError:
            raise  # it may be complete at any moment, for other processes at once
        except StoreError as error:
            self._refusal = identity, time.monotonic() + RETRY_SECONDS, str(error)
            raise
        log.info("%s: another index is there, and was opened", self.folder)
        return files

    def _open(self, *, create: bool) -> IndexFiles:
        while True:
            files = IndexFiles(self.folder, self._encoder, create=create)
            if files.store.is_current:
                return files
            files.close()  # replaced while it was opened, so that its parts may be of two indexes


def _search_both(
    files: IndexFiles,
    question: str,
    limit: int,
    where: Where | None,
    deadline: "Deadline | None",
) -> tuple[dict[Place, RetrievalScores], bool]:
    """Return what both sources find, and whether there is no more to find.

    After the deadline, what the words have found is enough; shortly before it, what the rarest ones
    find.
    """
    files.full_text.refresh()
    full_text = files.full_text.current
    # A search cannot be interrupted, so it is given less to do.
    is_brief = deadline is not None and deadline.left_ms <= BRIEF_MS
    words = full_text.search(question, READ_LATE, where, is_brief=True) if is_brief else {}
    if words:
        return merge(words, {}), True

    def search_meaning() -> dict[Place, float]:
        return files.vectors.search(full_text.correct(question), limit, where)

    with _running_beside(search_meaning, files) as meaning:
        words = full_text.search(question, limit, where)
        if words and deadline and deadline.left_ms <= 0:
            return merge(words, {}), True
        found = meaning()
    return merge(words, found), max(len(words), len(found)) < limit


def _running_beside(
    search: Callable[[], dict[Place, float]], files: IndexFiles
) -> AbstractContextManager[Callable[[], dict[Place, float]]]:
    """Start a search of a large index on another thread; it keeps the files open."""
    if files.vectors.rows < BESIDE or not files.acquire():
        return nullcontext(search)
    return running_beside(search, on_end=files.release)


def get_cached_index(paths: Iterable[Path]) -> Path:
    """Return the folder in the user's cache for an index of these files and folders."""
    names = sorted({path.resolve() for path in paths})
    key = sha256(b"\0".join(map(os.fsencode, names))).hexdigest()[:16]
    return get_cache_folder() / f"indexes-{FORMAT}" / key


def load_tokenizer() -> WordPiece:
    """Return the tokenizer of the shipped models, which indexes use by default."""
    from rejoinder.models.static_vectors.vectors import load_vectors

    tokenizer = load_vectors().pieces
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
