"""`rejoinder reproduce`: a paper's table, published and measured side by side."""

import click

from rejoinder.cli import options
from rejoinder.cli.research.reproduce_baselines import baselines
from rejoinder.cli.research.reproduce_context import context
from rejoinder.cli.research.reproduce_has import has
from rejoinder.cli.research.reproduce_sequential import sequential
from rejoinder.cli.research.reproduce_tables import TABLES, make_command


@click.group(epilog=options.example("rejoinder reproduce baselines --data data"))
def reproduce() -> None:
    """Print a paper's table with our column beside it."""


for _command in (baselines, context, has, sequential):
    reproduce.add_command(_command)
for _name, _what in TABLES.items():
    reproduce.add_command(make_command(_name, _what))
