"""Parses complex formats in a child process, so that a hostile file cannot harm the rest.

The child starts once, reads one request per line, and has a memory limit.  A file that takes
too long gets it killed, and the next file starts another.  Replies are JSON: nothing that the
child sends is executed.  They come as a stream, so that a large file never is in memory whole:

    ["document", title, row, metadata], ["blocks", [block, …]], …, ["end"] or ["error", reason]
"""

import gzip
import io
import json
import logging
import os
import subprocess
import sys
import time
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from threading import Event, Thread
from typing import IO, Any

from rejoinder.documents import formats
from rejoinder.documents.blocks import Block, ExtractedDocument
from rejoinder.errors import InputError

try:
    import resource
except ImportError:  # only POSIX has it
    resource = None  # type: ignore[assignment]

MAX_SECONDS = 60.0
MAX_MEMORY_BYTES = 2_000_000_000
MAX_UNPACKED_BYTES = 200_000_000
MAX_TEXT = MAX_UNPACKED_BYTES
"""Characters of all blocks of a file; a spreadsheet may repeat one long cell without end."""
BATCH, BATCH_TEXT = 500, 1_000_000
"""Blocks in one reply, and their characters."""
HAS_MEMORY_LIMIT = resource is not None and sys.platform != "darwin"
"""Whether the system limits the memory of the child; macOS knows the limit and ignores it."""

_log = logging.getLogger(__name__)


class SandboxedReader:
    """A process that reads files; it starts with the first file, and again after a bad one."""

    def __init__(
        self, *, max_seconds: float = MAX_SECONDS, max_memory_bytes: int = MAX_MEMORY_BYTES
    ) -> None:
        self._max_seconds = max_seconds
        self._max_memory_bytes = max_memory_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: _Watchdog | None = None
        self._sent: deque[bytes] = deque()  # requests whose replies are not read to their end
        self._is_reading = False

    def __enter__(self) -> "SandboxedReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def prefetch(self, path: Path, format_: str) -> None:
        """Let the child read a file that is read next, while the parent does other work."""
        with suppress(BrokenPipeError):  # reported when the file is read
            self._send(_encode(path, format_))

    def read(self, path: Path, format_: str) -> Iterator[ExtractedDocument]:
        """Yield the documents of a file; one that cannot be read within the limits is refused.

        The blocks of a document must be read before the next document.
        """
        events = self._request(_encode(path, format_))
        event = next(events, None)
        while event:
            title, row, metadata = event[1:]
            following: list[list[Any]] = []
            blocks = _read_blocks(events, following)
            yield ExtractedDocument(title, blocks, row, metadata)
            for _ in blocks:
                pass  # what the caller has left
            event = following[0] if following else None

    def close(self) -> None:
        """End the process."""
        self._sent.clear()
        self._is_reading = False
        process, self._process = self._process, None
        if process is None:
            return
        assert self._watchdog is not None
        self._watchdog.stop()
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        process.wait()

    def _request(self, request: bytes) -> Iterator[list[Any]]:
        """Yield the child's replies to a request until the last one."""
        if self._is_reading or (self._sent and self._sent[0] != request):
            self.close()  # the last file was not read to its end
        try:
            if not self._sent:
                self._send(request)
            self._is_reading = True
            assert self._process is not None
            assert self._watchdog is not None
            self._watchdog.restart()
            while True:
                reply = json.loads(_receive(self._process, self._watchdog))
                if reply[0] in {"end", "error"}:
                    break
                yield reply
        except (BrokenPipeError, EOFError) as error:
            problem = "crashes the program that reads it"
            if self._watchdog and self._watchdog.has_killed:
                problem = f"takes longer than {self._max_seconds:g} s to read"
            self.close()
            raise InputError(problem) from error
        self._sent.popleft()
        self._is_reading = False
        if reply[0] == "error":
            raise InputError(reply[1])

    def _send(self, request: bytes) -> None:
        if self._process is None:
            self._process = self._start()
            self._watchdog = _Watchdog(self._process, self._max_seconds)
        assert self._process.stdin is not None
        self._process.stdin.write(request)
        self._sent.append(request)

    def _start(self) -> subprocess.Popen[bytes]:
        if not HAS_MEMORY_LIMIT:
            _warn_without_limit()
        return subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main({self._max_memory_bytes})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            bufsize=0,
        )


@cache
def _warn_without_limit() -> None:
    """Log it once in a process."""
    _log.warning("this system limits no memory: a hostile file can use all of it while it is read")


class _Watchdog:
    """Kills a process that its parent waits too long for; the parent's own work does not count.

    A thread watches the time, because not every system can wait for a pipe with a timeout.
    """

    def __init__(self, process: subprocess.Popen[bytes], max_seconds: float) -> None:
        self._process = process
        self._max_seconds = max_seconds
        self._left = max_seconds
        self._deadline: float | None = None
        """Set while the parent waits."""
        self._stopped = Event()
        self.has_killed = False
        Thread(target=self._watch, args=(min(1.0, max_seconds / 10),), daemon=True).start()

    def restart(self) -> None:
        """Allow the whole time again."""
        self._left = self._max_seconds

    def stop(self) -> None:
        """End the thread."""
        self._stopped.set()

    def read(self, file: IO[bytes], size: int) -> bytes:
        """Wait for bytes of a pipe; there are none once the process has ended."""
        start = time.monotonic()
        self._deadline = start + self._left
        try:
            return os.read(file.fileno(), size)
        finally:
            self._deadline = None
            self._left -= time.monotonic() - start

    def _watch(self, interval: float) -> None:
        while not self._stopped.wait(interval):
            deadline = self._deadline
            if deadline is not None and time.monotonic() > deadline:
                self.has_killed = True
                self._process.kill()
                return


def _encode(path: Path, format_: str) -> bytes:
    return json.dumps([os.fsencode(path).hex(), format_]).encode() + b"\n"


def _receive(process: subprocess.Popen[bytes], watchdog: _Watchdog) -> bytes:
    """Return one reply, which comes after its length in eight bytes."""
    assert process.stdout is not None
    size = int.from_bytes(_read_exactly(process.stdout, 8, watchdog), "big")
    return _read_exactly(process.stdout, size, watchdog)


def _read_exactly(file: IO[bytes], size: int, watchdog: _Watchdog) -> bytes:
    received = bytearray()
    while len(received) < size:
        piece = watchdog.read(file, size - len(received))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)


def _read_blocks(events: Iterator[list[Any]], following: list[list[Any]]) -> Iterator[Block]:
    """Yield the blocks of a document; the event of the next document is put into `following`."""
    for event in events:
        if event[0] == "document":
            following.append(event)
            return
        for kind, text, path, *rest in event[1]:
            yield Block(kind, text, tuple(path), *rest)


def _answer(request: bytes) -> Iterator[list[Any]]:
    """Yield the child's replies to one request."""
    name, format_ = json.loads(request)
    text_left = MAX_TEXT
    try:
        with _open(Path(os.fsdecode(bytes.fromhex(name)))) as file:
            for document in formats.read(file, format_):
                yield ["document", document.title, document.row, dict(document.metadata)]
                for blocks, size in _batch(document.blocks):
                    text_left -= size
                    if text_left < 0:
                        raise InputError(f"more than {MAX_TEXT // 1_000_000} MB of text")
                    yield ["blocks", blocks]
    except InputError as error:
        yield ["error", str(error)]
    except OSError as error:
        yield ["error", error.strerror or "cannot be read"]
    except MemoryError:
        yield ["error", "needs too much memory to read"]
    except RecursionError:
        yield ["error", "is nested too deep to read"]
    else:
        yield ["end"]


def _batch(blocks: Iterable[Block]) -> Iterator[tuple[list[Block], int]]:
    """Yield blocks in batches, each with its number of characters."""
    batch, size = list[Block](), 0
    for block in blocks:
        batch.append(block)
        size += len(block.text)
        if len(batch) == BATCH or size >= BATCH_TEXT:
            yield batch, size
            batch, size = [], 0
    if batch:
        yield batch, size


def _open(path: Path) -> IO[bytes]:
    """Open a file, unpacked where it is gzipped."""
    if path.suffix.lower() != ".gz":
        return path.open("rb")
    try:
        with gzip.open(path) as packed:
            raw = packed.read(MAX_UNPACKED_BYTES + 1)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"not a gzipped file that can be read ({error})") from error
    if len(raw) > MAX_UNPACKED_BYTES:
        raise InputError(f"more than {MAX_UNPACKED_BYTES // 1_000_000} MB when unpacked")
    return io.BytesIO(raw)


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    for request in requests:
        for reply in _answer(request):
            raw = json.dumps(reply).encode()
            replies.write(len(raw).to_bytes(8, "big") + raw)
        replies.flush()


def main(max_memory_bytes: int) -> None:
    """Serve the parent process within a limit of memory, where the system has one."""
    if resource is not None and HAS_MEMORY_LIMIT:
        resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    # Libraries may print; only replies go to the parent.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, replies)
