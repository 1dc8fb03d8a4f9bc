"""The output of a job: a folder of parquet parts that appear whole, and the list of those done.

    OUT.parquet/_manifest.jsonl     the job, then one line per part that is done
    OUT.parquet/part-00000.parquet  the rows of partition 0, in order

A part is written beside its place and moved there.  Whoever does a partition twice replaces a
part by one that is the same, so a retried task neither loses nor doubles rows.  Readers of
parquet folders pass over names that begin with `_` or `.`.
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


def name_part(number: int) -> str:
    """Return the name of a part's file."""
    return f"part-{number:05d}.parquet"


def write_part(folder: Path, number: int, batch: pa.RecordBatch) -> None:
    """Write a part: whole, and on disk when this returns; one that is there is replaced.

    Raises:
        StoreError: it cannot be written.
    """
    place = folder / name_part(number)
    beside = folder / f".{place.name}.{uuid.uuid4().hex}"
    try:
        with beside.open("wb") as file:
            with pq.ParquetWriter(file, batch.schema) as writer:
                writer.write_batch(batch)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(place)
        _sync_folder(folder)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise StoreError(f"{place}: cannot be written ({error.strerror or error})") from error


def begin_job(folder: Path, job: Mapping[str, Any]) -> frozenset[int]:
    """Begin a job, or go on with it; return the parts that are done: listed, and still whole.

    Raises:
        InputError: another job's output is there.
        StoreError: the folder cannot be written.
    """
    path = folder / MANIFEST
    try:
        if not path.exists():
            if any(folder.glob("[!_]*")):
                raise InputError(f"{folder}: not empty, and not the output of a job; name another")
            _append(path, job)
            return frozenset()
        begun, lines = _read(path)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror})") from error
    if begun != dict(job):
        changed = sorted(key for key in begun.keys() | job.keys() if begun.get(key) != job.get(key))
        raise InputError(
            f"{folder}: holds the output of another job (other: {', '.join(changed)});"
            " name another output, or delete it"
        )
    for stray in folder.glob(".part-*"):  # of workers that died
        stray.unlink(missing_ok=True)
    return frozenset(line["part"] for line in lines if _is_whole(folder, line))


def note_part(folder: Path, number: int) -> int:
    """List a part as done; return how many rows it has.

    Raises:
        StoreError: it is not there, or the list cannot be written.
    """
    path = folder / name_part(number)
    try:
        rows: int = pq.read_metadata(path).num_rows
        line = {"part": number, "rows": rows, "bytes": path.stat().st_size}
        _append(folder / MANIFEST, line)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{path}: not there ({error}); do all workers see this folder?") from error
    return rows


def read_parts(folder: Path) -> tuple[int, Iterator[pa.RecordBatch]]:
    """Return how many rows a finished job has written, and its batches in order.

    Raises:
        InputError: it is no job's output, or the job is not finished.
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
        [folder / name_part(number) for number in sorted(rows)]
    )


def _read_batches(paths: Iterable[Path]) -> Iterator[pa.RecordBatch]:
    for path in paths:
        try:
            with pq.ParquetFile(path) as file:
                yield from file.iter_batches()
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"cannot be read ({error})", path=path) from error


def _is_whole(folder: Path, line: Mapping[str, Any]) -> bool:
    path = folder / name_part(line["part"])
    return path.is_file() and path.stat().st_size == line["bytes"]


def _append(path: Path, line: Mapping[str, Any]) -> None:
    with path.open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _read(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the job, and the parts; a last line that a crash has torn counts for nothing."""
    raw = path.read_bytes()
    whole = raw[: raw.rfind(b"\n") + 1]
    if whole != raw:
        os.truncate(path, len(whole))
    try:
        job, *lines = map(json.loads, whole.splitlines())
        return dict(job), lines
    except ValueError as error:
        raise InputError(f"{path}: torn; name another output, or delete it") from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
