"""Spreads work over threads; numpy and the compiled kernel let them run at once."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def spread(
    function: Callable[[Item], Result], items: Sequence[Item], *, threads: int
) -> list[Result]:
    """Return the result of each item, in order; on this thread alone where one is enough."""
    if threads == 1 or len(items) < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items))) as pool:
        return list(pool.map(function, items))
