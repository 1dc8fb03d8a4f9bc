"""`rejoinder rank-table`: rank a table of questions, here or on a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import count, print_json, say, show_progress

if TYPE_CHECKING:
    from rejoinder.batch.job import Carrier, Kind
    from rejoinder.batch.packing import Packed


@click.command(
    epilog=options.example(
        "rejoinder rank-table questions.parquet ranked.parquet --scorer cosinet",
        "rejoinder rank-table questions.parquet ranked.parquet --dask tcp://scheduler:8786",
        "rejoinder rank-table questions.parquet ranked.parquet --spark spark://master:7077",
    )
)
@click.argument("source", metavar="IN.parquet", type=click.Path(path_type=Path))
@click.argument("output", metavar="OUT.parquet", type=click.Path(path_type=Path))
@click.option("--scorer", help=f"{options.SCORER}  [default: the cascade `default`]")
@click.option("--top", type=click.IntRange(min=1), help="Keep only so many of each question.")
@options.on_dask
@options.on_spark
@click.option(
    "--send-scorer", is_flag=True, help="Send the scorer's files to workers that have them not."
)
@options.as_json
def rank_table(
    source: Path,
    output: Path,
    scorer: str | None,
    top: int | None,
    dask: str | None,
    spark: str | None,
    send_scorer: bool,
    as_json: bool,
) -> None:
    """Rank each question of IN.parquet, a file or folder, into the folder OUT.parquet.

    IN has the columns `question` and `candidates` (texts, or structs with `text`, and `id`,
    `document`, `position` where known), and where known `id` and `documents`.  OUT has a row per
    question in the same order: `id`, `question`, `answers` best first, `confidence`, `abstains`.

    Run the same again after a crash: what is done stays done.
    """
    from rejoinder.batch.packing import pack_scorer
    from rejoinder.cascade.loading import DEFAULT

    options.need_arrow()
    packed = pack_scorer(scorer or DEFAULT, send=send_scorer)
    run_table(source, output, "rank", packed, choose_carrier(dask, spark), top, as_json)


def run_table(
    source: Path,
    output: Path,
    kind: "Kind",
    scorer: "Packed",
    carrier: "Carrier",
    top: int | None,
    as_json: bool,
) -> None:
    """Run a job, show how far it is, and sum up."""
    from rejoinder.batch.job import run_job

    resumed = -1
    with show_progress(f"{kind} table") as progress:
        for at in run_job(source, output, kind=kind, scorer=scorer, carrier=carrier, top=top):
            if resumed < 0:
                resumed = at.done
                if at.left_out:
                    say(f"columns that are not read: {', '.join(at.left_out)}")
            progress(at.done, at.total, count(at.rows, "row"))
    if as_json:
        print_json({"rows": at.rows, "partitions": at.total, "done_before": resumed})
        return
    before = f", {resumed} of them done before" if resumed else ""
    say(f"{count(at.rows, 'row')} in {count(at.total, 'partition')}{before}")


def choose_carrier(dask: str | None, spark: str | None) -> "Carrier":
    """Return what carries the work: this process, where no cluster is named.

    Raises:
        InputError: two are named.
    """
    from rejoinder.batch.job import run_here
    from rejoinder.errors import InputError

    if dask is not None and spark is not None:
        raise InputError("name one of --dask and --spark")
    if dask is not None:
        from rejoinder.batch.on_dask import OnDask

        return OnDask(dask)
    if spark is not None:
        from rejoinder.batch.on_spark import OnSpark

        return OnSpark(spark)
    return run_here
