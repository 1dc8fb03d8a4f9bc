"""What finds an index's sentences, in a folder that follows the truth.

    folder/search-NUMBER/    Tantivy's files (search.py)

Derived like all but SQLite: it carries a generation, and the one who writes brings it up.  The
truth names the folder that counts; another one is made beside it and takes its place when whole.
"""

import logging
import shutil
from pathlib import Path

from rejoinder.errors import StoreError
from rejoinder.index.fulltext.search import FORMAT, Search
from rejoinder.index.sqlite.documents import Store

log = logging.getLogger(__name__)


class DerivedSearch:
    """The search of one index."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._current = self._open()

    @property
    def current(self) -> Search:
        """The search itself; in memory where there is none and nobody could write one."""
        if self._current is None:
            self._current = Search()
            self._catch_up(self._current)
        return self._current

    @property
    def is_behind(self) -> bool:
        """Whether the truth has changed since, or there is no search."""
        return self._current is None or self._current.generation != self._store.generation

    def close(self) -> None:
        """Let go of the folder."""
        if self._current is not None:
            self._current.close()

    def follow(self) -> None:
        """See what a writer has committed since."""
        if not self.is_behind:
            return
        if self._store.get("search") != self.current.name:
            self._current = self._open() or self._current
        else:
            self.current.reload()

    def mend(self) -> None:
        """Bring it up to the truth; the lock is held.

        Raises:
            StoreError: it cannot be written.
        """
        if self._current is None:
            self.rebuild()
        try:
            self._catch_up(self.current)
        except StoreError as error:
            # A kill can leave files that stand in the way of Tantivy's next ones.
            log.info("%s: made anew: %s", self.current.name, error)
            self.rebuild()
        finally:
            self.close()

    def rebuild(self) -> None:
        """Make it anew, beside the old, which goes when the new is whole; the lock is held.

        Raises:
            StoreError: it cannot be written.
        """
        number = int(self._store.get("rebuilt") or 0) + 1
        folder = self._folder / f"search-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        made = Search(folder)
        try:
            self._catch_up(made)
        except StoreError:
            made.close()
            shutil.rmtree(folder, ignore_errors=True)  # a full disk needs the room
            raise
        made.close()
        self._store.set("rebuilt", number)
        self._store.set("search format", FORMAT)
        self._store.set("search", folder.name)
        self.close()
        self._current = made
        for old in self._folder.glob("search-*"):
            if old != folder:
                shutil.rmtree(old, ignore_errors=True)

    def _open(self) -> Search | None:
        name = self._store.get("search")
        if name is None or self._store.get("search format") != FORMAT:
            return None
        folder = self._folder / Path(name).name
        if not (folder / "meta.json").exists():
            return None
        try:
            opened = Search(folder)
            return opened if opened.generation <= self._store.generation else None
        except StoreError as error:
            log.info("%s: made anew: %s", folder, error)
            return None

    def _catch_up(self, search: Search) -> None:
        store = self._store
        known, generation = search.generation, store.generation
        if known == generation:
            return
        for number in store.get_removed(after=known):
            search.remove(number)
        for document in store.get_documents(after=known):
            if known >= 0:  # else it is new
                search.remove(document.id)
            search.add(document, store.get_sentences(document.id))
        search.commit(generation)
