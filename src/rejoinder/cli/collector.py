"""Keeps the garbage collector from looking for cycles where a short process has none."""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the collector in a block that creates many objects and hardly any garbage."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def leave_rest_at_exit() -> None:
    """Have Python not search all objects for cycles when it exits: the system frees them."""
    atexit.unregister(gc.freeze)  # once, however many commands this process runs
    atexit.register(gc.freeze)
