"""A worker process, seen from the server: it reports what it serves, then takes jobs."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import msgspec

from rejoinder.errors import InputError
from rejoinder.server.workers.messages import (
    Failure,
    Job,
    Received,
    WorkerInfo,
    pack_job,
    unpack_reply,
)


class WorkerProcess:
    """A process that is ready for jobs."""

    info: WorkerInfo

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._jobs = process.stdin
        self.messages = _read_messages(process.stdout)
        """Its replies, until the process has ended."""

    @classmethod
    async def start(cls, index: Path | None, scorer: str) -> "WorkerProcess":
        """Return a process that has opened an index and a scorer.

        Raises:
            InputError: one of them cannot be opened.
        """
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "rejoinder.server.workers.worker", str(index or ""), scorer),
            stdin=PIPE,
            stdout=PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        worker = cls(process)
        try:
            first = await anext(worker.messages, None)
            if first is None:
                raise InputError("a worker ended before it was ready; see its log on stderr")
            if isinstance(first.outcome, Failure):
                raise InputError(first.outcome.message)
            worker.info = msgspec.json.decode(first.outcome, type=WorkerInfo)
        except BaseException:
            await worker.end()
            raise
        return worker

    def send(self, number: int, job: Job) -> None:
        """Send a job; a process that has ended drops it silently."""
        with suppress(ConnectionError):
            self._jobs.write(pack_job(number, job))

    async def wait(self) -> int:
        """Return the exit status once the process has ended."""
        return await self._process.wait()

    def close(self) -> None:
        """Let the process finish its jobs and exit."""
        self._jobs.close()

    def kill(self) -> None:
        """Kill the process."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def end(self) -> None:
        """Kill the process, and wait until it has ended."""
        self.kill()
        await self.wait()


async def _read_messages(stream: asyncio.StreamReader) -> AsyncIterator[Received]:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            header = await stream.readexactly(4)
            yield unpack_reply(await stream.readexactly(int.from_bytes(header, "big")))
