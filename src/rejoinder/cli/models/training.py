"""What trainings of the command line share: options, dev data, and what a bundle says of itself."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent

if TYPE_CHECKING:
    from rejoinder.training.fit import Fitted, Plan
    from rejoinder.types import Example

target = click.option("--to", type=click.Path(path_type=Path), required=True, help="The bundle.")
encoder = click.option(
    "--encoder",
    default="all-MiniLM-L6-v2",
    show_default=True,
    help="A folder or a hub's name of a BERT-like encoder.",
)
dev = click.option("--dev", help="A data set to measure on after training: NAME[:SPLIT].")
keep_best = click.option("--keep-best", is_flag=True, help="Keep the epoch that is best on --dev.")
seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)


def encoder_options(command: Any) -> Any:
    """Add what a training that begins with a pretrained encoder is told of it."""
    for add in (
        click.option(
            "--layers", type=click.IntRange(min=1), help="Keep the encoder's first so many."
        ),
        encoder,
    ):
        command = add(command)
    return command


def run_options(command: Any) -> Any:
    """Add how a training of an encoder is measured, seeded and written."""
    for add in (
        options.as_json,
        options.data_folder,
        options.threads,
        seed,
        keep_best,
        dev,
        click.option(
            "--precision",
            type=click.Choice(["int8", "fp32"]),
            default="int8",
            show_default=True,
            help="Of the bundle.",
        ),
    ):
        command = add(command)
    return command


def make_room(target: Path) -> None:
    """Make the folder above a bundle; better to fail before an hour of training than after."""
    from tempfile import TemporaryFile

    from rejoinder.bundle.folder import check_place
    from rejoinder.errors import InputError

    check_place(target)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=target.parent):
            pass
    except OSError as error:
        raise InputError(f"cannot write {target}: {error.strerror}") from error


def read_dev(given: Mapping[str, Any]) -> "Sequence[Example]":
    """Return what is measured on after training; nothing where --dev was not given."""
    from rejoinder.training.mixing import read_parts

    return read_parts([given["dev"]], given["folder"])[0].examples if given["dev"] else []


def name_data(given: Mapping[str, Any]) -> list[str]:
    """Return what a bundle says that it was trained on."""
    feedback = given["feedback"]
    return [*given["datasets"], *([f"feedback of {feedback}"] if feedback else [])]


def describe(plan: "Plan[Any]", fitted: "Fitted[Any]", data: Sequence[str]) -> dict[str, Any]:
    """Return what a bundle says of how it was trained, with the command that was given."""
    from rejoinder.training.fit import describe_training

    command = shlex.join(["rejoinder", *sys.argv[1:]])
    return describe_training(plan, fitted, data=data, command=command)


def show_means(means: Mapping[str, float], dataset: str) -> None:
    """Print what was measured on a data set."""
    for name, value in means.items():
        click.echo(f"{dataset} {name} {percent(value)}")
