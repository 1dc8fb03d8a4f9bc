"""Batch faults: workers of real clusters, killed in the middle of a job."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from rejoinder.batch.dask import DaskExecutor
from rejoinder.batch.job import Executor
from rejoinder.batch.spark import SparkExecutor
from tests.batch.clusters import Cluster, dask_cluster, find_why_no_spark, spark_cluster
from tests.batch.killing import PARTITIONS, ROWS_EACH, kill_in_the_middle
from tests.reliability.case import CannotRunError, Case, Outcome


def kill_workers(
    start: Callable[[], AbstractContextManager[Cluster]],
    make_executor: Callable[[str], Executor],
    folder: Path,
    kills: int,
) -> Outcome:
    """Run one job per kill; count the rows that are missing, duplicated or different."""
    if make_executor is SparkExecutor and (why := find_why_no_spark()):
        raise CannotRunError(why)
    losses = 0
    with start() as cluster:
        for number in range(kills):
            rows, wrong = kill_in_the_middle(cluster, make_executor, folder / str(number))
            losses += wrong + abs(rows - PARTITIONS * ROWS_EACH)
            cluster.start_worker()
    rows = kills * PARTITIONS * ROWS_EACH
    return Outcome(kills, losses, f"{rows:,} rows, identical to those of a single process")


LOSS = "rows that are missing, duplicated, or different from those of a single process"
CASES = [
    Case(
        "batch",
        "Dask: worker killed",
        partial(kill_workers, dask_cluster, DaskExecutor),
        0,
        5,
        LOSS,
    ),
    Case(
        "batch",
        "Spark: worker killed",
        partial(kill_workers, spark_cluster, SparkExecutor),
        0,
        5,
        LOSS,
    ),
]
"""The short form is in `tests/batch`, on the clusters of its fixtures."""
