"""Workers that are killed with -9 in the middle of a job, on real clusters."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from rejoinder.batch.dask import DaskExecutor
from rejoinder.batch.job import Executor
from rejoinder.batch.spark import SparkExecutor
from tests.batch.clusters import Cluster, dask_cluster, find_why_no_spark, spark_cluster
from tests.batch.killing import PARTITIONS, ROWS_EACH, kill_in_the_middle
from tests.reliability.case import CannotRunError, Case, Found


def kill_workers(
    start: Callable[[], AbstractContextManager[Cluster]],
    make_executor: Callable[[str], Executor],
    folder: Path,
    kills: int,
) -> Found:
    """Run a job for each kill; count the rows that are missing, doubled or not the same."""
    if make_executor is SparkExecutor and (why := find_why_no_spark()):
        raise CannotRunError(why)
    lost = 0
    with start() as cluster:
        for number in range(kills):
            rows, wrong = kill_in_the_middle(cluster, make_executor, folder / str(number))
            lost += wrong + abs(rows - PARTITIONS * ROWS_EACH)
            cluster.start_worker()
    rows = kills * PARTITIONS * ROWS_EACH
    return Found(kills, lost, f"{rows:,} rows, equal to those of one process")


LOST = "rows missing, doubled, or other than one process writes"
CASES = [
    Case(
        "batch",
        "Dask: worker killed",
        partial(kill_workers, dask_cluster, DaskExecutor),
        0,
        5,
        LOST,
    ),
    Case(
        "batch",
        "Spark: worker killed",
        partial(kill_workers, spark_cluster, SparkExecutor),
        0,
        5,
        LOST,
    ),
]
"""The short form is in `tests/batch`, on the clusters of its fixtures."""
