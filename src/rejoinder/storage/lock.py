"""One writer at a time: a lock that the system drops when its holder dies."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rejoinder.errors import StoreError


@contextmanager
def lock_folder(folder: Path, *, name: str = "lock") -> Iterator[None]:
    """Hold the lock of an index, or of another folder that one process writes at a time.

    Raises:
        StoreError: someone else holds it, or the folder cannot be written.
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
