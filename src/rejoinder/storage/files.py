"""Files and folders: atomic writes, a folder's lock, the user's cache and state."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rejoinder.errors import LockedError, StoreError


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

    The system releases it when its holder dies.  `flock` itself rather than the package filelock,
    which falls back to a lock file that outlives a killed process where a file system has no
    `flock`, and takes 14 ms to import.

    Raises:
        LockedError: another process holds it.
        StoreError: the folder cannot be written.
    """
    import fcntl  # not on every system that can load a model

    try:
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as error:
        raise LockedError(f"{folder}: another process is writing; wait until it ends") from error
    finally:
        os.close(handle)


def get_cache_folder() -> Path:
    """Return rejoinder's folder in the user's cache; $XDG_CACHE_HOME moves it on Linux."""
    from platformdirs import user_cache_path

    return user_cache_path("rejoinder", appauthor=False)


def get_state_folder() -> Path:
    """Return rejoinder's folder for what a user would miss; $XDG_STATE_HOME moves it on Linux."""
    from platformdirs import user_state_path

    return user_state_path("rejoinder", appauthor=False)
