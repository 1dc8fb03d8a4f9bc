"""Carries a task to Dask's workers, of a cluster that is there or of one made for the job."""

import queue
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rejoinder.errors import InputError, MissingExtraError
from rejoinder.scale.job import Numbered, Outcome, Task

if TYPE_CHECKING:
    from distributed import Client, Future

LOCAL = "local"
"""Stands for a cluster of this machine's own, with one worker process per core."""

CONNECT_SECONDS = 10
MAX_SECONDS_WITHOUT_WORKERS = 60


class OnDask:
    """An engine: each worker process does one partition at a time."""

    def __init__(self, address: str = LOCAL) -> None:
        self._address = address

    def __call__(self, task: Task, items: list[Numbered]) -> Iterator[Outcome]:
        """Send the task once, and the partitions to whoever is free.

        Raises:
            InputError: no scheduler or no worker is there, or workers die of a partition.
        """
        with _connecting(self._address) as client:
            # A thread of Dask's gives what is done; workers that die are Dask's to replace.
            finished: queue.Queue[Future] = queue.Queue()
            sent = client.scatter(task, broadcast=True, hash=False)
            futures = [
                client.submit(_do, sent, item, key=f"rejoinder-{item.number}", pure=False)
                for item in items
            ]
            for future in futures:
                future.add_done_callback(finished.put)
            for _ in futures:
                yield _get_outcome(_wait(finished, client, self._address))


def _do(task: Task, item: Numbered) -> Outcome:
    return task(item)


def _wait(finished: "queue.Queue[Future]", client: "Client", address: str) -> "Future":
    """Return the next that is done; workers may come and go, but not all be gone for long."""
    seen = time.monotonic()
    while True:
        try:
            return finished.get(timeout=2)
        except queue.Empty:
            if client.status != "running":
                raise InputError(
                    f"the Dask scheduler at {address} is gone; run the same again"
                ) from None
            if client.scheduler_info(n_workers=-1)["workers"]:
                seen = time.monotonic()
            if time.monotonic() - seen > MAX_SECONDS_WITHOUT_WORKERS:
                raise InputError(
                    f"no worker is left at {address}; start some, and run the same again"
                ) from None


def _get_outcome(future: "Future") -> Outcome:
    from distributed import KilledWorker

    try:
        outcome: Outcome = future.result()
    except KilledWorker as error:
        raise InputError(f"workers die again and again of one partition: {error}") from error
    return outcome


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
            client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise InputError(f"the Dask scheduler at {address} has no workers") from error
        yield client
