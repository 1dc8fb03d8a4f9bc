"""Work on several threads; numpy, onnxruntime and the compiled kernel release the GIL."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
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


@contextmanager
def running_beside(
    function: Callable[[], Result], *, on_end: Callable[[], object]
) -> Iterator[Callable[[], Result]]:
    """Start a function on another thread, and give one that returns its result.

    If no thread is free by then, that one runs the function itself.  A block that leaves without
    the result does not wait for it.

    Args:
        on_end: called once, when the other thread has finished or will not begin.
    """
    if count_cores() < 2:
        try:
            yield function
        finally:
            on_end()
        return
    future = _get_threads().submit(function)
    future.add_done_callback(lambda _: on_end())
    try:
        yield lambda: function() if future.cancel() else future.result()
    finally:
        future.cancel()


@cache
def _get_threads() -> ThreadPoolExecutor:
    """Return the threads of this process: with those that ask, about as many as cores."""
    return ThreadPoolExecutor(count_cores() - 1, "beside")
