"""Work on several threads; numpy, onnxruntime and the compiled kernel release the GIL."""

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def gather(groups: Sequence[Sequence[int]], found: Iterable[Iterable[Any]]) -> list[Any]:
    """Return the results of items in their order; a group has the places of its items.

    >>> gather([[2, 0], [1]], ["ca", "b"])
    ['a', 'b', 'c']
    """
    results: list[Any] = [None] * sum(map(len, groups))
    for group, outputs in zip(groups, found, strict=True):
        for place, output in zip(group, outputs, strict=True):
            results[place] = output
    return results


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], *, threads: int
) -> list[Result]:
    """Return the result of each item, in order; on this thread alone where one is enough."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))
