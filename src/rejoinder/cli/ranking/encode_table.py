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
        "rejoinder encode-table documents.parquet loaded.parquet --to qdrant://localhost/docs",
    )
)
@source_argument
@output_argument
@dask_option
@spark_option
@click.option("--to", "url", metavar="URL", help="Load each document into this search engine, too.")
@options.embed
@options.no_vectors
@options.as_json
def encode_table(
    source: Path,
    output: Path,
    dask: str | None,
    spark: str | None,
    url: str | None,
    embed: Path | None,
    no_vectors: bool,
    as_json: bool,
) -> None:
    """Encode each document of IN.parquet, a file or folder, into the folder OUT.parquet.

    IN has the columns `id` and `text`, and optionally `title`.  `rejoinder index load` adds OUT
    to an index.  The costly part of building an index can so run on many machines.

    With --to, each worker also loads its documents into a search engine, with vectors, and no
    index is needed: `rejoinder serve --retriever URL` answers from it.  A document replaces the
    one of the same id; rows that are gone stay in the engine.

    After a crash, run the same command again: it resumes where it stopped.
    """
    from rejoinder.batch.job import choose_executor, run_job
    from rejoinder.batch.load_engine import EngineTarget

    if embed and no_vectors:
        raise click.UsageError("--embed and --no-vectors exclude each other")
    if (embed or no_vectors) and not url:
        raise click.UsageError("--embed and --no-vectors need --to")
    executor = choose_executor(dask=dask, spark=spark)
    engine = EngineTarget(url, embed, not no_vectors) if url else None
    job = run_job(source, output, scorer=None, executor=executor, engine=engine)
    follow_job(job, "loading" if engine else "encoding", as_json=as_json)
