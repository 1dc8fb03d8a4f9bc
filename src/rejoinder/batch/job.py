"""A batch job: one pure function applied to every partition of a table, on any executor.

An executor (`run_locally`, `DaskExecutor`, `SparkExecutor`) gets a task and the remaining
partitions, and reports each partition when its part is on disk.  The job keeps the list of
finished partitions, so that it can be resumed.
"""

import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from rejoinder.batch.encode_table import encode_table
from rejoinder.batch.job_output import begin_job, record_part, write_part
from rejoinder.batch.load_engine import EngineTarget, check_ids, load_part
from rejoinder.batch.packed_scorer import PackedScorer, load_packed_scorer
from rejoinder.batch.partitions import Partition, PartitionedTable, open_table, read_partition
from rejoinder.batch.rank_table import rank_table
from rejoinder.batch.schemas import DOCUMENTS, QUESTIONS
from rejoinder.errors import DataError, InputError, RejoinderError, StoreError
from rejoinder.index.index import load_tokenizer
from rejoinder.models.ranking import check_min_confidence
from rejoinder.storage.files import lock_folder


class PartitionResult(NamedTuple):
    """A finished or failed partition.

    An error is returned, not raised: executors would retry it, and it must reach the user as
    one line.
    """

    number: int
    problem: str = ""


@dataclass(frozen=True)
class Task:
    """The work on one partition, sent to workers: rank its questions, or encode its documents."""

    scorer: PackedScorer | None
    """None to encode."""
    columns: tuple[str, ...]
    output: str
    top: int | None = None
    min_confidence: float | None = None
    engine: str = field(default="", repr=False)
    """The URL of the search engine that documents are loaded into; empty for none."""

    def __call__(self, partition: Partition) -> PartitionResult:
        """Read a partition, process it, and write its part."""
        try:
            batch = read_partition(partition, self.columns)
            processed = self._process(batch, partition)
            if self.engine:
                load_part(processed, self.engine)
            write_part(Path(self.output), partition.number, processed)
        except RejoinderError as error:
            return PartitionResult(partition.number, f"{error} (on {platform.node()})")
        return PartitionResult(partition.number)

    def _process(self, batch: pa.RecordBatch, partition: Partition) -> pa.RecordBatch:
        first = partition.first_row
        try:
            if self.scorer is None:
                return encode_table(batch, tokenizer=load_tokenizer(), first_row=first)
            scorer = load_packed_scorer(self.scorer)
            return rank_table(
                batch,
                scorer=scorer,
                top=self.top,
                min_confidence=self.min_confidence,
                first_row=first,
            )
        except InputError as error:
            raise DataError(str(error), path=Path(partition.path)) from error


class Executor(Protocol):
    """Runs a task on workers."""

    def __call__(self, task: Task, partitions: list[Partition]) -> Iterable[PartitionResult]:
        """Run the task on each partition; yield each result when it is known."""
        ...


def run_locally(task: Task, partitions: list[Partition]) -> Iterator[PartitionResult]:
    """Run the task in this process, one partition after the other."""
    return map(task, partitions)


def choose_executor(*, dask: str | None = None, spark: str | None = None) -> Executor:
    """Return the executor for a Dask address or a Spark master; by default this process."""
    if dask is not None and spark is not None:
        raise InputError("give only one of --dask and --spark")
    if dask is not None:
        from rejoinder.batch.dask import DaskExecutor

        return DaskExecutor(dask)
    if spark is not None:
        from rejoinder.batch.spark import SparkExecutor

        return SparkExecutor(spark)
    return run_locally


class JobProgress(NamedTuple):
    """How many partitions and rows of a job are done."""

    done: int
    total: int
    rows: int
    ignored_columns: tuple[str, ...] = ()


def run_job(
    source: Path,
    output: Path,
    *,
    scorer: PackedScorer | None,
    executor: Executor = run_locally,
    top: int | None = None,
    min_confidence: float | None = None,
    engine: EngineTarget | None = None,
) -> Iterator[JobProgress]:
    """Run or resume a job, and yield its progress, first that of earlier runs.

    Args:
        scorer: ranks the questions of the table; None to encode documents.
        top: keep only so many candidates of each question.
        min_confidence: abstain below this confidence, instead of where the scorer finds
            no answer likely.
        engine: the search engine that encoded documents are loaded into.

    Raises:
        InputError: the table cannot be used, the output belongs to another job, or the scorer
            has no confidence to compare.
        DataError: a partition cannot be read, or a row is invalid.
        StoreError: the output cannot be written, another process is writing it, or the engine
            does not answer or has something else.
    """
    table = open_table(source, QUESTIONS if scorer else DOCUMENTS)
    if scorer and min_confidence is not None:  # before the output is begun
        check_min_confidence(min_confidence, load_packed_scorer(scorer))
    if engine:
        check_ids(table)
        engine.check()
    _make_folder(output)
    job = _describe(table, scorer, top, min_confidence, engine)
    with lock_folder(output, name="_lock"):
        done = begin_job(output, job)
        if engine:
            engine.create(done=len(done))
        remaining = [item for item in table.partitions if item.number not in done]
        total = len(table.partitions)
        rows = table.rows - sum(partition.count for partition in remaining)
        yield JobProgress(total - len(remaining), total, rows, table.ignored_columns)
        place = str(output.resolve())
        url = engine.url if engine else ""
        task = Task(scorer, table.columns, place, top, min_confidence, url)
        waiting = {partition.number for partition in remaining}
        for result in executor(task, remaining) if remaining else ():
            if result.problem:
                raise InputError(
                    f"{result.problem}; {total - len(waiting)} of {total} partitions are done;"
                    " run the same command again to resume"
                )
            if result.number in waiting:
                waiting.discard(result.number)
                rows += record_part(output, result.number)
                yield JobProgress(total - len(waiting), total, rows, table.ignored_columns)
        if waiting:
            raise StoreError(
                f"{output}: {len(waiting)} partitions are not done;"
                " run the same command again to resume"
            )
        if engine:  # also where nothing was left: the run before may have been killed here
            engine.finish()


def _describe(
    table: PartitionedTable,
    scorer: PackedScorer | None,
    top: int | None,
    min_confidence: float | None,
    engine: EngineTarget | None,
) -> dict[str, Any]:
    """Return the values that identify the job, as JSON reads them back."""
    return {
        "kind": "rank" if scorer else "encode",
        "scorer": scorer and (scorer.digest or scorer.name),
        "top": top,
        # Only if it is given, so that outputs of earlier versions can be resumed.
        **({} if min_confidence is None else {"min_confidence": min_confidence}),
        **({} if engine is None else {"to": engine.shown}),
        "partitions": len(table.partitions),
        "files": [list(file) for file in table.files],
    }


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot create the folder ({error.strerror})") from error
