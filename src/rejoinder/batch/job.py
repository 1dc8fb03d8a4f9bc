"""A job: every partition of a table through one pure function, wherever workers are.

A carrier (`here`, `on_dask`, `on_spark`) takes a task and the partitions that are left, and gives
each as its part is on disk.  What is done, and what is left, is decided here.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import pyarrow as pa

from rejoinder.batch.encode_table import encode_table
from rejoinder.batch.packing import Packed, load_packed
from rejoinder.batch.partitions import Partition, Table, open_table, read_partition
from rejoinder.batch.parts import begin_job, note_part, write_part
from rejoinder.batch.rank_table import rank_table
from rejoinder.batch.schemas import DOCUMENTS, QUESTIONS
from rejoinder.errors import DataError, InputError, RejoinderError, StoreError
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.storage.lock import lock_folder
from rejoinder.text.wordpiece import WordPiece

Kind = Literal["rank", "encode"]


class Numbered(NamedTuple):
    """A partition and its number, which names its part."""

    number: int
    partition: Partition


class Outcome(NamedTuple):
    """What became of a partition.

    An error is told, not raised: it must reach the user as one line through any carrier, which
    would else try the same again.
    """

    number: int
    problem: str = ""


@dataclass(frozen=True)
class Task:
    """What a worker does with a partition; it is sent to workers whole."""

    kind: Kind
    scorer: Packed
    columns: tuple[str, ...]
    output: str
    top: int | None = None

    def __call__(self, item: Numbered) -> Outcome:
        """Read a partition, do the work, and commit its part."""
        try:
            batch = read_partition(item.partition, self.columns)
            done = self._work(batch, item.partition)
            write_part(Path(self.output), item.number, done)
        except RejoinderError as error:
            return Outcome(item.number, f"{error} (on {os.uname().nodename})")
        return Outcome(item.number)

    def _work(self, batch: pa.RecordBatch, partition: Partition) -> pa.RecordBatch:
        try:
            if self.kind == "rank":
                scorer = load_packed(self.scorer)
                return rank_table(batch, scorer=scorer, top=self.top, first_row=partition.first_row)
            return encode_table(batch, pieces=_load_pieces(), first_row=partition.first_row)
        except InputError as error:
            raise DataError(str(error), path=Path(partition.path)) from error


class Carrier(Protocol):
    """Carries a task to workers."""

    def __call__(self, task: Task, items: list[Numbered]) -> Iterable[Outcome]:
        """Do the task with each item; give what became of each as it is known."""
        ...


def run_here(task: Task, items: list[Numbered]) -> Iterator[Outcome]:
    """Do everything in this process, one partition after the other."""
    return map(task, items)


class Progress(NamedTuple):
    """How far a job is."""

    done: int
    total: int
    rows: int
    left_out: tuple[str, ...] = ()
    """Columns of the table that are not read."""


def run_job(
    source: Path,
    output: Path,
    *,
    kind: Kind,
    scorer: Packed,
    carrier: Carrier = run_here,
    top: int | None = None,
) -> Iterator[Progress]:
    """Do what is left of a job, and give how far it is, first of all where it was left.

    Raises:
        InputError: the table cannot be used, or the output is another job's.
        DataError: a partition cannot be read, or a row of it cannot be used.
        StoreError: the output cannot be written, or another process is writing it.
    """
    found = open_table(source, QUESTIONS if kind == "rank" else DOCUMENTS)
    _make_folder(output)
    with lock_folder(output, name="_lock"):
        done = begin_job(output, _describe(kind, found, scorer, top))
        left = [
            Numbered(number, partition)
            for number, partition in enumerate(found.partitions)
            if number not in done
        ]
        total = len(found.partitions)
        rows = found.rows - sum(item.partition.count for item in left)
        yield Progress(total - len(left), total, rows, found.left_out)
        if not left:
            return
        task = Task(kind, scorer, found.columns, str(output.resolve()), top)
        waiting = {item.number for item in left}
        for outcome in carrier(task, left):
            if outcome.problem:
                raise InputError(f"{outcome.problem}; {_say_done(total - len(waiting), total)}")
            if outcome.number in waiting:
                waiting.discard(outcome.number)
                rows += note_part(output, outcome.number)
                yield Progress(total - len(waiting), total, rows, found.left_out)
        if waiting:
            raise StoreError(
                f"{output}: {len(waiting)} partitions were not done; run the same again"
            )


def _say_done(done: int, total: int) -> str:
    return f"{done} of {total} partitions are done and stay; run the same again to go on"


def _describe(kind: Kind, source: Table, scorer: Packed, top: int | None) -> dict[str, Any]:
    """Return what tells this job from others, as JSON reads it back."""
    return {
        "kind": kind,
        "scorer": scorer.digest or scorer.name,
        "top": top,
        "partitions": len(source.partitions),
        "files": [list(file) for file in source.files],
    }


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made ({error.strerror})") from error


@cache
def _load_pieces() -> WordPiece:
    pieces = load_vectors().pieces
    assert pieces is not None
    return pieces
