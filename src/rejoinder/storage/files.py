"""Files and folders: atomic writes, a folder's lock, the user's cache and state."""

import errno
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from rejoinder.errors import LockedError, StoreError

_log = logging.getLogger(__name__)


@contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file beside `path` that replaces it when the block succeeds."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def created_folder(folder: Path) -> Iterator[None]:
    """Create a folder and its parents, and remove them again if the block fails."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for place in missing:
            with suppress(OSError):
                place.rmdir()
        raise


@contextmanager
def lock_folder(folder: Path, *, name: str = "lock") -> Iterator[None]:
    """Hold the lock of a folder that one process writes at a time, without waiting for it.

    The system releases it when its holder dies.  Where the system has no locks for files, one
    logged line says so.

    Raises:
        LockedError: another process holds it.
        StoreError: the folder cannot be written or locked.
    """
    try:
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        if not _try_lock(handle, folder):
            raise LockedError(f"{folder}: another process is writing; wait until it ends")
        yield
    finally:
        os.close(handle)


def _try_lock(handle: int, folder: Path) -> bool:
    """Return whether no other process holds the lock."""
    from filelock import lock_descriptor  # 13 ms

    try:
        return lock_descriptor(handle, blocking=False)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise StoreError(f"{folder}: cannot be locked ({error.strerror})") from error
        _warn_without_locks()
        return True


@cache
def _warn_without_locks() -> None:
    """Log it once in a process."""
    _log.warning("this system has no locks for files: let one process write an index at a time")


def get_cache_folder() -> Path:
    """Return rejoinder's folder in the user's cache; $XDG_CACHE_HOME moves it on Linux."""
    from platformdirs import user_cache_path

    return user_cache_path("rejoinder", appauthor=False)


def get_state_folder() -> Path:
    """Return rejoinder's folder for what a user would miss; $XDG_STATE_HOME moves it on Linux."""
    from platformdirs import user_state_path

    return user_state_path("rejoinder", appauthor=False)
