"""Run a task on Spark, and rank data frames of other Spark jobs."""

import os
import queue
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from rejoinder.batch.job import PartitionResult, Task
from rejoinder.batch.job_output import get_part_name
from rejoinder.batch.packed_scorer import load_packed_scorer, pack_scorer
from rejoinder.batch.partitions import Partition
from rejoinder.batch.rank_table import rank_table
from rejoinder.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT_SECONDS = 5
POLL_SECONDS = 0.5

RANKED_COLUMNS = (
    "id string, question string, answers array<struct<id: string, text: string,"
    " document: string, position: bigint, score: double, stage: int>>,"
    " confidence double, abstains boolean"
)
"""The schema of `rank_batches` for `mapInArrow`."""

_RESULTS = pa.schema([("number", pa.int64()), ("problem", pa.string())])

Batches = Iterator[pa.RecordBatch]


def rank_batches(
    scorer: str,
    *,
    send: bool = False,
    top: int | None = None,
    min_confidence: float | None = None,
) -> Callable[[Batches], Batches]:
    """Return a function for `mapInArrow` that ranks a data frame of questions.

        frame.mapInArrow(rank_batches("cosinet"), RANKED_COLUMNS)

    Args:
        scorer: a name of `rejoinder models list`, the folder of a bundle, or a cascade file.
        send: send the files, for workers that cannot open the path.
        top: keep only so many candidates of each question.
        min_confidence: abstain below this confidence, instead of where the scorer finds
            no answer likely.
    """
    packed = pack_scorer(scorer, send=send)

    def work(batches: Batches) -> Batches:
        loaded = load_packed_scorer(packed)
        for batch in batches:
            yield rank_table(batch, scorer=loaded, top=top, min_confidence=min_confidence)

    return work


class SparkExecutor:
    """An executor: one Spark task per partition."""

    def __init__(self, master: str) -> None:
        self._master = master

    def __call__(self, task: Task, partitions: list[Partition]) -> Iterator[PartitionResult]:
        """Broadcast the task, and run each partition on a free worker."""
        with _connecting(self._master) as spark:
            sent = spark.sparkContext.broadcast((task, partitions))

            def work(batches: Batches) -> Batches:
                run, own = sent.value
                for batch in batches:
                    results = [run(own[place]) for place in batch.column(0).to_pylist()]
                    yield pa.RecordBatch.from_pylist(
                        [result._asdict() for result in results], schema=_RESULTS
                    )

            places = spark.range(0, len(partitions), 1, numPartitions=len(partitions))
            frame = places.mapInArrow(work, "number bigint, problem string")
            yield from _follow(frame.collect, task, partitions)


def _follow(
    collect: Callable[[], list[Any]], task: Task, partitions: list[Partition]
) -> Iterator[PartitionResult]:
    """Run the Spark job in a thread, and yield each partition when its part file appears.

    Spark returns results only at the end of a job; part files are written atomically.
    """
    ended: queue.Queue[list[PartitionResult] | Exception] = queue.Queue()

    def run() -> None:
        try:
            ended.put([PartitionResult(row["number"], row["problem"]) for row in collect()])
        except Exception as error:  # raised again below
            ended.put(error)

    threading.Thread(target=run, daemon=True).start()
    # A part that an earlier run wrote but did not record is written again.
    before = {item.number: _get_state(task, item.number) for item in partitions}
    while True:
        try:
            result = ended.get(timeout=POLL_SECONDS)
        except queue.Empty:
            for number in [at for at in before if _get_state(task, at) != before[at]]:
                del before[number]
                yield PartitionResult(number)
            continue
        if isinstance(result, Exception):
            raise InputError(
                f"the Spark job failed ({_shorten(result)}); run the same command again to resume"
            ) from result
        yield from result
        return


def _shorten(error: Exception) -> str:
    """Return the cause: Java reports it after the line that names the call."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "Exception: " in line]
    return (causes or lines or [type(error).__name__])[0][-300:]


def _get_state(task: Task, number: int) -> tuple[int, int] | None:
    try:
        state = os.stat(os.path.join(task.output, get_part_name(number)))  # noqa: PTH116, PTH118
    except FileNotFoundError:
        return None
    return state.st_ino, state.st_mtime_ns


@contextmanager
def _connecting(master: str) -> Iterator["SparkSession"]:
    try:
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError("Spark", extra="spark") from error
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        raise InputError(
            "Spark needs Java 17 or newer; on Debian: apt install default-jre-headless"
        )
    _check_master(master)
    try:
        spark = (
            SparkSession.builder.master(master)
            .appName("rejoinder rank-table")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .getOrCreate()
        )
    except (Py4JError, PySparkException, RuntimeError) as error:
        raise InputError(f"no Spark at {master} ({_shorten(error)})") from error
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        spark.stop()


def _check_master(master: str) -> None:
    """Fail in seconds where Spark would try for a minute."""
    if not master.startswith("spark://"):
        return
    for place in master.removeprefix("spark://").split(","):
        parts = urlsplit(f"//{place}")
        try:
            with socket.create_connection(
                (parts.hostname or "", parts.port or 7077), CONNECT_SECONDS
            ):
                return
        except (OSError, ValueError):
            continue
    raise InputError(f"no Spark master at {master}")
