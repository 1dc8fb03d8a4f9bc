"""Fetches the files of a data set: all of them, checked, or none."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from rejoinder.datasets.dataset import Dataset, RemoteFile
from rejoinder.errors import DownloadError
from rejoinder.storage.atomic import atomic_write, created_folder

CHUNK_BYTES = 1 << 16
TIMEOUT_SECONDS = 30

Progress = Callable[[int, int], None]
"""Called with how many bytes have come, and how many will."""


def download(dataset: Dataset, folder: Path, *, on_progress: Progress) -> list[Path]:
    """Fetch a data set's files into the data folder and return their paths.

    Files that are there already and are right are left alone.  Where one file fails,
    nothing is left behind, not even a folder.

    Raises:
        DownloadError: the data set must be got by hand, or a file could not be fetched.
    """
    if not dataset.remote:
        raise DownloadError(_explain_by_hand(dataset, folder))
    missing = [remote for remote in dataset.remote if not is_fetched(remote, folder)]
    total = sum(remote.size_bytes for remote in missing)
    done = 0
    try:
        with ExitStack() as stack:
            for remote in missing:
                target = folder / remote.path
                stack.enter_context(created_folder(target.parent))
                file = stack.enter_context(atomic_write(target))
                for size in _fetch(remote, file):
                    on_progress(done + size, total)
                done += remote.size_bytes
    except OSError as error:
        raise DownloadError(f"cannot write into {folder}: {error.strerror or error}") from error
    return [folder / remote.path for remote in dataset.remote]


def is_fetched(remote: RemoteFile, folder: Path) -> bool:
    """Return whether the data folder holds this file, with the right checksum."""
    path = folder / remote.path
    if not path.is_file() or path.stat().st_size != remote.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == remote.sha256


def _fetch(remote: RemoteFile, file: IO[bytes]) -> Iterator[int]:
    """Copy a remote file into an open one; yield how many bytes have come, then check them."""
    digest = hashlib.sha256()
    size = 0
    try:
        with urlopen(remote.url, timeout=TIMEOUT_SECONDS) as response:
            while size <= remote.size_bytes and (chunk := response.read(CHUNK_BYTES)):
                file.write(chunk)
                digest.update(chunk)
                size += len(chunk)
                yield size
    except (OSError, HTTPException) as error:
        raise DownloadError(f"cannot fetch {remote.url}: {_describe(error)}") from error
    if size < remote.size_bytes:
        problem = f"the connection ended after {size} of {remote.size_bytes} bytes; try again"
        raise DownloadError(f"cannot fetch {remote.url}: {problem}")
    if digest.hexdigest() != remote.sha256:
        problem = f"its sha256 is not {remote.sha256}; the file at its source has changed"
        raise DownloadError(f"cannot use {remote.url}: {problem}")


def _describe(error: Exception) -> str:
    match error:
        case HTTPError():
            error.close()
            return f"the server says {error.code} {error.reason}"
        case URLError(reason=OSError() as cause):
            return f"{cause.strerror or cause}; is this machine online?"
        case OSError():
            return error.strerror or str(error)
        case _:
            return f"the server's answer is torn or no HTTP ({type(error).__name__})"


def _explain_by_hand(dataset: Dataset, folder: Path) -> str:
    how = dataset.by_hand or f"get it from {dataset.homepage}"
    files = [file for sources in dataset.splits.values() for file in sources[0].files]
    where = f", and put {', '.join(dict.fromkeys(files))} into {folder}" if files else ""
    return f"{dataset.name} cannot be fetched for you: {how}{where}"
