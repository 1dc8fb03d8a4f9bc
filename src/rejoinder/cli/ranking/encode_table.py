"""`rejoinder encode-table`: cut a table of documents into sentences, here or on a cluster."""

from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.ranking.rank_table import choose_carrier, run_table


@click.command(
    epilog=options.example(
        "rejoinder encode-table documents.parquet encoded.parquet --dask",
        "rejoinder index load encoded.parquet --index my-index",
    )
)
@click.argument("source", metavar="IN.parquet", type=click.Path(path_type=Path))
@click.argument("output", metavar="OUT.parquet", type=click.Path(path_type=Path))
@options.on_dask
@options.on_spark
@options.as_json
def encode_table(
    source: Path, output: Path, dask: str | None, spark: str | None, as_json: bool
) -> None:
    """Encode each document of IN.parquet, a file or folder, into the folder OUT.parquet.

    IN has the columns `id` and `text`, and where known `title`.  `rejoinder index load` puts OUT
    into an index: the costly part of building one is then done, on as many machines as there are.
    """
    from rejoinder.batch.packing import Packed

    options.need_arrow()
    run_table(source, output, "encode", Packed(""), choose_carrier(dask, spark), None, as_json)
