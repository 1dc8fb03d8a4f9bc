"""`rejoinder train`: one command for each model that has a training."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, TypeVar, get_args

import click

from rejoinder.cli import options
from rejoinder.cli.output import count, get_command, percent, print_json, say, show_progress
from rejoinder.errors import RejoinderError
from rejoinder.models.registry import FAMILIES, Family, get_family
from rejoinder.training.devices import fails_first, is_first
from rejoinder.training.options import Option, StaticVectorsOptions, Trained, Trainer, list_options

DATA_HELP = (
    "DATASET is NAME[:SPLIT][@WEIGHT] of `rejoinder data list` or a JSON-lines file; an epoch reads"
    " each question WEIGHT times.  If training is interrupted, give the same command again: it"
    " resumes from the last checkpoint."
)
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
            command = click.option(
                option.flag or f"--{name.replace('_', '-')}",
                name,
                type=_get_type((get_args(kind) or (kind,))[0], option),
                # Not a default of None, which click takes for a value of a required option.
                **({"required": True} if default is MISSING else {"default": default}),
                show_default=default not in (MISSING, None, ()) and default is not False,
                is_flag=kind is bool,
                multiple=default == (),
                help=option.help,
            )(command)
        return command

    return add


def _get_type(kind: Any, option: Option) -> Any:
    if option.choices:
        return click.Choice(option.choices)
    if kind is Path:
        return click.Path(path_type=Path)
    if option.min is not None:
        ranges: Any = click.IntRange if kind is int else click.FloatRange
        return ranges(option.min, option.max, min_open=option.min_open)
    return kind


def print_trained(trained: Trained, *, as_json: bool) -> None:
    """Print the bundle, its cost, and its measures on dev."""
    if as_json:
        print_json({**asdict(trained), "bundle": str(trained.bundle)})
        return
    click.echo(f"wrote {trained.bundle}: {trained.parameters:,} parameters in {trained.seconds} s")
    if whole := trained.projection:
        click.echo(
            f"stopped after {trained.steps:,} of {whole.steps:,} steps:"
            f" {whole.seconds_per_step:.3f} s per step, {whole.seconds:,.0f} s for all"
        )
    if trained.flipped_bits is not None:
        click.echo(f"{trained.flipped_bits:.2%} of bits differ from torch's")
    for name, value in trained.means.items():
        click.echo(f"{trained.dev} {name} {percent(value)}")


class Trainings(click.Group):
    """Makes a command for each model family that can be trained."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the families, and of the commands beside them."""
        trained = [name for name in FAMILIES if get_family(name).training]
        return sorted([*super().list_commands(ctx), *trained])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command that trains this family."""
        family = get_family(cmd_name) if cmd_name in FAMILIES else None
        if family is None or family.training is None:
            return super().get_command(ctx, cmd_name)
        return _make_command(family, resolve_name(family.training))


@click.group(
    cls=Trainings,
    epilog=options.example(
        "rejoinder train cosinet wikiqa --head birnn --loss listwise --to my-model --data data"
    ),
)
def train() -> None:
    """Train a model and write it as a bundle."""


@contextmanager
def _one_message() -> Iterator[None]:
    """Let one of several processes that fail say why."""
    try:
        yield
    except RejoinderError as error:
        if fails_first():
            raise
        raise click.exceptions.Exit(1) from error


def _make_command(family: Family, trainer: Trainer) -> click.Command:
    call = f"rejoinder train {family.name} wikiqa --to my-model --data data"
    summary = f"{family.summary[0].upper()}{family.summary[1:]}."
    text = "\n\n".join(filter(None, [summary, trainer.help, DATA_HELP]))

    @click.command(family.name, help=text, epilog=options.example(*trainer.examples or [call]))
    @datasets
    @add_options(trainer.options)
    @options.as_json
    def run(datasets: tuple[str, ...], as_json: bool, **given: Any) -> None:
        speaks = is_first()
        with _one_message(), show_progress(f"training {family.name}", shown=speaks) as progress:
            trained = resolve_name(trainer.train)(
                trainer.make_options(family.name, **given),
                datasets,
                on_step=lambda step: progress(step.number, step.of, f"loss {step.loss:.3f}"),
                say=say if speaks else lambda _: None,
                command=get_command(),
            )
        if speaks:
            print_trained(trained, as_json=as_json)

    return run


@train.command(
    "static-vectors", epilog=options.example("rejoinder train static-vectors --to my-vectors")
)
@add_options(StaticVectorsOptions)
def static_vectors(**given: Any) -> None:
    """Distil word vectors from an encoder; needs no text, and nothing is random."""
    from rejoinder.training import train_static_vectors

    made = StaticVectorsOptions(**given)
    say(f"distilling {made.encoder}; this takes a minute or two")
    vectors = train_static_vectors(made, command=get_command())
    say(f"wrote {count(len(vectors.vocabulary), 'vector')} of width {vectors.width} to {made.to}")
