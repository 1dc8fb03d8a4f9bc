"""Downloads the files of a data set: all of them, with the right checksums, or none."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from rejoinder.datasets.catalogue import find_data_folders, get_dataset
from rejoinder.datasets.entries import Dataset, RemoteFile
from rejoinder.errors import DownloadError
from rejoinder.storage.files import atomic_write, created_folder

CHUNK_BYTES = 1 << 16
TIMEOUT_SECONDS = 30


def download(
    dataset: str | Dataset,
    folder: Path | None = None,
    *,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> list[Path]:
    """Download the files of a data set and return their paths.

    Files that exist with the right checksum are skipped.  If one file fails, nothing is left
    behind, not even a folder.

    Args:
        folder: the data folder; by default the first of `catalogue.find_data_folders`.
        on_progress: called with the bytes received so far, and their total.

    Raises:
        UnknownNameError: no data set has this name.
        DownloadError: the data set cannot be downloaded automatically, or a file failed.
    """
    if isinstance(dataset, str):
        dataset = get_dataset(dataset)
    folder = folder or find_data_folders(None)[0]
    if not dataset.remote:
        raise DownloadError(_explain_by_hand(dataset, folder))
    missing = [remote for remote in dataset.remote if not is_downloaded(remote, folder)]
    total = sum(remote.size_bytes for remote in missing)
    done = 0
    try:
        with ExitStack() as stack:
            for remote in missing:
                target = folder / remote.path
                stack.enter_context(created_folder(target.parent))
                file = stack.enter_context(atomic_write(target))
                for size in _download(remote, file):
                    on_progress(done + size, total)
                done += remote.size_bytes
    except OSError as error:
        raise DownloadError(f"cannot write into {folder}: {error.strerror or error}") from error
    return [folder / remote.path for remote in dataset.remote]


def is_downloaded(remote: RemoteFile, folder: Path) -> bool:
    """Return whether the data folder has this file, with the right checksum."""
    path = folder / remote.path
    if not path.is_file() or path.stat().st_size != remote.size_bytes:
        return False
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == remote.sha256


def _download(remote: RemoteFile, file: IO[bytes]) -> Iterator[int]:
    """Copy a remote file into an open one; yield the bytes received, then check their hash."""
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
        raise DownloadError(f"cannot download {remote.url}: {_describe(error)}") from error
    if size < remote.size_bytes:
        problem = f"the connection ended after {size} of {remote.size_bytes} bytes; try again"
        raise DownloadError(f"cannot download {remote.url}: {problem}")
    if digest.hexdigest() != remote.sha256:
        problem = f"its sha256 is not {remote.sha256}; the file at its source has changed"
        raise DownloadError(f"cannot use {remote.url}: {problem}")


def _describe(error: Exception) -> str:
    match error:
        case HTTPError():
            error.close()
            return f"the server responded {error.code} {error.reason}"
        case URLError(reason=OSError() as cause):
            return f"{cause.strerror or cause}; is this machine online?"
        case OSError():
            return error.strerror or str(error)
        case _:
            return f"the response is not valid HTTP ({type(error).__name__})"


def _explain_by_hand(dataset: Dataset, folder: Path) -> str:
    how = dataset.by_hand or f"get it from {dataset.homepage}"
    files = [file for sources in dataset.splits.values() for file in sources[0].files]
    where = f", and put {', '.join(dict.fromkeys(files))} into {folder}" if files else ""
    return f"{dataset.name} cannot be downloaded automatically: {how}{where}"
