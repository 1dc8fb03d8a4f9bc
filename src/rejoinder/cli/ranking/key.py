"""`rejoinder key`: create an API key for the server."""

from pathlib import Path

import click

from rejoinder.cli import options


@click.command(epilog=options.example("rejoinder key search-team --to keys.txt"))
@click.argument("name")
@click.option(
    "--to",
    "path",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="Key file, for `rejoinder serve --keys`.",
)
def key(name: str, path: Path) -> None:
    """Create an API key for NAME, and print it; only its hash is stored."""
    from rejoinder.server.security import add_key

    click.echo(add_key(path, name))
