"""`rejoinder encode-table`: encode a table of documents for an index, here or on a cluster."""

from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.ranking.rank_table import (
    dask_option,
    follow_job,
    output_argument,
    source_argument,
    spark_option,
)


@click.command(
    epilog=options.example(
        "rejoinder encode-table documents.parquet encoded.parquet --dask",
        "rejoinder index load encoded.parquet --index my-index",
    )
)
@source_argument
@output_argument
@dask_option
@spark_option
@options.as_json
def encode_table(
    source: Path, output: Path, dask: str | None, spark: str | None, as_json: bool
) -> None:
    """Encode each document of IN.parquet, a file or folder, into the folder OUT.parquet.

    IN has the columns `id` and `text`, and optionally `title`.  `rejoinder index load` adds OUT
    to an index.  The costly part of building an index can so run on many machines.
    """
    from rejoinder.batch.job import choose_executor, run_job

    executor = choose_executor(dask=dask, spark=spark)
    job = run_job(source, output, scorer=None, executor=executor)
    follow_job(job, "encoding", as_json=as_json)
