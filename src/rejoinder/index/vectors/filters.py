"""The documents that a question may search, as arrays by document number."""

import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rejoinder.index.sqlite.documents import DocumentStore
from rejoinder.types import Where

MAX_FILTERS = 16
"""Filters whose documents are remembered."""

Mask = NDArray[np.bool_]


class Filtered(NamedTuple):
    """The documents that match a filter."""

    generation: int
    """The generation of SQLite that they were read from."""
    total: int
    """How many documents there were, matching or not."""
    mask: Mask


NOTHING = Filtered(0, 0, np.zeros(1, dtype=np.bool_))


class DocumentFilters:
    """Remembers which documents match; after an addition, only new documents are read."""

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._known: dict[str, Filtered] = {}

    def get(self, where: Where | None) -> Mask:
        """Return which documents are there and match."""
        key = json.dumps(where, default=list, sort_keys=True)
        known, generation = self._known.get(key, NOTHING), self._store.generation
        if known.generation != generation:
            known = self._follow(known if known.generation < generation else NOTHING, where)
            others = [item for item in self._known.items() if item[0] != key]
            # Replaced, not changed: other threads read it.
            self._known = dict([*others[1 - MAX_FILTERS :], (key, known)])
        return known.mask

    def _follow(self, known: Filtered, where: Where | None) -> Filtered:
        new = self._store.list_numbers(where, after=known.generation)
        if known.total + new.added != new.total:  # others were removed
            known, new = NOTHING, self._store.list_numbers(where)
        mask = np.zeros(max(len(known.mask), 1 + max(new.numbers, default=0)), dtype=np.bool_)
        mask[: len(known.mask)] = known.mask
        mask[new.numbers] = True
        return Filtered(new.generation, new.total, mask)
