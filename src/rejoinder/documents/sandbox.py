"""Parses complex formats in a child process, so that a hostile file cannot harm the rest.

The child starts once, reads one request per line, and has a memory limit.  A file that takes
too long gets it killed, and the next file starts another.  Replies are JSON: nothing that the
child sends is executed.
"""

import json
import os
import resource
import select
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from rejoinder.documents.parsed import ExtractedText, Locations
from rejoinder.errors import InputError

MAX_SECONDS = 30.0
MAX_MEMORY_BYTES = 2_000_000_000

FORMATS = {".html": "html", ".htm": "html", ".xhtml": "html", ".pdf": "pdf", ".docx": "docx"}
"""The modules of this package that read files in the sandbox, by suffix."""


class SandboxedReader:
    """A process that reads files; it starts with the first file, and again after a bad one."""

    def __init__(
        self, *, max_seconds: float = MAX_SECONDS, max_memory_bytes: int = MAX_MEMORY_BYTES
    ) -> None:
        self._max_seconds = max_seconds
        self._max_memory_bytes = max_memory_bytes
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "SandboxedReader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, path: Path) -> ExtractedText:
        """Return the text of a file; one that cannot be read within the limits is refused."""
        request = json.dumps([os.fsencode(path).hex(), path.suffix.lower()]) + "\n"
        process = self._process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(request.encode())
            process.stdin.flush()
            reply = json.loads(self._receive(process))
        except (TimeoutError, BrokenPipeError, EOFError) as error:
            self.close()
            problem = "crashes the program that reads it"
            if isinstance(error, TimeoutError):
                problem = f"takes longer than {self._max_seconds:g} s to read"
            raise InputError(problem) from error
        if isinstance(reply, str):
            raise InputError(reply)
        text, title, locations = reply
        return ExtractedText(text, title, locations=Locations(*locations) if locations else None)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", f"from {__name__} import main; main({self._max_memory_bytes})"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            bufsize=0,
        )

    def _receive(self, process: subprocess.Popen[bytes]) -> bytes:
        """Return the reply, which comes after its length in eight bytes."""
        end = time.monotonic() + self._max_seconds
        assert process.stdout is not None
        size = int.from_bytes(_read_exactly(process.stdout, 8, end), "big")
        return _read_exactly(process.stdout, size, end)


def _read_exactly(file: IO[bytes], size: int, end: float) -> bytes:
    received = bytearray()
    while len(received) < size:
        ready, _, _ = select.select([file], [], [], max(0.0, end - time.monotonic()))
        if not ready:
            raise TimeoutError
        piece = os.read(file.fileno(), size - len(received))
        if not piece:
            raise EOFError
        received += piece
    return bytes(received)


def extract(raw: bytes, suffix: str) -> ExtractedText:
    """Return the text of a file of this format, whose module is imported with the first file."""
    module = import_module(f"rejoinder.documents.{FORMATS[suffix]}")
    extracted: ExtractedText = getattr(module, f"read_{FORMATS[suffix]}")(raw)
    return extracted


def _answer(request: bytes) -> list[Any] | str:
    """Return the child's reply to one request: text, title and locations, or the problem."""
    name, suffix = json.loads(request)
    try:
        extracted = extract(Path(os.fsdecode(bytes.fromhex(name))).read_bytes(), suffix)
    except InputError as error:
        return str(error)
    except OSError as error:
        return error.strerror or "cannot be read"
    except MemoryError:
        return "needs too much memory to read"
    except RecursionError:
        return "is nested too deep to read"
    return [extracted.text, extracted.title, extracted.locations]


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    for request in requests:
        reply = json.dumps(_answer(request)).encode()
        replies.write(len(reply).to_bytes(8, "big") + reply)
        replies.flush()


def main(max_memory_bytes: int) -> None:
    """Serve the parent process within a limit of memory."""
    resource.setrlimit(resource.RLIMIT_AS, (max_memory_bytes, max_memory_bytes))
    # Libraries may print; only replies go to the parent.
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, replies)
