"""Partitions of parquet files.

A partition is a range of rows inside a row group: small enough that a lost worker costs little,
and known before any row is read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rejoinder.batch.schemas import Columns, check_columns
from rejoinder.errors import DataError, InputError, shorten

MAX_ROWS = 500
"""The most rows of a partition."""

_READ_ERRORS = (pa.ArrowException, OSError, ValueError)
"""The exceptions of pyarrow for a corrupt file."""


@dataclass(frozen=True, slots=True)
class Partition:
    """Rows of a file: `count` rows of a row group, from `start`."""

    number: int
    path: str
    group: int
    start: int
    count: int
    first_row: int
    """The index in the file of its first row, for error messages."""


@dataclass(frozen=True, slots=True)
class PartitionedTable:
    """A table in one or several files."""

    partitions: tuple[Partition, ...]
    columns: tuple[str, ...]
    ignored_columns: tuple[str, ...]
    files: tuple[tuple[str, int, int], ...]
    """Path, size and modification time of each file, to detect changes."""

    @property
    def rows(self) -> int:
        """The number of rows."""
        return sum(partition.count for partition in self.partitions)


def open_table(path: Path, columns: Columns, *, rows: int = MAX_ROWS) -> PartitionedTable:
    """Open a parquet file, or the parquet files of a folder, as one table.

    Raises:
        InputError: there is no parquet file.
        DataError: a file is not parquet or has other columns or types, or there are no rows.
    """
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or not path.exists():
        raise InputError(f"{path}: no parquet file there")
    partitions: list[Partition] = []
    read: list[tuple[str, ...]] = []
    for file in files:
        schema, metadata = _open(file)
        try:
            read.append(check_columns(schema, columns))
        except InputError as error:
            raise DataError(str(error), path=file) from error
        if read[-1] != read[0]:
            raise DataError("its columns differ from the files before it", path=file)
        partitions += _split(file, metadata, rows, len(partitions))
    if not partitions:
        raise DataError("no rows in it", path=path)
    states = [(str(file.resolve()), file.stat()) for file in files]
    return PartitionedTable(
        tuple(partitions),
        read[0],
        tuple(name for name in schema.names if name not in read[0]),
        tuple((name, state.st_size, state.st_mtime_ns) for name, state in states),
    )


def read_partition(partition: Partition, columns: Sequence[str]) -> pa.RecordBatch:
    """Return the rows of a partition as one batch."""
    try:
        group = _read_group(partition.path, partition.group, tuple(columns))
        (batch,) = group.slice(partition.start, partition.count).combine_chunks().to_batches()
        batch.validate(full=True)  # Arrow trusts the file, even that text is UTF-8
    except _READ_ERRORS as error:
        raise DataError(
            f"row group {partition.group} cannot be read ({shorten(error)})",
            path=Path(partition.path),
        ) from error
    return batch


@lru_cache(maxsize=1)
def _read_group(path: str, group: int, columns: tuple[str, ...]) -> pa.Table:
    # A worker gets the partitions of a group in sequence, so the group is decompressed once.
    with pq.ParquetFile(path) as file:
        return file.read_row_group(group, columns=list(columns), use_threads=False)


def _split(path: Path, metadata: pq.FileMetaData, rows: int, number: int) -> list[Partition]:
    places, first = [], 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        places += [
            (group, start, min(rows, size - start), first + start) for start in range(0, size, rows)
        ]
        first += size
    return [Partition(own, str(path.resolve()), *place) for own, place in enumerate(places, number)]


def _open(path: Path) -> tuple[pa.Schema, pq.FileMetaData]:
    try:
        with pq.ParquetFile(path) as file:
            return file.schema_arrow, file.metadata
    except _READ_ERRORS as error:
        raise DataError(f"not a parquet file ({shorten(error)})", path=path) from error
