"""Atomic writes: a file or folder is complete, or it is not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


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
