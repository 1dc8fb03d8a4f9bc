"""The full-text index of an index folder, kept up to date with SQLite.

    folder/fulltext-NUMBER/    Tantivy's files (tantivy_index.py)

It is derived data: it carries the generation that it was built from, and the next writer brings
it up to date.  SQLite names the folder in use; a rebuild writes another folder beside it, which
takes its place when complete.
"""

import logging
import shutil
from pathlib import Path

from rejoinder.errors import StoreError
from rejoinder.index.fulltext.tantivy_index import FORMAT, TantivyIndex
from rejoinder.index.sqlite.documents import DocumentStore

log = logging.getLogger(__name__)


class FullTextIndex:
    """The Tantivy folder of one index: opened, refreshed, brought up to date, rebuilt."""

    def __init__(self, folder: Path, store: DocumentStore) -> None:
        self._folder = folder
        self._store = store
        self._current = self._open()

    @property
    def current(self) -> TantivyIndex:
        """The Tantivy index; in memory where no folder exists and none could be written."""
        if self._current is None:
            self._current = TantivyIndex()
            self._add_missing(self._current)
        return self._current

    @property
    def is_stale(self) -> bool:
        """Whether SQLite has changed since it was built, or it does not exist."""
        return self._current is None or self._current.generation != self._store.generation

    def close(self) -> None:
        """Release the folder."""
        if self._current is not None:
            self._current.close()

    def refresh(self) -> None:
        """Read the latest commit of another process."""
        if not self.is_stale:
            return
        if self._store.get("fulltext") != self.current.name:
            self._current = self._open() or self._current
        else:
            self.current.reload()

    def catch_up(self) -> None:
        """Bring it up to date with SQLite; the caller holds the lock.

        Raises:
            StoreError: it cannot be written.
        """
        if self._current is None:
            self.rebuild()
        try:
            self._add_missing(self.current)
        except StoreError as error:
            # A killed process can leave files whose names Tantivy needs next.
            log.info("%s: rebuilt: %s", self.current.name, error)
            self.rebuild()
        finally:
            self.close()

    def rebuild(self) -> None:
        """Build it again beside the old one, which is then deleted; the caller holds the lock.

        Raises:
            StoreError: it cannot be written.
        """
        number = int(self._store.get("fulltext number") or 0) + 1
        folder = self._folder / f"fulltext-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        built = TantivyIndex(folder)
        try:
            self._add_missing(built)
        except StoreError:
            built.close()
            shutil.rmtree(folder, ignore_errors=True)  # a full disk needs the room
            raise
        built.close()
        self._store.set("fulltext number", number)
        self._store.set("fulltext format", FORMAT)
        self._store.set("fulltext", folder.name)
        self.close()
        self._current = built
        for old in self._folder.glob("fulltext-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)

    def _open(self) -> TantivyIndex | None:
        name = self._store.get("fulltext")
        if name is None or self._store.get("fulltext format") != FORMAT:
            return None
        folder = self._folder / Path(name).name
        if not (folder / "meta.json").exists():
            return None
        try:
            opened = TantivyIndex(folder)
            return opened if opened.generation <= self._store.generation else None
        except StoreError as error:
            log.info("%s: to be rebuilt: %s", folder, error)
            return None

    def _add_missing(self, index: TantivyIndex) -> None:
        store = self._store
        known, generation = index.generation, store.generation
        if known == generation:
            return
        for number in store.get_removed(after=known):
            index.remove(number)
        for document in store.get_documents(after=known):
            if known >= 0:  # else the folder is new
                index.remove(document.id)
            index.add(document, store.get_sentences(document.id))
        index.commit(generation)
