"""A worker as the server sees it: a process that says what it serves, then takes jobs."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from rejoinder.errors import InputError
from rejoinder.server.workers.messages import (
    Failed,
    Info,
    Received,
    Sent,
    pack,
    unpack_hello,
    unpack_received,
)


class WorkerProcess:
    """A process that is ready for jobs."""

    def __init__(self, process: Process, info: Info, messages: AsyncIterator[bytes]) -> None:
        self._process = process
        self._messages = messages
        self.info = info

    @classmethod
    async def start(cls, index: Path | None, scorer: str) -> "WorkerProcess":
        """Return a process that has opened an index and a scorer.

        Raises:
            InputError: they cannot be opened.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rejoinder.server.workers.worker", str(index or ""), scorer),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert process.stdout is not None
        messages = _read_messages(process.stdout)
        try:
            first = await anext(messages, None)
            if first is None:
                raise InputError("a worker ended before it was ready; its log says why")
            hello = unpack_hello(first)
            if isinstance(hello, Failed):
                raise InputError(hello.message)
        except BaseException:
            await _end(process)
            raise
        return cls(process, hello, messages)

    def send(self, sent: Sent) -> None:
        """Hand a job over; nothing is said where the process is gone."""
        assert self._process.stdin is not None
        with suppress(ConnectionError):
            self._process.stdin.write(pack(sent))

    async def receive(self) -> AsyncIterator[Received]:
        """Yield replies, until the process is gone."""
        async for body in self._messages:
            yield unpack_received(body)

    async def wait(self) -> int:
        """Return the status of the process when it has ended."""
        return await self._process.wait()

    def close(self) -> None:
        """Let it end when it has done what was sent to it."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def kill(self) -> None:
        """Let it end now."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """Kill it, and wait until it has ended."""
        await _end(self._process)


async def _read_messages(stream: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield what a worker says, until it is gone."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            header = await stream.readexactly(4)
            yield await stream.readexactly(int.from_bytes(header, "big"))


async def _end(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()
    await process.wait()
