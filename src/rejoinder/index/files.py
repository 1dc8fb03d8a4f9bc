"""The open files of an index.

    folder/index.sqlite       documents and sentences, the source of truth (sqlite/)
    folder/fulltext-*/        the full-text index (fulltext/)
    folder/vectors-*/         the vectors of sentences (vectors/)
    folder/sidecar/*/         rows that models made of the sentences (sidecar/)
    folder/lock               held by the one process that writes

They are the files of one index, whatever takes its place at the path: each part is opened by its
path, and kept only if the index was still there afterwards.
"""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from rejoinder.errors import StoreError
from rejoinder.index.fulltext.full_text_index import FullTextIndex
from rejoinder.index.sqlite.database import IncompleteError
from rejoinder.index.sqlite.documents import DocumentStore
from rejoinder.index.vectors.vector_index import VectorIndex
from rejoinder.models.sentence_encoder.encoder import SentenceEncoder
from rejoinder.storage.files import lock_folder
from rejoinder.types import Where

if TYPE_CHECKING:
    from rejoinder.index.folders import Folders
    from rejoinder.index.sidecar.sidecars import Sidecars

DATABASE = "index.sqlite"
SIDECARS = "sidecar"

log = logging.getLogger(__name__)


class IndexFiles:
    """The open files of one index.

    Whoever reads them holds a lease; retired files are closed with the last lease.
    """

    def __init__(self, folder: Path, encoder: SentenceEncoder | None, *, create: bool) -> None:
        self.folder = folder
        self.store = DocumentStore(folder / DATABASE, create=create)
        try:
            self.full_text = FullTextIndex(folder, self.store)
            self.vectors = VectorIndex(folder, self.store, encoder)
        except BaseException:
            self.store.close()
            raise
        self._lock = threading.Lock()
        self._leases = 0
        self._is_retired = False

    @cached_property
    def sidecars(self) -> "Sidecars":
        """The rows that models made of the sentences."""
        from rejoinder.index.sidecar.sidecars import Sidecars

        return Sidecars(self.folder / SIDECARS, self.store)

    @cached_property
    def folders(self) -> "Folders":
        """The folders of the documents."""
        from rejoinder.index.folders import Folders

        return Folders(self.store)

    def expand(self, where: Where | None) -> Where | None:
        """Return a filter in which a folder stands for its sub-folders too."""
        return self.folders.expand(where) if where else None

    @property
    def has_sidecars(self) -> bool:
        """Whether there is a folder of sidecars."""
        return (self.folder / SIDECARS).exists()

    @property
    def sidecar_stamp(self) -> tuple[int, int] | None:
        """Changes when a sidecar is added, replaced or dropped; None where there is none."""
        try:
            status = (self.folder / SIDECARS).stat()
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns

    def acquire(self) -> bool:
        """Take a lease; False where the files are retired."""
        with self._lock:
            self._leases += not self._is_retired
            return not self._is_retired

    def release(self) -> None:
        """Return a lease."""
        with self._lock:
            self._leases -= 1
            is_last = self._is_retired and not self._leases
        if is_last:
            self.close()

    def retire(self) -> None:
        """Close the files, now or with the last lease."""
        with self._lock:
            is_last = not self._is_retired and not self._leases
            self._is_retired = True
        if is_last:
            self.close()

    def close(self) -> None:
        """Close the files."""
        self.full_text.close()
        self.store.close()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock, over rows that are not ahead of SQLite.

        Raises:
            StoreError: another process is writing, or the index was replaced.
        """
        with lock_folder(self.folder):
            self._check_current("was replaced just now; nothing was changed, so try again")
            if self.has_sidecars:
                self.sidecars.fall_back()
            yield
            self._check_current("was replaced while it was changed; repeat that on the new one")

    def bring_up_to_date(self) -> None:
        """Bring stale derived data up to date, where no other process writes."""
        if not (self.full_text.is_stale or self.vectors.is_stale):
            return
        try:
            with self.locked():
                self.catch_up()
                self.vectors.catch_up(rebuild=False)
        except StoreError as error:
            log.info("%s: read as it is: %s", self.folder, error)

    def catch_up(self) -> None:
        """Bring a stale full-text index up to date; the lock is held."""
        if self.full_text.is_stale:
            self.full_text.catch_up()
            self.forget_removed()

    def forget_removed(self) -> None:
        """Drop removed documents from all derived data, then their numbers from SQLite."""
        generation = self.full_text.current.generation
        if self.has_sidecars:
            self.sidecars.drop_removed()
            generation = min(generation, self.sidecars.get_generation())
        self.store.forget_removed(until=generation)

    def _check_current(self, problem: str) -> None:
        if not self.store.is_current:
            raise StoreError(f"{self.folder}: {problem}")


@contextmanager
def closing_on_error(files: IndexFiles) -> Iterator[None]:
    """Close files that cannot be used."""
    try:
        yield
    except BaseException:
        files.close()
        raise


def describe_gone(folder: Path) -> str:
    """Return why nothing is answered from a folder that has no index any more."""
    return (
        f"{folder}: the index is gone; put one there, or make one with 'rejoinder index add':"
        " it is noticed at once"
    )


def check_complete(folder: Path, store: DocumentStore) -> None:
    """Refuse an index that another process is creating, or has left half-built."""
    if not store.is_complete:
        raise IncompleteError(folder)
