"""`rejoinder models`: what can be given as SCORER."""

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table


@click.group(epilog=options.example("rejoinder models list"))
def models() -> None:
    """List the scorers that have a name."""


@models.command("list", epilog=options.example("rejoinder models list"))
@options.as_json
def list_models(as_json: bool) -> None:
    """List the scorers: name, what they read, what they do."""
    from rejoinder.runtime.catalogue import SCORERS

    if as_json:
        print_json(
            [
                {"name": name, "what": entry.what, "reads_order": entry.reads_order}
                for name, entry in SCORERS.items()
            ]
        )
        return
    print_table(
        ["scorer", "reads order", "what"],
        [
            [name, "yes" if entry.reads_order else "no", entry.what]
            for name, entry in SCORERS.items()
        ],
    )
