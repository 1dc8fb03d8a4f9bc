"""`rejoinder distil`: train a small ranker on the scores of a large one."""

from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.models.train import add_options, datasets, print_trained
from rejoinder.cli.output import get_command, say, show_progress
from rejoinder.training.options import DistilOptions


@click.command(
    epilog=options.example(
        "rejoinder distil selector squad-train-part:fit qed:fit --to small --data data"
    )
)
@click.argument("teacher", metavar="TEACHER")
@datasets
@add_options(DistilOptions)
@options.as_json
def distil(teacher: str, datasets: tuple[str, ...], as_json: bool, **given: Any) -> None:
    """Train a Cosinet on TEACHER's scores of every candidate.

    TEACHER is a scorer of `rejoinder models list` or a bundle.  DATASET is
    NAME[:SPLIT][@WEIGHT]; a weight below 1 selects the same share for every epoch.  Half of
    the lists are extended by the candidates of another document.  The teacher's scores are
    cached beside the bundle, for a second run.
    """
    from rejoinder.training import distil

    with show_progress("distilling") as progress:
        trained = distil(
            teacher,
            DistilOptions(**given),
            datasets,
            on_scored=lambda done, of: progress(done, of, "teacher's scores"),
            on_step=lambda step: progress(step.number, step.of, f"loss {step.loss:.3f}"),
            say=say,
            command=get_command(),
        )
    print_trained(trained, as_json=as_json)
