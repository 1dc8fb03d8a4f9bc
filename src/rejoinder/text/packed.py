"""Many texts as numbers in one array, because Python's lists take 30 times the memory."""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


class PackedTexts:
    """The token ids of many texts: 2 bytes a token, or 4 if ids exceed 65,535."""

    def __init__(self) -> None:
        self._ids = array("H")
        self._ends = array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, ids: Sequence[int]) -> int:
        """Add a text, and return its number."""
        try:
            self._ids.extend(array(self._ids.typecode, ids))
        except OverflowError:
            self._ids = array("i", self._ids)
            self._ids.extend(array("i", ids))
        self._ends.append(len(self._ids))
        return len(self) - 1

    def __getitem__(self, number: int) -> list[int]:
        return self._ids[self._ends[number] : self._ends[number + 1]].tolist()

    def get_range(self, first: int, last: int) -> tuple[Numbers, Numbers]:
        """Return the ids of texts `first` to `last` - 1 one after another, and their lengths."""
        ends = np.asarray(self._ends[first : last + 1])
        ids = np.asarray(self._ids[ends[0] : ends[-1]]).astype(np.int64)
        return ids, np.diff(ends)

    def count_tokens(self, numbers: Iterable[int] | None = None) -> int:
        """Return how many tokens these texts have together; all texts by default."""
        if numbers is None:
            return len(self._ids)
        return sum(self._ends[number + 1] - self._ends[number] for number in numbers)

    def sum_ids(self) -> int:
        """Return the sum of all ids, for a fingerprint."""
        return int(np.asarray(self._ids).sum(dtype=np.int64))
