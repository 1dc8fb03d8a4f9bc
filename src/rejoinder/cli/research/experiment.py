"""`rejoinder experiment`: commands in a TOML file, to run again.

[[step]]
command = "train cosinet"
arguments = ["wikiqa"]
to = "my-model"         # every other key is an option, without its dashes
epochs = 3

[[step]]
command = "compare"
arguments = ["my-model", "cosinet", "wikiqa:test"]
measures = ["MAP", "P@1"]
"""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click
from click.core import ParameterSource
from msgspec import Meta, Struct

from rejoinder.cli import options
from rejoinder.cli.output import say
from rejoinder.errors import DataError, InputError, RejoinderError, UnknownNameError
from rejoinder.storage.typed import read_toml, to_toml

Value = bool | int | float | str | list[str | int | float]
"""Of an option, or of the command and its arguments."""

_NAME = "experiment"


@dataclass(frozen=True, slots=True)
class ExperimentStep:
    """One command, as words of a command line."""

    words: Sequence[str]

    def __str__(self) -> str:
        return shlex.join(["rejoinder", *self.words])


class _Tables(Struct, frozen=True, forbid_unknown_fields=True):
    """The tables of the file."""

    step: Annotated[tuple[Mapping[str, Value], ...], Meta(min_length=1)]


@click.group(epilog=options.example("rejoinder experiment run wikiqa.toml"))
def experiment() -> None:
    """Run the commands of a TOML file, or add one to it."""


@experiment.command("run", epilog=options.example("rejoinder experiment run wikiqa.toml"))
@click.argument("file", type=options.PATH)
@click.option("--dry-run", is_flag=True, help="Print the commands, and run none.")
def run_steps(file: Path, dry_run: bool) -> None:
    """Run the steps of FILE one after another, as if they were typed here.

    All of them are checked before the first runs; the first that fails ends the experiment.
    Paths are relative to the current folder.
    """
    steps = read_steps(file)
    for number, step in enumerate(steps, start=1):
        if dry_run:
            click.echo(str(step))
            continue
        say(f"step {number} of {len(steps)}: {step}")
        with _as_typed(step):
            _get_main().main(list(step.words), prog_name="rejoinder", standalone_mode=False)


@experiment.command(
    "add",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=options.example(
        "rejoinder experiment add wikiqa.toml train cosinet wikiqa --epochs 3 --to my-model"
    ),
)
@click.argument("file", type=options.PATH)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND...")
def add_step(file: Path, words: tuple[str, ...]) -> None:
    """Check COMMAND, without running it, and append it to FILE as a step."""
    try:
        path, command, rest = _find(words)
        context = _parse(path, command, rest)
    except click.UsageError as error:
        raise InputError(error.format_message()) from error
    text = file.read_text(encoding="utf-8").rstrip("\n") + "\n\n" if file.exists() else ""
    if text:
        read_steps(file)
    try:
        file.write_text(text + _to_toml(" ".join(path), context), encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {file}: {error.strerror}") from error
    say(f"wrote {file}")


def read_steps(path: Path) -> list[ExperimentStep]:
    """Read and check the steps of an experiment file.

    Raises:
        DataError: it is missing or not TOML, or a step is no valid command.
    """
    read = []
    for number, step in enumerate(read_toml(path, _Tables).step, start=1):
        try:
            read.append(_read_step(step))
        except (click.UsageError, RejoinderError) as error:
            message = error.format_message() if isinstance(error, click.UsageError) else error
            raise DataError(f"step {number}: {message}", path=path) from error
    return read


def _read_step(step: Mapping[str, Value]) -> ExperimentStep:
    given = dict(step)
    name, arguments = given.pop("command", None), given.pop("arguments", [])
    if not isinstance(name, str) or not isinstance(arguments, list):
        raise InputError('needs a command, such as command = "train cosinet"; arguments is a list')
    path, command, rest = _find(name.split())
    if rest:
        raise InputError(f"{' '.join(rest)!r} is no part of the command; give it as arguments")
    words = [*_to_words(" ".join(path), command, given), *map(str, arguments)]
    _parse(path, command, words)
    return ExperimentStep([*path, *words])


def _find(words: Sequence[str]) -> tuple[list[str], click.Command, list[str]]:
    """Return the names of a command, the command, and the words after them."""
    names: list[str] = []
    command: click.Command = _get_main()
    context = click.Context(command, info_name="rejoinder")
    rest = list(words)
    while isinstance(command, click.Group):
        known = [name for name in command.list_commands(context) if name != _NAME]
        name = rest.pop(0) if rest else ""
        below = command.get_command(context, name) if name in known else None
        if below is None:
            raise UnknownNameError("command", " ".join([*names, name]), known)
        names.append(name)
        context = click.Context(below, context, info_name=name)
        command = below
    return names, command, rest


def _to_words(name: str, command: click.Command, given: Mapping[str, Value]) -> Iterator[str]:
    """Yield the options of a step as words."""
    known = {
        opt.removeprefix("--"): item
        for item in command.params
        if isinstance(item, click.Option)
        for opt in item.opts
    }
    for key, value in given.items():
        item = known.get(key)
        if item is None:
            raise UnknownNameError(f"option of {name}", key, known)
        if isinstance(value, bool) != item.is_flag:
            kind = "true or false" if item.is_flag else "a text, a number or a list"
            raise InputError(f"{key} must be {kind}")
        if item.is_flag:
            yield from [f"--{key}"] if value else item.secondary_opts[:1]
        elif item.multiple:
            for one in value if isinstance(value, list) else [value]:
                yield from (f"--{key}", str(one))
        else:
            joined = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            yield from (f"--{key}", joined)


def _parse(path: Sequence[str], command: click.Command, words: Sequence[str]) -> click.Context:
    """Return the context of a command line that is valid, without running it."""
    parent = click.Context(_get_main(), info_name=" ".join(["rejoinder", *path[:-1]]))
    return command.make_context(path[-1], list(words), parent)


def _to_toml(name: str, context: click.Context) -> str:
    """Return a step with the arguments and the options that were typed."""
    given: dict[str, Any] = {}
    arguments: list[Any] = []
    for item in context.command.params:
        value = context.params.get(item.name or "")
        if item.name is None or value is None:
            continue
        if isinstance(item, click.Argument):
            arguments += list(value) if isinstance(value, list | tuple) else [value]
        elif context.get_parameter_source(item.name) is ParameterSource.COMMANDLINE:
            given[max(item.opts, key=len).removeprefix("--")] = value
    head = {"command": name, **({"arguments": arguments} if arguments else {})}
    return to_toml({"step": [{**head, **given}]})


@contextmanager
def _as_typed(step: ExperimentStep) -> Iterator[None]:
    """Let the step find its own command line, which bundles record."""
    typed = sys.argv
    sys.argv = ["rejoinder", *step.words]
    try:
        yield
    finally:
        sys.argv = typed


def _get_main() -> click.Group:
    from rejoinder.cli.main import main  # which imports this module

    return main
