"""Cuts parquet files into partitions, and reads one of them.

A partition is a run of rows inside a row group: small enough that a lost worker costs little, and
known before any row is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rejoinder.batch.schemas import Columns, check_columns, choose_columns
from rejoinder.errors import DataError, InputError

ROWS = 500
"""The most rows of a partition."""


_TORN = (pa.ArrowException, OSError, ValueError)
"""What pyarrow raises of a file that is not what it says."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows of a file: `count` from `start` of a row group on."""

    path: str
    group: int
    start: int
    count: int
    first_row: int
    """Where the rows begin in the file, for errors."""


@dataclass(frozen=True, slots=True)
class Table:
    """The files of a table, and what says whether they are still the same."""

    partitions: tuple[Partition, ...]
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    files: tuple[tuple[str, int, int], ...]
    """Path, size, and when it was changed."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return sum(partition.count for partition in self.partitions)


def open_table(path: Path, columns: Columns, *, rows: int = ROWS) -> Table:
    """Return the partitions of a parquet file, or of the parquet files in a folder.

    Raises:
        InputError: there is nothing there.
        DataError: a file is no parquet, has other columns or types, or no row is in any.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not path.exists():
        raise InputError(f"{path}: no parquet file there")
    partitions: list[Partition] = []
    read, others = _read_columns(files, columns)
    for file in files:
        partitions += _cut(file, rows)
    if not partitions:
        raise DataError("no rows in it", path=path)
    states = [(str(file.resolve()), file.stat()) for file in files]
    return Table(
        tuple(partitions),
        read,
        others,
        tuple((name, state.st_size, state.st_mtime_ns) for name, state in states),
    )


def read_partition(partition: Partition, columns: Sequence[str]) -> pa.RecordBatch:
    """Return the rows of a partition as one batch.

    Raises:
        DataError: they cannot be read.
    """
    try:
        group = _read_group(partition.path, partition.group, tuple(columns))
        (batch,) = group.slice(partition.start, partition.count).combine_chunks().to_batches()
        batch.validate(full=True)  # Arrow believes the file, also that text is UTF-8
    except _TORN as error:
        raise DataError(
            f"row group {partition.group} cannot be read ({_shorten(error)})",
            path=Path(partition.path),
        ) from error
    return batch


@lru_cache(maxsize=1)
def _read_group(path: str, group: int, columns: tuple[str, ...]) -> pa.Table:
    # A worker gets the partitions of a group one after the other: it is unpacked once.
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns=list(columns), use_threads=False)


def _read_columns(
    files: Sequence[Path], columns: Columns
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns that are read, and those that are left out; all files must agree."""
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for file in files:
        schema, _ = _open(file)
        try:
            check_columns(schema, columns)
        except InputError as error:
            raise DataError(str(error), path=file) from error
        read = tuple(choose_columns(schema, columns))
        found.setdefault(read, tuple(name for name in schema.names if name not in read))
        if len(found) > 1:
            raise DataError("other columns than in the files before it", path=file)
    ((read, left_out),) = found.items()
    return read, left_out


def _cut(path: Path, rows: int) -> list[Partition]:
    _, metadata = _open(path)
    partitions, first = [], 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        partitions += [
            Partition(str(path.resolve()), group, at, min(rows, size - at), first + at)
            for at in range(0, size, rows)
        ]
        first += size
    return partitions


def _open(path: Path) -> tuple[pa.Schema, pq.FileMetaData]:
    try:
        with pq.ParquetFile(path) as file:
            return file.schema_arrow, file.metadata
    except _TORN as error:
        raise DataError(f"not a parquet file ({_shorten(error)})", path=path) from error


def _shorten(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
