"""Worker processes, and the bounded queue in front of them.

One process speaks HTTP and computes nothing; workers compute.  A job is in the queue or with a
worker.  When a worker is lost, its jobs go back to the head of the queue, so a crash costs
time but no request.  All workers may be killed at once; a job that loses one more than there are
is given up: it may be the cause.

Workers that have opened the same scorer are a crew.  A reload opens it anew in another crew; once
that is complete it gets every job, and the one before ends when it has done what it has.
"""

import asyncio
import logging
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count

import msgspec

from rejoinder.cascade.loading import pin
from rejoinder.errors import InputError
from rejoinder.server.metrics import Metrics
from rejoinder.server.problems import come_back, fail
from rejoinder.server.settings import Settings
from rejoinder.server.workers.messages import (
    AddDocument,
    Ask,
    Failed,
    Info,
    Job,
    MarkAnswer,
    Rank,
    RemoveDocument,
    Reply,
    Sent,
    unpack_reply,
)
from rejoinder.server.workers.process import WorkerProcess

SLOTS = 2
"""Jobs that one worker does side by side: while one cuts words, another's network runs."""
MAX_WRITES = 16
"""Changes of the index that wait for each other."""
MAX_PAUSE_SECONDS = 5.0

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Task:
    job: Job
    done: asyncio.Future[Reply | Failed]
    since: float = field(default_factory=time.monotonic)
    tries: int = 0

    def get_job(self) -> Job:
        """Return the job as it stands now: waiting has used up some of its budget."""
        if not isinstance(self.job, Rank | Ask) or self.job.budget_ms is None:
            return self.job
        left_ms = self.job.budget_ms - 1000 * (time.monotonic() - self.since)
        return msgspec.structs.replace(self.job, budget_ms=max(0.0, left_ms))


@dataclass(eq=False, frozen=True, slots=True)
class _Crew:
    scorer: str


@dataclass(eq=False, slots=True)
class _Worker:
    process: WorkerProcess
    crew: _Crew
    tasks: dict[int, _Task] = field(default_factory=dict)


class Pool:
    """The workers of a server; a backend."""

    info: Info

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._queue: deque[_Task] = deque()
        self._crew = _Crew(settings.scorer)
        self._workers: list[_Worker] = []
        """Those of all crews."""
        self._keepers: set[asyncio.Task[None]] = set()
        self._changing = asyncio.Lock()
        self._numbers = count()
        self._writing = asyncio.Lock()
        self._writes = 0
        self._is_stopping = False

    async def start(self) -> None:
        """Start the workers, and wait until all are ready.

        Raises:
            InputError: the index or the scorer cannot be opened.
        """
        async with self._changing:
            await self._change_crew()

    async def reload(self) -> None:
        """Open the index and the scorer anew, in workers that replace those there are.

        What a worker has been handed it still does; everything else is done by the new ones.

        Raises:
            InputError: they cannot be opened; the workers that were there go on.
        """
        async with self._changing:
            await self._change_crew()
        self._metrics.reloads += 1

    async def stop(self) -> None:
        """End the workers; what they were doing is lost, so let it be done before."""
        self._is_stopping = True
        for worker in self._workers:
            worker.process.close()
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        for worker in self._workers:
            await worker.process.end()

    @property
    def is_ready(self) -> bool:
        """Whether a worker can take jobs."""
        return bool(self._list_crew()) and not self._is_stopping

    def check_room(self) -> None:
        """Refuse a job before it is read, where the queue is full.

        Raises:
            Problem: there are too many already.
        """
        if len(self._queue) >= self._settings.max_waiting:
            raise come_back(429, "too many requests are waiting; come back in a second")

    async def do(self, job: Job) -> Reply:
        """Return the reply to a job.

        Raises:
            Problem: it cannot be done, not now, or not in time.
        """
        if isinstance(job, AddDocument | RemoveDocument | MarkAnswer):
            return await self._write(job)
        return await self._do(job, self._settings.timeout_seconds)

    async def _write(self, job: Job) -> Reply:
        if self._writes >= MAX_WRITES:
            raise come_back(429, "too many changes are waiting; come back in a few seconds")
        self._writes += 1
        try:
            async with self._writing:
                return await self._do(job, self._settings.write_timeout_seconds)
        finally:
            self._writes -= 1

    async def _do(self, job: Job, seconds: float) -> Reply:
        self.check_room()
        task = _Task(job, asyncio.get_running_loop().create_future())
        self._queue.append(task)
        self._dispatch()
        try:
            async with asyncio.timeout(seconds):
                reply = await task.done
        except TimeoutError as error:
            self._end_worker_of(task)
            raise come_back(504, f"not done within {seconds:g} s") from error
        finally:
            # Where the client has gone or time is up, it must not take another's place.
            task.done.cancel()
            with suppress(ValueError):
                self._queue.remove(task)
        if isinstance(reply, Failed):
            raise fail(reply)
        return reply

    def _dispatch(self) -> None:
        """Hand the jobs that wait to the workers that have least to do."""
        crew = self._list_crew()
        while self._queue and crew:
            worker = min(crew, key=lambda item: len(item.tasks))
            if len(worker.tasks) >= SLOTS:
                break
            task = self._queue.popleft()
            if task.done.done():
                continue
            number = next(self._numbers)
            worker.tasks[number] = task
            worker.process.send(Sent(number, task.get_job()))
        self._count()

    def _list_crew(self) -> list[_Worker]:
        """Return the workers that take jobs."""
        return [worker for worker in self._workers if worker.crew is self._crew]

    async def _change_crew(self) -> None:
        crew = _Crew(pin(self._settings.scorer))
        try:
            # One first: where there is no index yet, it makes one.
            first = await self._start(crew)
            others = (self._start(crew) for _ in range(self._settings.workers - 1))
            for other in await asyncio.gather(*others, return_exceptions=True):
                if isinstance(other, BaseException):
                    raise other
        except BaseException:
            for worker in [worker for worker in self._workers if worker.crew is crew]:
                self._workers.remove(worker)
                await worker.process.end()
            raise
        retired = self._list_crew()
        self._crew, self.info = crew, first.process.info
        for worker in self._list_crew():
            keeper = asyncio.create_task(self._keep(worker))
            self._keepers.add(keeper)
            keeper.add_done_callback(self._keepers.discard)
        for worker in retired:
            worker.process.close()
        self._dispatch()

    async def _start(self, crew: _Crew) -> _Worker:
        process = await WorkerProcess.start(self._settings.index, crew.scorer)
        worker = _Worker(process, crew)
        self._workers.append(worker)
        self._dispatch()
        return worker

    async def _keep(self, worker: _Worker) -> None:
        """Take what a worker replies; when it is gone, put another in its place."""
        crew = worker.crew
        while True:
            try:
                await self._listen(worker)
                self._lose(worker)
                status = await worker.process.wait()
            finally:
                await worker.process.end()  # where a stop does not wait for it
            if self._is_stopping or crew is not self._crew:
                return
            self._metrics.restarts += 1
            _log.error("a worker ended with status %s; replaced", status)
            another = await self._replace(crew)
            if another is None:
                return
            worker = another

    async def _replace(self, crew: _Crew) -> _Worker | None:
        """Return another worker of a crew; None where there is another crew meanwhile."""
        pause = 0.1
        while crew is self._crew:
            try:
                worker = await self._start(crew)
            except InputError as error:
                _log.error("a worker could not be started: %s", error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, MAX_PAUSE_SECONDS)
                continue
            if crew is not self._crew:
                worker.process.close()
            return worker
        return None

    async def _listen(self, worker: _Worker) -> None:
        async for received in worker.process.receive():
            task = worker.tasks.pop(received.number)
            if not task.done.done():
                task.done.set_result(unpack_reply(received, task.job))
            self._dispatch()

    def _lose(self, worker: _Worker) -> None:
        """Put the jobs of a lost worker back to the head of the queue."""
        self._workers.remove(worker)
        for task in reversed(worker.tasks.values()):
            task.tries += 1
            if task.tries <= self._settings.workers:
                self._queue.appendleft(task)
                self._metrics.repeated += 1
            elif not task.done.done():
                lost = f"its worker was lost {task.tries} times; the server's log says more"
                task.done.set_result(Failed("bug", lost))
        worker.tasks.clear()
        self._dispatch()

    def _end_worker_of(self, task: _Task) -> None:
        """End the worker that takes too long over a job: it may never come back."""
        for worker in self._workers:
            if task in worker.tasks.values():
                _log.error("a worker took too long over a %s", type(task.job).__name__)
                worker.process.kill()

    def _count(self) -> None:
        self._metrics.waiting = len(self._queue)
        self._metrics.running = sum(len(worker.tasks) for worker in self._workers)
        self._metrics.ready = len(self._list_crew())
