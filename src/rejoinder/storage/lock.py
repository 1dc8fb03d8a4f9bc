"""One writer at a time: a lock that the system releases when its holder dies.

`flock` itself rather than the package filelock, which falls back to a lock file that outlives
a killed process where a file system has no `flock`, and takes 14 ms to import.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rejoinder.errors import StoreError


@contextmanager
def lock_folder(folder: Path, *, name: str = "lock") -> Iterator[None]:
    """Hold the lock of a folder that one process writes at a time, without waiting for it.

    Raises:
        StoreError: another process holds it, or the folder cannot be written.
    """
    try:
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise StoreError(f"{folder}: another process is writing; wait until it ends") from error
    finally:
        os.close(handle)
