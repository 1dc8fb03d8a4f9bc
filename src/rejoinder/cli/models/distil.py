"""`rejoinder distil`: teach a small ranker what a large scorer knows."""

from pathlib import Path
from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.models import training
from rejoinder.cli.models.train import train_ranker
from rejoinder.cli.output import say, show_progress


@click.command(
    epilog=options.example(
        "rejoinder distil selector squad-train-part:fit qed:fit --to small --data data"
    )
)
@click.argument("teacher", metavar="TEACHER")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@training.target
@click.option("--head", default="birnn", show_default=True, help="none, rnn, birnn, lstm, bilstm.")
@click.option("--epochs", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--questions-per-step", type=click.IntRange(min=1), default=4, show_default=True)
@click.option("--learning-rate", type=float, help="[default: 2e-4]")
@click.option("--dropout", type=click.FloatRange(0, 0.99), default=0.1, show_default=True)
@training.dev
@training.seed
@options.threads
@options.data_folder
@options.as_json
def distil(teacher: str, **given: Any) -> None:
    """Train a Cosinet on what TEACHER says of every candidate.

    TEACHER is a scorer of `rejoinder models list` or a bundle.  DATASET is
    NAME[:SPLIT][@WEIGHT]; of a weight under 1 the same share is read in every epoch.  Half
    of the lists get the candidates of another document behind their own.  The teacher's
    scores are kept beside the bundle, so that a second run need not ask again.
    """
    from rejoinder.models.registry import open_scorer
    from rejoinder.training.distillation import ask_teacher, join_lists, soften
    from rejoinder.training.mixing import Part, read_parts, take_share

    target: Path = given["to"]
    training.make_room(target)
    asked = open_scorer(teacher)
    parts = [
        take_share(part, given["seed"]) for part in read_parts(given["datasets"], given["folder"])
    ]
    taught = join_lists(
        [example for part in parts for example in part.examples], seed=given["seed"]
    )
    kept = target.with_name(f"{target.name}.teacher.jsonl")
    say(f"asking {asked.name}; what it says is kept in {kept}")
    with show_progress("asking the teacher") as progress:
        scores = ask_teacher(
            asked, taught, kept=kept, on_done=lambda done, of: progress(done, of, "")
        )
    targets = [soften(example.labels, found) for example, found in zip(taught, scores, strict=True)]
    recipe = {"loss": "anchored", "weight_decay": 0.0, "keep_best": False, "patience": None}
    rest = {"vectors": None, "start": None, "context": False}
    train_ranker("cosinet", [Part(taught, 1.0, targets)], {**given, **recipe, **rest})
