"""`rejoinder mine`: make training lists out of a whole corpus."""

from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.models.train import add_options, datasets
from rejoinder.cli.output import count, say, show_progress
from rejoinder.training.options import MiningOptions


@click.command(
    epilog=options.example(
        "rejoinder mine qed:fit squad-train-part:fit@0.2 --to lists.jsonl.gz --data data",
        "rejoinder mine --documents manuals --to lists.jsonl.gz",
        "rejoinder train selector lists.jsonl.gz --from selector --context headings"
        " --teacher selector --to mine",
    )
)
@datasets
@add_options(MiningOptions)
def mine(datasets: tuple[str, ...], **given: Any) -> None:
    """Make training lists from the documents of all DATASETs together.

    Negatives are sentences that a search finds for a question, in other documents and in the right
    one.  DATASET is NAME[:SPLIT][@WEIGHT]; a weight below 1 draws a share of the questions, but
    all documents are searched.
    """
    from rejoinder.training import mine_lists

    with show_progress("mining") as progress:
        mined = mine_lists(
            MiningOptions(**given),
            datasets,
            on_mined=lambda done, of: progress(done, of, "questions"),
            say=say,
        )
    say(
        f"wrote {count(mined.lists, 'list')} with {count(mined.candidates, 'candidate')} to"
        f" {mined.path}: {mined.headings:,} of headings, {mined.unanswerable:,} without an answer"
    )
