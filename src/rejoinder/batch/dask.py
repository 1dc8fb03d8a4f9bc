"""Run a task on Dask: on an existing cluster, or on a local one started for the job."""

import queue
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rejoinder.batch.job import PartitionResult, Task
from rejoinder.batch.partitions import Partition
from rejoinder.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client, Future, WorkerPlugin

LOCAL = "local"
"""The address that stands for a local cluster with one worker process per core."""

CONNECT_SECONDS = 10
FIRST_WORKER_SECONDS = 30
MAX_SECONDS_WITHOUT_WORKERS = 60
POLL_SECONDS = 2


class DaskExecutor:
    """An executor: each worker process runs one partition at a time."""

    def __init__(self, address: str = LOCAL) -> None:
        self._address = address

    def __call__(self, task: Task, partitions: list[Partition]) -> Iterator[PartitionResult]:
        """Send the task to every worker once, and each partition to a free worker."""
        with _connecting(self._address) as client:
            name = f"rejoinder-{uuid.uuid4().hex}"
            client.register_plugin(_make_plugin(task, name))
            try:
                # Filled by a thread of Dask, which also repeats the work of lost workers.
                finished: queue.Queue[Future[PartitionResult]] = queue.Queue()
                futures = [  # Dask cancels futures without a reference
                    client.submit(_run, name, item, key=f"{name}-{item.number}")
                    for item in partitions
                ]
                for future in futures:
                    future.add_done_callback(finished.put)
                for _ in futures:
                    yield _take(finished, client, self._address)
            finally:
                client.unregister_worker_plugin(name)


_tasks: dict[str, Task] = {}
"""The tasks of this worker process."""


def _run(name: str, partition: Partition) -> PartitionResult:
    return _tasks[name](partition)


def _add_task(name: str, task: Task) -> None:
    _tasks[name] = task


def _remove_task(name: str) -> None:
    _tasks.pop(name, None)


def _make_plugin(task: Task, key: str) -> "WorkerPlugin":
    """Return a plugin that gives the task to every worker, also to those that join later.

    Scattered data would be lost with the last worker that has it.
    """
    from distributed import WorkerPlugin

    class TaskPlugin(WorkerPlugin):
        name = key

        def setup(self, worker: Any) -> None:  # noqa: ARG002
            _add_task(key, task)

        def teardown(self, worker: Any) -> None:  # noqa: ARG002
            _remove_task(key)

    return TaskPlugin()


def _take(
    finished: "queue.Queue[Future[PartitionResult]]", client: "Client", address: str
) -> PartitionResult:
    """Return the next result; fail if there is no worker for too long."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    future: Future[PartitionResult] | None = None
    seen = time.monotonic()
    while True:
        try:
            future = future or finished.get(timeout=POLL_SECONDS)
            result: PartitionResult = future.result(timeout=POLL_SECONDS)
            return result
        except (queue.Empty, TimeoutError):
            if client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]:
                seen = time.monotonic()
            if time.monotonic() - seen > MAX_SECONDS_WITHOUT_WORKERS:
                raise InputError(f"no worker is left at {address}; {_RESUME}") from None
        except FutureCancelledError as error:
            raise InputError(f"the Dask scheduler at {address} was lost; {_RESUME}") from error
        except KilledWorker as error:
            raise InputError(f"a partition kills its workers repeatedly: {error}") from error


_RESUME = "run the same command again to resume"


@contextmanager
def _connecting(address: str) -> Iterator["Client"]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError("Dask", extra="batch") from error
    if address == LOCAL:
        with (
            LocalCluster(threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler at {address}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=FIRST_WORKER_SECONDS)
        except TimeoutError as error:
            raise InputError(f"the Dask scheduler at {address} has no workers") from error
        yield client
