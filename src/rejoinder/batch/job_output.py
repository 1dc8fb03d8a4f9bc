"""The output of a job: a folder of parquet part files, and a manifest of the finished ones.

    OUT.parquet/_manifest.jsonl     the job, then one line per finished part
    OUT.parquet/part-00000.parquet  the rows of partition 0, in order

Part files are written atomically.  A partition that runs twice replaces its part by an equal
one, so a retried task neither loses nor duplicates rows.  Readers of parquet folders skip
names that begin with `_` or `.`.
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rejoinder.errors import DataError, InputError, StoreError

MANIFEST = "_manifest.jsonl"


def get_part_name(number: int) -> str:
    """Return the file name of a part."""
    return f"part-{number:05d}.parquet"


def write_part(folder: Path, number: int, batch: pa.RecordBatch) -> None:
    """Write a part atomically and durably; replace an earlier one."""
    path = folder / get_part_name(number)
    temporary = folder / f".{path.name}.{uuid.uuid4().hex}"
    try:
        with temporary.open("wb") as file:
            with pq.ParquetWriter(file, batch.schema) as writer:
                writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from error


def begin_job(folder: Path, job: Mapping[str, Any]) -> frozenset[int]:
    """Start or resume a job; return the numbers of its finished parts.

    Raises:
        InputError: the folder holds something else.
        StoreError: the folder cannot be written.
    """
    path = folder / MANIFEST
    try:
        if not path.exists():
            if any(folder.glob("[!_]*")):
                raise InputError(f"{folder}: not empty and not the output of a job; choose another")
            _append(path, job)
            return frozenset()
        started, lines = _read(path)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from error
    if started != dict(job):
        keys = started.keys() | job.keys()
        changed = sorted(key for key in keys if started.get(key) != job.get(key))
        raise InputError(
            f"{folder}: holds the output of another job (different: {', '.join(changed)});"
            " choose another output, or delete it"
        )
    for temporary in folder.glob(".part-*"):  # of workers that died
        temporary.unlink(missing_ok=True)
    return frozenset(line["part"] for line in lines if _is_whole(folder, line))


def record_part(folder: Path, number: int) -> int:
    """Add a finished part to the manifest; return its number of rows."""
    path = folder / get_part_name(number)
    try:
        rows: int = pq.read_metadata(path).num_rows
        line = {"part": number, "rows": rows, "bytes": path.stat().st_size}
        _append(folder / MANIFEST, line)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path}: missing ({error}); do all workers see this folder?") from error
    return rows


def read_parts(folder: Path) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Return the number of rows of a finished job, and its batches in order.

    Raises:
        InputError: it is not the output of a job, or the job is not finished.
        DataError: a part cannot be read.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder}: not the output of a job, it has no {MANIFEST}")
    job, lines = _read(path)
    rows = {line["part"]: line["rows"] for line in lines if _is_whole(folder, line)}
    if len(rows) != job["partitions"]:
        raise InputError(
            f"{folder}: {len(rows)} of {job['partitions']} partitions are done; finish the job"
        )
    return sum(rows.values()), _read_batches(
        [folder / get_part_name(number) for number in sorted(rows)]
    )


def _read_batches(paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"cannot be read ({error})", path=path) from error


def _is_whole(folder: Path, line: Mapping[str, Any]) -> bool:
    path = folder / get_part_name(line["part"])
    return path.is_file() and path.stat().st_size == line["bytes"]


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the job and its parts; an incomplete last line, left by a crash, is dropped."""
    raw = path.read_bytes()
    complete = raw[: raw.rfind(b"\n") + 1]
    if complete != raw:
        os.truncate(path, len(complete))
    try:
        job, *lines = map(json.loads, complete.splitlines())
        return dict(job), lines
    except ValueError as error:
        raise InputError(f"{path}: corrupt; choose another output, or delete it") from error


def _sync_folder(folder: Path) -> None:
    """Make new names in a folder durable."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows opens no folder; NTFS keeps a journal of names itself
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
