"""`rejoinder serve`: the HTTP server."""

from pathlib import Path

import click

from rejoinder.cli import options


@click.command(
    epilog=options.example(
        "rejoinder serve my-index",
        "rejoinder serve my-index --host 0.0.0.0 --keys keys.txt --workers 4",
        "rejoinder serve --retriever opensearch://node-1,node-2/docs",
    ),
    context_settings={"auto_envvar_prefix": "REJOINDER_SERVE"},
)
@click.argument("index", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--retriever",
    metavar="URL",
    help="Answer from this search engine ('index export --to URL') instead of INDEX.",
)
@options.scorer
@options.provider
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8080,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 for a free one.",
)
@click.option(
    "--workers", type=options.COUNT, help="Worker processes.  [default: one per core, at most 4]"
)
@click.option(
    "--budget-ms",
    type=options.MILLISECONDS,
    help="Time limit for requests without a budget of their own.",
)
@click.option(
    "--min-confidence",
    type=options.SHARE,
    help="Abstain below this confidence, for requests that do not say it.  [default: the scorer"
    " decides]",
)
@options.access
@click.option(
    "--max-waiting",
    default=64,
    show_default=True,
    type=options.COUNT,
    help="Size of the queue; requests beyond it get status 429.",
)
@click.option(
    "--timeout",
    default=30.0,
    show_default=True,
    type=click.FloatRange(min=0.1),
    help="Seconds after which a request gets status 504.",
)
def serve(
    index: Path | None,
    retriever: str | None,
    scorer: str,
    provider: str,
    host: str,
    port: int,
    workers: int | None,
    budget_ms: float | None,
    min_confidence: float | None,
    keys: Path | None,
    is_open: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
    max_waiting: int,
    timeout: float,
) -> None:
    """Answer questions from INDEX over HTTP, and rerank for clients of other services.

    Without INDEX the server only reranks.  If INDEX does not exist it is created, empty, for
    documents that clients upload.  With --retriever the server has no documents of its own, and any
    number of servers may answer from the same engine.  Every option can also be set as an
    environment variable: REJOINDER_SERVE_PORT, REJOINDER_SERVE_KEYS and so on.
    """
    from rejoinder.server.serve import serve as run
    from rejoinder.server.settings import Settings, choose_workers

    if index and retriever:
        raise click.UsageError("INDEX and --retriever exclude each other")
    settings = Settings(
        index=index,
        retriever=retriever,
        scorer=scorer,
        provider=provider,
        host=host,
        port=port,
        workers=workers or choose_workers(),
        budget_ms=budget_ms,
        min_confidence=min_confidence,
        keys=keys,
        is_open=is_open,
        allowed_hosts=hosts,
        allowed_origins=origins,
        max_waiting=max_waiting,
        timeout_seconds=timeout,
    )
    run(settings)
