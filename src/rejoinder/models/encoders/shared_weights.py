"""Packed weights that the workers of a server share, so that they are in memory once.

The server creates a file in memory (`create_memory`), without a name in any folder: it is gone with
the last process that has it open.  Workers inherit it.  The first one that opens a bundle appends
the packed weights, and all map them, those that are started later, too.  Other processes, and
systems other than Linux, pack their own.

    record    a header of one page, with the key and the size of the weights; then the weights, up
              to a whole page.  The header is written last: without it the rest is not there.
"""

import hashlib
import logging
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL
from io import FileIO
from mmap import ACCESS_READ, ALLOCATIONGRANULARITY, mmap

import numpy as np

from rejoinder.models.kernel import VERSION
from rejoinder.models.transformer_kernel import (
    Bytes,
    EncoderWeights,
    measure_packed,
    pack_encoder,
)

try:
    import fcntl
except ImportError:  # only POSIX has it
    fcntl = None  # type: ignore[assignment]

NAME = "rejoinder-weights"
"""How the system shows the memory among those that a process has mapped."""
HEADER = struct.Struct("<32sq")
PAGE = ALLOCATIONGRANULARITY
"""A multiple of it is where the mapping of a file may begin."""

_log = logging.getLogger(__name__)


def create_memory() -> FileIO | None:
    """Return a new file in memory, for processes to inherit; None where the system has none."""
    if fcntl is None or not hasattr(os, "memfd_create"):
        return None
    try:
        return FileIO(os.memfd_create(NAME), "r+")
    except OSError as error:
        _log.warning("weights are not shared between workers (%s)", error.strerror)
        return None


def share_packed(memory: int, checksum: str, library: CDLL, weights: EncoderWeights) -> Bytes:
    """Return the packed weights of an encoder, from the shared memory if that is possible.

    Args:
        memory: the file descriptor of the shared memory.
        checksum: of the file that the weights are from.
    """
    # The size depends on the bundle's settings, too.
    size = measure_packed(weights)
    key = hashlib.sha256(f"{checksum} {VERSION} {size}".encode()).digest()
    try:
        return share(memory, key, lambda: pack_encoder(library, weights))
    except OSError as error:  # no memory is left for it, or the descriptor is another's
        _log.warning("weights are not shared between workers (%s)", error.strerror)
        return pack_encoder(library, weights)


def share(memory: int, key: bytes, pack: Callable[[], Bytes]) -> Bytes:
    """Return the bytes that `pack` makes, from the shared memory; they are made only once.

    Raises:
        OSError: the memory cannot be read, or has no room.
    """
    with _locked(memory):
        at = 0
        while size := (header := _read_header(memory, at))[1]:
            if header[0] == key:
                return _map(memory, at + PAGE, size)
            at += PAGE + _to_pages(size)
        packed = pack()
        _write(memory, at + PAGE, packed)
        _write(memory, at, np.frombuffer(HEADER.pack(key, len(packed)), dtype=np.uint8))
        return _map(memory, at + PAGE, len(packed))


@contextmanager
def _locked(memory: int) -> Iterator[None]:
    """Let one process append at a time; the system releases the lock when it dies."""
    assert fcntl is not None
    fcntl.lockf(memory, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.lockf(memory, fcntl.LOCK_UN)


def _read_header(memory: int, at: int) -> tuple[bytes, int]:
    """Return the key and the size of a record; a size of 0 where there is none."""
    content = os.pread(memory, HEADER.size, at)
    key, size = HEADER.unpack(content.ljust(HEADER.size, b"\0"))
    return key, size


def _write(memory: int, at: int, content: Bytes) -> None:
    left = content.data
    while left:
        written = os.pwrite(memory, left, at)
        left, at = left[written:], at + written


def _map(memory: int, at: int, size: int) -> Bytes:
    return np.frombuffer(mmap(memory, size, access=ACCESS_READ, offset=at), dtype=np.uint8)


def _to_pages(size: int) -> int:
    return -(-size // PAGE) * PAGE
