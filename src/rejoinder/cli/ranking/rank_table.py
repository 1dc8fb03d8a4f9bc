"""`rejoinder rank-table`: rank a table of questions, here or on a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rejoinder.cli import options
from rejoinder.cli.output import count, print_json, say, show_progress

if TYPE_CHECKING:
    from rejoinder.batch.job import JobProgress

source_argument = click.argument("source", metavar="IN.parquet", type=click.Path(path_type=Path))
output_argument = click.argument("output", metavar="OUT.parquet", type=click.Path(path_type=Path))
dask_option = click.option(
    "--dask",
    is_flag=False,
    flag_value="local",
    metavar="[ADDRESS]",
    help="Run on a Dask cluster; without ADDRESS on a local one, with a process per core.",
)
spark_option = click.option(
    "--spark", metavar="MASTER", help="Run on Spark: spark://HOST:PORT, or local[2]."
)


@click.command(
    epilog=options.example(
        "rejoinder rank-table questions.parquet ranked.parquet --scorer cosinet",
        "rejoinder rank-table questions.parquet ranked.parquet --dask tcp://scheduler:8786",
        "rejoinder rank-table questions.parquet ranked.parquet --spark spark://master:7077",
    )
)
@source_argument
@output_argument
@options.scorer
@click.option("--top", type=click.IntRange(min=1), help="Keep so many candidates per question.")
@options.min_confidence
@dask_option
@spark_option
@click.option(
    "--send-scorer", is_flag=True, help="Send the files of the scorer to workers without them."
)
@options.as_json
def rank_table(
    source: Path,
    output: Path,
    scorer: str,
    top: int | None,
    min_confidence: float | None,
    dask: str | None,
    spark: str | None,
    send_scorer: bool,
    as_json: bool,
) -> None:
    """Rank each question of IN.parquet, a file or folder, into the folder OUT.parquet.

    IN has the columns `question` and `candidates` (texts, or structs with `text` and optionally
    `id`, `document`, `position`), and optionally `id` and `documents`.  OUT has a row per
    question in the same order: `id`, `question`, `answers` best first, `confidence`, `abstains`.

    After a crash, run the same command again: it resumes where it stopped.
    """
    from rejoinder.batch.job import choose_executor, run_job
    from rejoinder.batch.packed_scorer import pack_scorer

    job = run_job(
        *(source, output),
        scorer=pack_scorer(scorer, send=send_scorer),
        executor=choose_executor(dask=dask, spark=spark),
        top=top,
        min_confidence=min_confidence,
    )
    follow_job(job, "ranking", as_json=as_json)


def follow_job(job: "Iterator[JobProgress]", title: str, *, as_json: bool) -> None:
    """Run a job, show its progress, and print a summary."""
    resumed = -1
    with show_progress(title) as progress:
        for at in job:
            if resumed < 0:
                resumed = at.done
                if at.ignored_columns:
                    say(f"ignored columns: {', '.join(at.ignored_columns)}")
            progress(at.done, at.total, count(at.rows, "row"))
    if as_json:
        print_json({"rows": at.rows, "partitions": at.total, "done_before": resumed})
        return
    before = f", {resumed} of them done before" if resumed else ""
    say(f"{count(at.rows, 'row')} in {count(at.total, 'partition')}{before}")
