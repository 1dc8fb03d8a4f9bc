"""Carries a task to Dask's workers, of a cluster that is there or of one made for the job."""

import queue
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rejoinder.batch.job import Numbered, Outcome, Task
from rejoinder.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from distributed import Client, Future, WorkerPlugin

LOCAL = "local"
"""Stands for a cluster of this machine's own, with one worker process per core."""

CONNECT_SECONDS = 10
FIRST_WORKER_SECONDS = 30
MAX_SECONDS_WITHOUT_WORKERS = 60
POLL_SECONDS = 2


class OnDask:
    """A carrier: each worker process does one partition at a time."""

    def __init__(self, address: str = LOCAL) -> None:
        self._address = address

    def __call__(self, task: Task, items: list[Numbered]) -> Iterator[Outcome]:
        """Send the task once, and the partitions to whoever is free.

        Raises:
            InputError: no scheduler or no worker is there, or workers die of a partition.
        """
        with _connecting(self._address) as client:
            name = f"rejoinder-{uuid.uuid4().hex}"
            client.register_plugin(_make_plugin(task, name))
            try:
                # A thread of Dask's puts what is done here; lost workers' work is Dask's to repeat.
                finished: queue.Queue[Future[Outcome]] = queue.Queue()
                futures = [  # Dask forgets what nobody holds
                    client.submit(_do, name, item, key=f"{name}-{item.number}") for item in items
                ]
                for future in futures:
                    future.add_done_callback(finished.put)
                for _ in futures:
                    yield _take(finished, client, self._address)
            finally:
                client.unregister_worker_plugin(name)


_tasks: dict[str, Task] = {}
"""What this worker process carries."""


def _do(name: str, item: Numbered) -> Outcome:
    return _tasks[name](item)


def _carry(name: str, task: Task) -> None:
    _tasks[name] = task


def _drop(name: str) -> None:
    _tasks.pop(name, None)


def _make_plugin(task: Task, key: str) -> "WorkerPlugin":
    """Return what takes a task to every worker, also to those that come later.

    What is scattered among workers is gone with the last of them.
    """
    from distributed import WorkerPlugin

    class Carry(WorkerPlugin):
        name = key

        def setup(self, worker: Any) -> None:  # noqa: ARG002
            _carry(key, task)

        def teardown(self, worker: Any) -> None:  # noqa: ARG002
            _drop(key)

    return Carry()


def _take(finished: "queue.Queue[Future[Outcome]]", client: "Client", address: str) -> Outcome:
    """Return the next that is done; workers may come and go, but not all be gone for long."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError

    future: Future[Outcome] | None = None
    seen = time.monotonic()
    while True:
        try:
            future = future or finished.get(timeout=POLL_SECONDS)
            outcome: Outcome = future.result(timeout=POLL_SECONDS)
            return outcome
        except (queue.Empty, TimeoutError):
            if client.status == "running" and client.scheduler_info(n_workers=-1)["workers"]:
                seen = time.monotonic()
            if time.monotonic() - seen > MAX_SECONDS_WITHOUT_WORKERS:
                raise InputError(f"no worker is left at {address}; {_AGAIN}") from None
        except FutureCancelledError as error:
            raise InputError(f"the Dask scheduler at {address} was lost; {_AGAIN}") from error
        except KilledWorker as error:
            raise InputError(f"workers die again and again of one partition: {error}") from error


_AGAIN = "what is done stays done; run the same again to go on"


@contextmanager
def _connecting(address: str) -> Iterator["Client"]:
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError("Dask", extra="scale") from error
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
