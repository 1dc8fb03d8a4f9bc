"""The options that every `reproduce` command takes: what its table is made of."""

from collections.abc import Callable, Collection
from functools import reduce, wraps
from typing import Any

import click
from click.core import ParameterSource

from rejoinder.cli import options
from rejoinder.errors import InputError
from rejoinder.training.devices import DEVICES, PRECISIONS
from rejoinder.training.options import DEVICE_HELP, PRECISION_HELP

Command = Callable[..., None]
INGREDIENTS = ("encoder", "vectors", "train", "recipe", "device", "precision")
ALL = (*INGREDIENTS, "seeds", "runs", "curves")
_OPTIONS = (
    click.option(
        "--encoder",
        help="Pretrained encoder: a folder, or a name on a hub.  [default: the table's own]",
    ),
    click.option(
        "--vectors",
        type=options.PATH,
        help="Word vectors: a bundle, or a GloVe, fastText, word2vec or Numberbatch file."
        "  [default: the included ones]",
    ),
    click.option(
        "--train",
        multiple=True,
        help="Training data, NAME[:SPLIT][@WEIGHT]; repeatable.  [default: the table's own]",
    ),
    click.option(
        "--recipe",
        type=click.Choice(["default", "paper"]),
        default="default",
        show_default=True,
        help="default suits the included encoder and a CPU; paper is the paper's own loss,"
        " optimiser, batch, epochs and stopping, for the paper's own rows.",
    ),
    click.option(
        "--device", type=click.Choice(DEVICES), default="auto", show_default=True, help=DEVICE_HELP
    ),
    click.option("--precision", type=click.Choice(PRECISIONS), help=PRECISION_HELP),
    click.option(
        "--runs",
        type=options.PATH,
        help="Keep every finished run in this file, with its learning curve, and resume from it.",
    ),
    click.option("--curves", type=options.PATH, help="Draw the learning curves in this picture."),
)


def takes_ingredients(
    table: str,
    *,
    seeds: int | None = None,
    seeds_help: str | None = None,
    takes: Collection[str] = ALL,
    why: str = "",
) -> Callable[[Command], Command]:
    """Add the options; the command takes `ingredients`, and of the others what it can.

    Args:
        table: the command below `reproduce`.
        seeds: the default of --seeds.
        takes: the options that have a meaning for the table; the others are refused.
        why: the reason for that.
    """
    count = click.option(
        "--seeds",
        type=options.COUNT,
        default=seeds,
        show_default=seeds is not None,
        help=seeds_help or "Train each row with seeds 0 to N-1.",
    )

    def add(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> None:
            from rejoinder.papers.ingredients import Ingredients

            _refuse(table, {*ALL} - {*takes}, why)
            chosen = Ingredients(**{name: given.pop(name) for name in INGREDIENTS})
            for name in {"seeds", "runs", "curves"} - {*takes}:
                del given[name]
            if {*takes} & {*INGREDIENTS}:
                given["ingredients"] = chosen
            command(**given)

        return reduce(lambda function, add: add(function), reversed((count, *_OPTIONS)), run)

    return add


def _refuse(table: str, names: Collection[str], why: str) -> None:
    """Raise InputError if an option without a meaning is given."""
    context = click.get_current_context()
    for name in ALL:
        source = context.get_parameter_source(name)
        if name in names and source is ParameterSource.COMMANDLINE:
            raise InputError(f"reproduce {table} takes no --{name}: {why}")
