"""`rejoinder mcp`: a server for assistants, over the Model Context Protocol."""

from pathlib import Path

import click
from click.core import ParameterSource

from rejoinder.cli import options
from rejoinder.errors import InputError

OF_HTTP = {
    "host": "--host",
    "port": "--port",
    "keys": "--keys",
    "is_open": "--open",
    "hosts": "--allow-host",
    "origins": "--allow-origin",
}
"""Options that have no meaning over stdio, by parameter."""


@click.command(
    epilog=options.example(
        "rejoinder mcp my-index",
        "rejoinder mcp my-index --http --host 0.0.0.0 --keys keys.txt",
    ),
    context_settings={"auto_envvar_prefix": "REJOINDER_MCP"},
)
@click.argument("index", type=click.Path(file_okay=False, path_type=Path))
@options.scorer
@options.provider
@options.budget_ms
@click.option("--writable", is_flag=True, help="Offer a tool that adds documents to INDEX.")
@click.option("--http", is_flag=True, help="Serve streamable HTTP at /mcp instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    default=8081,
    show_default=True,
    type=click.IntRange(0, 65535),
    help="Port; 0 for a free one.",
)
@options.access
def mcp(
    index: Path,
    scorer: str,
    provider: str,
    budget_ms: float | None,
    writable: bool,
    http: bool,
    host: str,
    port: int,
    keys: Path | None,
    is_open: bool,
    hosts: tuple[str, ...],
    origins: tuple[str, ...],
) -> None:
    """Let assistants ask, search and read INDEX over the Model Context Protocol.

    Its tools are answer, search, read, highlight (the sentences of a text that answer), cite (the
    sentences of the documents that support a text) and, with --writable, add.

    A client starts this command and speaks to it over stdin and stdout; with --http, clients
    connect to it.  --host, --port, --keys, --open, --allow-host and --allow-origin need --http.
    With --writable an INDEX that does not exist is created, empty.
    """
    if not http:
        _refuse_options_of_http(click.get_current_context())
    from rejoinder.mcp.transports import serve_http, serve_stdio
    from rejoinder.server.settings import Settings

    settings = Settings(
        index=index,
        scorer=scorer,
        provider=provider,
        budget_ms=budget_ms,
        host=host,
        port=port,
        keys=keys,
        is_open=is_open,
        allowed_hosts=hosts,
        allowed_origins=origins,
    )
    (serve_http if http else serve_stdio)(settings, writable=writable)


def _refuse_options_of_http(context: click.Context) -> None:
    """Refuse options that stdio would ignore: --keys alone would seem to protect the index."""
    given = (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT)
    names = [
        option for name, option in OF_HTTP.items() if context.get_parameter_source(name) in given
    ]
    if names:
        verb = "needs" if len(names) == 1 else "need"
        raise InputError(f"{' and '.join(names)} {verb} --http; stdio has no address and no keys")
