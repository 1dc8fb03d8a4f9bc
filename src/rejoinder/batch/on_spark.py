"""Carries a task to Spark's workers, and `rank_table` into jobs that people have on Spark."""

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

from rejoinder.batch.job import Numbered, Outcome, Task
from rejoinder.batch.packing import load_packed, pack_scorer
from rejoinder.batch.parts import name_part
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
"""The columns of a ranking, as `mapInArrow` wants to be told."""

_OUTCOMES = pa.schema([("number", pa.int64()), ("problem", pa.string())])

Batches = Iterator[pa.RecordBatch]


def rank_batches(
    scorer: str, *, send: bool = False, top: int | None = None
) -> Callable[[Batches], Batches]:
    """Return what `mapInArrow` needs in order to rank a data frame of questions.

        frame.mapInArrow(rank_batches("cosinet"), RANKED_COLUMNS)

    Args:
        scorer: a name of `rejoinder models list`, a bundle's folder, or a cascade's file.
        send: send the files along, for workers that cannot open them by their path.
        top: keep only so many candidates of each question.
    """
    packed = pack_scorer(scorer, send=send)

    def work(batches: Batches) -> Batches:
        loaded = load_packed(packed)
        for batch in batches:
            yield rank_table(batch, scorer=loaded, top=top)

    return work


class OnSpark:
    """A carrier: one task of Spark's per partition."""

    def __init__(self, master: str) -> None:
        self._master = master

    def __call__(self, task: Task, items: list[Numbered]) -> Iterator[Outcome]:
        """Send the task once, and the partitions to whoever is free.

        Raises:
            InputError: no master is there, or Spark gives up.
        """
        with _connecting(self._master) as spark:
            sent = spark.sparkContext.broadcast((task, items))

            def work(batches: Batches) -> Batches:
                do, given = sent.value
                for batch in batches:
                    outcomes = [do(given[place]) for place in batch.column(0).to_pylist()]
                    yield pa.RecordBatch.from_pylist(
                        [outcome._asdict() for outcome in outcomes], schema=_OUTCOMES
                    )

            places = spark.range(0, len(items), 1, numPartitions=len(items))
            frame = places.mapInArrow(work, "number bigint, problem string")
            yield from _follow(frame.collect, task, items)


def _follow(
    collect: Callable[[], list[Any]], task: Task, items: list[Numbered]
) -> Iterator[Outcome]:
    """Run Spark's job beside, and give each partition as its part appears.

    Spark tells results at the end of a job only, and parts appear whole.
    """
    ended: queue.Queue[list[Outcome] | Exception] = queue.Queue()

    def run() -> None:
        try:
            ended.put([Outcome(row["number"], row["problem"]) for row in collect()])
        except Exception as error:  # Spark's, and handed on below
            ended.put(error)

    threading.Thread(target=run, daemon=True).start()
    # A part that an earlier run has left without listing it is done anew.
    before = {item.number: _find_state(task, item.number) for item in items}
    while True:
        try:
            result = ended.get(timeout=POLL_SECONDS)
        except queue.Empty:
            for number in [at for at in before if _find_state(task, at) != before[at]]:
                del before[number]
                yield Outcome(number)
            continue
        if isinstance(result, Exception):
            raise InputError(f"Spark gave up ({_shorten(result)}); run the same again") from result
        yield from result
        return


def _shorten(error: Exception) -> str:
    """Return the line that says why: Java's own comes after the one that names the call."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line for line in lines if "Exception: " in line]
    return (causes or lines or [type(error).__name__])[0][-300:]


def _find_state(task: Task, number: int) -> tuple[int, int] | None:
    try:
        found = os.stat(os.path.join(task.output, name_part(number)))  # noqa: PTH116, PTH118
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


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
    """Find out in seconds what Spark would take a minute to say."""
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
