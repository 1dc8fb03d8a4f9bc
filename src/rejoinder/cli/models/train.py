"""`rejoinder train`: one command for each model that has a training."""

from pkgutil import resolve_name
from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.models.training import add_options, datasets, get_command, print_trained
from rejoinder.cli.output import count, say, show_progress
from rejoinder.models.registry import FAMILIES, Family, get_family
from rejoinder.training.options import DATA_HELP, StaticVectorsOptions, Trainer


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


def _make_command(family: Family, trainer: Trainer) -> click.Command:
    call = f"rejoinder train {family.name} wikiqa --to my-model --data data"
    summary = f"{family.summary[0].upper()}{family.summary[1:]}."
    text = "\n\n".join(filter(None, [summary, trainer.help, DATA_HELP]))

    @click.command(family.name, help=text, epilog=options.example(*trainer.examples or [call]))
    @datasets
    @add_options(trainer.options)
    @options.as_json
    def run(datasets: tuple[str, ...], as_json: bool, **given: Any) -> None:
        made = trainer.make_options(family.name, **given)
        with show_progress(f"training {family.name}") as progress:
            trained = resolve_name(trainer.train)(
                made,
                datasets,
                on_step=lambda step: progress(step.number, step.of, f"loss {step.loss:.3f}"),
                say=say,
                command=get_command(),
            )
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
