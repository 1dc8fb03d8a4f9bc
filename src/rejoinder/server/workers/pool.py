"""Worker processes, and the bounded queue in front of them.

The HTTP process computes nothing; workers compute.  A job is in the queue or with a worker.  When
a worker dies, its jobs return to the head of the queue: a crash costs time but no request.  All
workers may be killed at once; a job that has lost more workers than there are fails, because it
may be the cause.

Workers that opened the same scorer form a generation.  A reload starts a new generation; once all
its workers are ready it gets every job, and the workers of the old one exit after their last job.

The pool watches the place of the index: when another index is there, or none, all workers are told.
"""

import asyncio
import logging
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO
from itertools import count
from pathlib import Path

import msgspec

from rejoinder.cascade.loading import pin
from rejoinder.errors import InputError
from rejoinder.index.files import DATABASE, describe_gone
from rejoinder.index.sqlite.database import Identity, read_identity
from rejoinder.models.encoders.network import SHARED
from rejoinder.models.encoders.shared_weights import create_memory
from rejoinder.server.problems import retry_later, to_problem
from rejoinder.server.settings import Settings
from rejoinder.server.telemetry import Metrics
from rejoinder.server.workers.messages import (
    AddDocument,
    Failure,
    Feedback,
    FollowIndex,
    Job,
    Received,
    RemoveDocument,
    RemoveDocuments,
    TimedJob,
    WorkerInfo,
    pack_job,
    unpack_reply,
)

SLOTS = 2
"""Jobs that one worker runs in parallel: one tokenises while another's network runs."""
MAX_WRITES = 16
"""Writes to the index that may queue; they run one at a time."""

WATCH_SECONDS = 0.5
"""Between two looks at the place of the index."""
FOLLOW_SECONDS = 10.0
"""How long the pool waits until its workers have opened another index."""

RETRIEVER = "REJOINDER_WORKER_RETRIEVER"
"""The environment variable that tells a worker the URL of a search engine."""
ENGINE_SECONDS = 2.0
"""Between two questions to a search engine whether it can answer."""

_log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class _Task:
    job: Job
    outcome: asyncio.Future[bytes | Failure]
    queued_at: float = field(default_factory=time.monotonic)
    losses: int = 0
    """How many workers died while they ran it."""

    def get_job(self) -> Job:
        """Return the job with the budget that queueing has left of it."""
        if not isinstance(self.job, TimedJob) or self.job.budget_ms is None:
            return self.job
        left_ms = self.job.budget_ms - 1000 * (time.monotonic() - self.queued_at)
        return msgspec.structs.replace(self.job, budget_ms=max(0.0, left_ms))


@dataclass(eq=False, frozen=True, slots=True)
class _Generation:
    scorer: str
    provider: str
    memory: FileIO | None = None
    """The file in memory that has the weights of all its workers."""

    def end(self) -> None:
        """Start no more workers; those that have mapped the shared weights keep them."""
        if self.memory:
            self.memory.close()


class _Worker:
    """A worker process that is ready for jobs."""

    info: WorkerInfo

    def __init__(self, process: Process, generation: _Generation) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._jobs = process.stdin
        self.generation = generation
        self.tasks: dict[int, _Task] = {}
        self.messages = _read_messages(process.stdout)
        """Its replies, until the process has ended."""

    @classmethod
    async def start(cls, settings: Settings, generation: _Generation, *, create: bool) -> "_Worker":
        """Return a process that has opened an index and a scorer."""
        served = (str(settings.index or ""), generation.scorer, generation.provider)
        arguments = (*served, create, settings.min_confidence)
        code = f"from rejoinder.server.workers.worker import main; main{arguments!r}"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        environment[RETRIEVER] = settings.retriever or ""
        inherited = (generation.memory.fileno(),) if generation.memory else ()
        environment[SHARED] = "".join(map(str, inherited))
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", code),
            stdin=PIPE,
            stdout=PIPE,
            env=environment,
            pass_fds=inherited,
        )
        worker = cls(process, generation)
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

    def send(self, number: int, task: _Task) -> None:
        """Send a job; a process that has ended drops it silently."""
        self.tasks[number] = task
        with suppress(ConnectionError):
            self._jobs.write(pack_job(number, task.get_job()))

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


class Pool:
    """The workers of a server; a backend."""

    info: WorkerInfo

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._queue: deque[_Task] = deque()
        self._generation = _Generation(settings.scorer, settings.provider)
        self._workers: list[_Worker] = []
        """Of all generations."""
        self._supervisors: set[asyncio.Task[None]] = set()
        self._reload_lock = asyncio.Lock()
        self._numbers = count()
        self._write_lock = asyncio.Lock()
        self._writes = 0
        self._is_stopping = False
        self._index_problem = ""

    async def start(self) -> None:
        """Start the workers, and wait until all are ready; an index is created if there is none."""
        async with self._reload_lock:
            await self._start_generation(create=True)
        if self._settings.index:
            path = self._settings.index / DATABASE
            # Before the workers open what is there: a later index is then always another one.
            seen = await asyncio.to_thread(read_identity, path)
            has_followed = await self._follow_index()
            self._keep(self._watch_index(path, seen if has_followed else None))
        elif self._settings.retriever:
            self._keep(self._watch_engine())

    async def reload(self) -> None:
        """Replace the workers; if a new one cannot open index and scorer, the old ones stay."""
        async with self._reload_lock:
            await self._start_generation(create=False)
        self._metrics.reloads += 1

    async def stop(self) -> None:
        """End the workers at once; their jobs are lost."""
        self._is_stopping = True
        for worker in self._workers:
            worker.close()
        for supervisor in self._supervisors:
            supervisor.cancel()
        await asyncio.gather(*self._supervisors, return_exceptions=True)
        for worker in self._workers:
            await worker.end()
        self._generation.end()

    @property
    def is_ready(self) -> bool:
        """Whether a worker can take a job now."""
        return bool(self._list_current()) and not self._is_stopping

    @property
    def index_problem(self) -> str:
        """Why questions over the index fail; empty where they do not."""
        return self._index_problem

    def check_capacity(self) -> None:
        """Refuse a job with status 429 if the queue is full."""
        if len(self._queue) >= self._settings.max_waiting:
            raise retry_later(429, "too many requests are queued; retry in a second")

    async def submit(self, job: Job) -> bytes:
        """Return the reply to a job as JSON."""
        if not isinstance(job, AddDocument | RemoveDocument | RemoveDocuments | Feedback):
            return await self._submit(job, self._settings.timeout_seconds)
        if self._writes >= MAX_WRITES:
            raise retry_later(429, "too many writes are queued; retry in a few seconds")
        self._writes += 1
        try:
            async with self._write_lock:
                return await self._submit(job, self._settings.write_timeout_seconds)
        finally:
            self._writes -= 1

    async def _submit(self, job: Job, seconds: float) -> bytes:
        self.check_capacity()
        task = _Task(job, asyncio.get_running_loop().create_future())
        self._queue.append(task)
        self._dispatch()
        try:
            async with asyncio.timeout(seconds):
                outcome = await task.outcome
        except TimeoutError as error:
            self._kill_worker_of(task)
            raise retry_later(504, f"timed out after {seconds:g} s") from error
        finally:
            # After a timeout, or if the client has disconnected, free its slot in the queue.
            task.outcome.cancel()
            with suppress(ValueError):
                self._queue.remove(task)
        if isinstance(outcome, Failure):
            raise to_problem(outcome)
        return outcome

    def _dispatch(self) -> None:
        """Hand queued jobs to the least busy workers."""
        workers = self._list_current()
        while self._queue and workers:
            worker = min(workers, key=lambda item: len(item.tasks))
            if len(worker.tasks) >= SLOTS:
                break
            task = self._queue.popleft()
            if task.outcome.done():
                continue
            worker.send(next(self._numbers), task)
        self._update_gauges()

    def _list_current(self) -> list[_Worker]:
        """Return the workers of the current generation."""
        return [worker for worker in self._workers if worker.generation is self._generation]

    async def _start_generation(self, *, create: bool) -> None:
        pinned = pin(self._settings.scorer)
        generation = _Generation(pinned, self._settings.provider, create_memory())
        try:
            # One first: it creates the index, and packs the weights that the others share.
            first = await self._start_worker(generation, create=create)
            others = (self._start_worker(generation) for _ in range(self._settings.workers - 1))
            for other in await asyncio.gather(*others, return_exceptions=True):
                if isinstance(other, BaseException):
                    raise other
        except BaseException:
            for worker in [item for item in self._workers if item.generation is generation]:
                self._workers.remove(worker)
                await worker.end()
            generation.end()
            raise
        retired = self._list_current()
        self._generation.end()
        self._generation, self.info = generation, first.info
        for worker in self._list_current():
            self._keep(self._supervise(worker))
        for worker in retired:
            worker.close()
        self._dispatch()

    def _keep(self, coroutine: Coroutine[None, None, None]) -> None:
        """Run a coroutine until it ends, or the pool is stopped."""
        task = asyncio.create_task(coroutine)
        self._supervisors.add(task)
        task.add_done_callback(self._supervisors.discard)

    async def _start_worker(self, generation: _Generation, *, create: bool = False) -> _Worker:
        worker = await _Worker.start(self._settings, generation, create=create)
        self._workers.append(worker)
        self._dispatch()
        return worker

    async def _supervise(self, worker: _Worker) -> None:
        """Receive a worker's replies; when it dies, replace it."""
        generation = worker.generation
        while True:
            try:
                await self._receive(worker)
                self._requeue_jobs(worker)
                status = await worker.wait()
            finally:
                await worker.end()  # also if a stop cancels this
            if self._is_stopping or generation is not self._generation:
                return
            self._metrics.restarts += 1
            _log.error("a worker exited with status %s; starting another", status)
            replacement = await self._replace(generation)
            if replacement is None:
                return
            worker = replacement

    async def _replace(self, generation: _Generation) -> _Worker | None:
        """Return another worker of a generation; None if a reload has replaced the generation."""
        backoff = 0.1
        while generation is self._generation:
            try:
                worker = await self._start_worker(generation)
            except InputError as error:
                _log.error("a worker could not be started: %s", error)
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, 5.0)
                continue
            if generation is not self._generation:
                worker.close()
            return worker
        return None

    async def _watch_index(self, path: Path, seen: Identity | None) -> None:
        """Tell the workers when another index is at the path, or none, until one can be read.

        Args:
            seen: the index that the workers have opened.
        """
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            identity = await asyncio.to_thread(read_identity, path)
            if identity is None:
                if seen is not None:
                    self._tell_workers()  # so that they close its files
                self._report(describe_gone(path.parent))
                seen = None
            elif identity != seen or self._index_problem:
                seen = identity if await self._follow_index() else None

    async def _watch_engine(self) -> None:
        """Have the workers ask the search engine now and then whether it can answer."""
        while True:
            await asyncio.sleep(ENGINE_SECONDS)
            await self._follow_index()

    async def _follow_index(self) -> bool:
        """Have the workers open the index that is there; return whether all have replied."""
        outcomes = self._tell_workers()
        if not outcomes:
            return False
        done, late = await asyncio.wait(outcomes, timeout=FOLLOW_SECONDS)
        for outcome in late:
            outcome.cancel()
        replies = [outcome.result() for outcome in done]
        self._report(next((reply.message for reply in replies if isinstance(reply, Failure)), ""))
        return not late

    def _tell_workers(self) -> list[asyncio.Future[bytes | Failure]]:
        """Have each worker follow the index, whatever else it runs."""
        outcomes = []
        for worker in self._list_current():
            task = _Task(FollowIndex(), asyncio.get_running_loop().create_future())
            worker.send(next(self._numbers), task)
            outcomes.append(task.outcome)
        return outcomes

    def _report(self, problem: str) -> None:
        """Set why questions over the index fail, and log it if it is news."""
        if problem == self._index_problem:
            return
        self._index_problem = problem
        if problem:
            _log.error("not ready: %s", problem)
        else:
            _log.info("the index can be read again")

    async def _receive(self, worker: _Worker) -> None:
        async for received in worker.messages:
            task = worker.tasks.pop(received.number)
            if not task.outcome.done():
                task.outcome.set_result(received.outcome)
            self._dispatch()

    def _requeue_jobs(self, worker: _Worker) -> None:
        """Put the jobs of a dead worker back to the head of the queue."""
        self._workers.remove(worker)
        for task in reversed(worker.tasks.values()):
            task.losses += 1
            if task.losses <= self._settings.workers:
                self._queue.appendleft(task)
                self._metrics.retried += 1
            elif not task.outcome.done():
                message = f"its worker died {task.losses} times; see the server's log"
                task.outcome.set_result(Failure("bug", message))
        worker.tasks.clear()
        self._dispatch()

    def _kill_worker_of(self, task: _Task) -> None:
        """Kill the worker that took too long over a job: it may hang."""
        for worker in self._workers:
            if task in worker.tasks.values():
                _log.error("a worker timed out on a job: %s", type(task.job).__name__)
                worker.kill()

    def _update_gauges(self) -> None:
        self._metrics.queued = len(self._queue)
        self._metrics.running = sum(len(worker.tasks) for worker in self._workers)
        self._metrics.ready = len(self._list_current())


async def _read_messages(stream: asyncio.StreamReader) -> AsyncIterator[Received]:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            header = await stream.readexactly(4)
            yield unpack_reply(await stream.readexactly(int.from_bytes(header, "big")))
