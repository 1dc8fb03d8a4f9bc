"""`rejoinder mine`: make training lists out of a whole corpus."""

from typing import Any

import click
from click.core import ParameterSource

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

    _check_in_document()
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


def _check_in_document() -> None:
    """Refuse options that --in-document, which searches nothing, would ignore."""
    context = click.get_current_context()
    if not context.params["in_document"]:
        return
    ignored = [
        f"--{name}"
        for name in ("documents", "elsewhere", "found", "headings", "passages", "sentences")
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT
    ]
    if ignored:
        raise click.UsageError(
            f"--in-document searches nothing and cannot use {', '.join(ignored)}; leave out one or"
            " the other, and mine twice for both kinds of lists"
        )
