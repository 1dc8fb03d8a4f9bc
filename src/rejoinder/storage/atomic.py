"""Writes files and folders that are either whole or not there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO


@contextmanager
def writing_whole(path: Path) -> Iterator[IO[bytes]]:
    """Give a file to write, which takes its place at `path` when the block has succeeded.

    Until then it stands beside, so that what was at `path` before stays as it is.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


@contextmanager
def making_folder(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; where the block fails, remove them again."""
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for place in missing:
            with suppress(OSError):
                place.rmdir()
        raise
