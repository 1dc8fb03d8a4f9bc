"""Makes the options of a training command from a dataclass, and prints the result."""

import shlex
import sys
from collections.abc import Callable
from dataclasses import MISSING, asdict
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from rejoinder.cli.output import percent, print_json
from rejoinder.training.options import Option, Trained, list_options

Command = TypeVar("Command", bound=Callable[..., Any])

datasets = click.argument("datasets", nargs=-1, metavar="DATASET...")


def add_options(options: type[Any]) -> Callable[[Command], Command]:
    """Add an option for each field of a dataclass: --to first, inherited ones last."""
    shared = [name for base in options.__mro__[1:-1] for name, *_ in list_options(base)]
    listed = sorted(
        list_options(options), key=lambda item: item[0] != "to" and shared.count(item[0])
    )

    def add(command: Command) -> Command:
        for name, kind, default, option in reversed(listed):
            command = _make_option(name, kind, default, option)(command)
        return command

    return add


def _make_option(
    name: str, kind: Any, default: Any, option: Option
) -> Callable[[Command], Command]:
    is_required = default is MISSING
    return click.option(
        option.flag or f"--{name.replace('_', '-')}",
        name,
        type=_get_type((get_args(kind) or (kind,))[0], option),
        required=is_required,
        default=None if is_required else default,
        show_default=not (is_required or default is None or default is False or default == ()),
        is_flag=kind is bool,
        multiple=default == (),
        help=option.help,
    )


def _get_type(kind: Any, option: Option) -> Any:
    if option.choices:
        return click.Choice(option.choices)
    if kind is Path:
        return click.Path(path_type=Path)
    if option.min is not None:
        ranges: Any = click.IntRange if kind is int else click.FloatRange
        return ranges(option.min, option.max, min_open=option.min_open)
    return kind


def get_command() -> str:
    """Return this process's command, for a bundle's manifest."""
    return shlex.join(["rejoinder", *sys.argv[1:]])


def print_trained(trained: Trained, *, as_json: bool) -> None:
    """Print the bundle, its cost, and its measures on dev."""
    if as_json:
        print_json({**asdict(trained), "bundle": str(trained.bundle)})
        return
    click.echo(f"wrote {trained.bundle}: {trained.parameters:,} parameters in {trained.seconds} s")
    if trained.flipped_bits is not None:
        click.echo(f"{trained.flipped_bits:.2%} of bits differ from torch's")
    for name, value in trained.means.items():
        click.echo(f"{trained.dev} {name} {percent(value)}")
