"""Folders as a filter: a folder stands for its own documents and for those of its sub-folders.

The folder of a document is in its metadata.  A search asks for the folders of the index that are
below the given ones, so that all sources compare whole values.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from rejoinder.documents.discovery import show_path
from rejoinder.index.file_reader import FOLDER, UPLOADED, find_folder
from rejoinder.index.sqlite.documents import DocumentStore, MetadataCount
from rejoinder.types import Where


class Folders:
    """The folders of an index; read again after a change."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._known: tuple[int, Mapping[str, int]] = (-1, {})
        """A generation, and how many documents are in each folder itself."""

    def expand(self, where: Where | None) -> Where | None:
        """Return a filter with all known folders that are one of the given ones or below it."""
        if not where or FOLDER not in where:
            return where
        given = where[FOLDER]
        values = [given] if isinstance(given, str) else given
        places = {place for value in values for place in list_spellings(value)}
        below = [name for name in self._count() if not places.isdisjoint(list_ancestors(name))]
        return {**where, FOLDER: below}

    def count(self, *, values: int) -> list[MetadataCount]:
        """Return the folders with the most documents, those of their sub-folders included.

        Folders that tell nothing apart are left out: those that hold all documents, and those
        whose documents are all in one sub-folder.

        Args:
            values: at most so many folders.
        """
        inside: Counter[str] = Counter()
        for name, own in self._count().items():
            inside.update(dict.fromkeys(list_ancestors(name), own))
        shells = {
            above
            for name, own in inside.items()
            if (above := find_folder(name)) != name and inside[above] == own
        }
        total = self._store.count().documents
        useful = {name: own for name, own in inside.items() if own < total and name not in shells}
        most = sorted(useful.items(), key=lambda item: (-item[1], item[0]))[:values]
        keyed = sum(self._count().values())
        return [MetadataCount(FOLDER, *item, len(useful), keyed) for item in most]

    def _count(self) -> Mapping[str, int]:
        generation = self._store.generation
        if self._known[0] != generation:
            # Replaced, not changed: other threads read it.
            self._known = generation, self._store.count_values(FOLDER)
        return self._known[1]


def list_ancestors(folder: str) -> Iterator[str]:
    """Yield a folder and the folders above it, innermost first.

    >>> list(list_ancestors("/notes/tea")), list(list_ancestors("uploaded:tea"))
    (['/notes/tea', '/notes', '/'], ['uploaded:tea', 'uploaded:'])
    """
    while True:
        yield folder
        above = find_folder(folder)
        if above in ("", folder):
            return
        folder = above


def list_spellings(folder: str) -> set[str]:
    """Return the names that a given folder may have in the index: a path may be relative."""
    if not folder:
        return set()
    spellings = {folder.rstrip("/") or "/"}
    if not folder.startswith(UPLOADED):
        with suppress(OSError):  # the current folder was deleted
            spellings.add(show_path(Path(os.path.abspath(folder))))  # noqa: PTH100 (reads no file)
    return spellings
