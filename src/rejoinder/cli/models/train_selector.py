"""`rejoinder train selector`: a transformer that reads question and sentence together."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.models import training
from rejoinder.cli.output import print_json, say, show_progress

if TYPE_CHECKING:
    from rejoinder.models.selector.module.ensemble import AnySelector
    from rejoinder.models.selector.module.selector import SelectorConfig
    from rejoinder.training.fit import Fitted, Plan

PARITY_SAMPLE = 60
"""Questions of the first data set that the written bundle must score as torch does."""


@click.command(
    "selector",
    epilog=options.example(
        "rejoinder train selector qed --to general --data data",
        "rejoinder train selector wikiqa --from general --epochs 2 --to adapted --data data",
        "rejoinder train selector --feedback my-index --from selector --epochs 2 --to mine",
        "rejoinder train selector pages.jsonl --from selector --context multi-way --to mine",
    ),
)
@click.argument("datasets", nargs=-1, metavar="DATASET...")
@training.target
@options.feedback
@training.encoder_options
@click.option(
    "--from",
    "starts",
    multiple=True,
    help="Go on from a selector: a bundle, or `selector` for the one that comes with us; an"
    " ensemble from two.",
)
@click.option(
    "--context",
    type=click.Choice(
        ["none", "local", "global", "concatenation", "ensemble", "multi-way", "stored"]
    ),
    help="What it reads around a candidate.  [default: what the bundle reads, else none]",
)
@click.option(
    "--similarity",
    type=click.Choice(["ngrams", "static", "encoder"]),
    default="static",
    show_default=True,
    help="How the sentences of the page are chosen.",
)
@click.option("--loss", default="anchored", show_default=True, help="Or pointwise, listwise, ….")
@click.option("--epochs", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--questions-per-step", type=click.IntRange(min=1), default=16, show_default=True)
@click.option("--learning-rate", type=float, default=5e-5, show_default=True)
@training.run_options
def selector(**given: Any) -> None:
    """A transformer that reads question and sentence together (Garg et al. 2019).

    DATASET is NAME[:SPLIT][@WEIGHT] of `rejoinder data list` or a JSON-lines file; an epoch
    reads each question WEIGHT times.  To transfer, then adapt (TANDA): train on general
    data first, then on your own with --from.  A training that was killed goes on where its
    last checkpoint was when the same command is given again.
    """
    from rejoinder.training.checkpoint import keep_checkpoint
    from rejoinder.training.loop import use_threads
    from rejoinder.training.mixing import read_training
    from rejoinder.training.selector import fit_selector, make_plan, open_start, read_context

    use_threads(given["threads"])
    target: Path = given["to"]
    training.make_room(target)
    parts = read_training(given["datasets"], given["folder"], feedback=given["feedback"])
    dev = training.read_dev(given)
    opened = [
        open_start(start, given["encoder"], given["layers"]) for start in given["starts"] or [None]
    ]
    vocabulary = opened[0][1]
    model = read_context([start for start, _ in opened], given["context"], given["similarity"])
    plan = make_plan(model.config, given)
    with keep_checkpoint(target, say) as checkpoint:
        with show_progress("training selector") as progress:
            fitted = fit_selector(
                plan,
                parts,
                model,
                vocabulary,
                dev=dev,
                checkpoint=checkpoint,
                on_step=lambda step: progress(step.number, step.of, f"loss {step.loss:.3f}"),
            )
        _write(plan, fitted, vocabulary, parts[0].examples[:PARITY_SAMPLE], given)
    _report(target, dev, given)


def _write(
    plan: "Plan[SelectorConfig]",
    fitted: "Fitted[AnySelector]",
    vocabulary: list[str],
    sample: Any,
    given: dict[str, Any],
) -> None:
    from rejoinder.models.selector.export import write_selector

    write_selector(
        given["to"],
        fitted.model,
        vocabulary,
        precision=given["precision"],
        training={
            "from": " ".join(given["starts"]) or given["encoder"],
            **training.describe(plan, fitted, training.name_data(given)),
        },
        scores={},
        sample=sample,
    )


def _report(target: Path, dev: Any, given: dict[str, Any]) -> None:
    """Say what was written, and what it is worth: measured on the bundle, as it is used."""
    from rejoinder.evaluation import evaluate
    from rejoinder.models.registry import open_scorer

    means = evaluate(open_scorer(target), dev).means if dev else {}
    if given["as_json"]:
        print_json({"bundle": str(target), "dev": given["dev"], "means": means})
        return
    click.echo(f"wrote {target}")
    training.show_means(means, given["dev"])
