"""`rejoinder train has`: answers as bits that a question attends over."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.models import training
from rejoinder.cli.output import print_json, say, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rejoinder.models.has.module import Has, HasConfig
    from rejoinder.training.fit import Fitted, Plan
    from rejoinder.types import Example

PARITY_TEXTS = 60
"""Candidates of the first data set that the written bundle must encode as torch does."""


@click.command(
    "has",
    epilog=options.example(
        "rejoinder train has wikiqa --dev wikiqa:dev --keep-best --to my-has --data data",
        "rejoinder index add examples/docs --index my-index --sidecar my-has",
    ),
)
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@training.target
@training.encoder_options
@click.option(
    "--composition",
    type=click.Choice(["has", "attention", "pooling"]),
    default="has",
    show_default=True,
    help="What is stored of an answer: bits of its words, floats of them, or one vector.",
)
@click.option("--width", type=click.IntRange(min=1), help="Numbers of a word.  [default: all]")
@click.option("--attention-width", type=click.IntRange(min=1), default=128, show_default=True)
@click.option("--beta", type=click.FloatRange(min=0, min_open=True), default=5.0, show_default=True)
@click.option("--delta", type=click.FloatRange(min=0), default=1e-6, show_default=True)
@click.option("--epochs", type=click.IntRange(min=1), default=18, show_default=True)
@click.option("--batch", type=click.IntRange(min=1), default=32, show_default=True)
@click.option("--learning-rate", type=float, default=2e-5, show_default=True)
@training.run_options
def has(**given: Any) -> None:
    """Answers stored as bits that a question attends over (Xu & Li 2020).

    DATASET is NAME[:SPLIT][@WEIGHT] of `rejoinder data list` or a JSON-lines file.  A step
    reads --batch answers, each with its question and one wrong candidate.  A training that
    was killed goes on where its last checkpoint was when the same command is given again.
    """
    from rejoinder.models.has.module import load_has
    from rejoinder.training.checkpoint import keep_checkpoint
    from rejoinder.training.has import fit_has
    from rejoinder.training.loop import use_threads
    from rejoinder.training.mixing import read_parts

    use_threads(given["threads"])
    target: Path = given["to"]
    training.make_room(target)
    parts = read_parts(given["datasets"], given["folder"])
    dev = training.read_dev(given)
    model, vocabulary = load_has(_make_config(given), seed=given["seed"])
    plan = _make_plan(model.config, given)
    with keep_checkpoint(target, say) as checkpoint:
        with show_progress(f"training {given['composition']}") as progress:
            fitted = fit_has(
                plan,
                parts,
                model,
                vocabulary,
                dev=dev,
                checkpoint=checkpoint,
                on_step=lambda step: progress(step.number, step.of, f"loss {step.loss:.3f}"),
            )
        _write(plan, fitted, vocabulary, parts[0].examples, given)
    _report(target, dev, given)


def _make_config(given: dict[str, Any]) -> "HasConfig":
    from rejoinder.models.has.module import HasConfig

    names = ("encoder", "composition", "attention_width", "width", "beta", "delta", "layers")
    return HasConfig(**{name: given[name] for name in names})


def _make_plan(config: "HasConfig", given: dict[str, Any]) -> "Plan[HasConfig]":
    from rejoinder.training.fit import Plan
    from rejoinder.training.has import DEFAULTS
    from rejoinder.training.loop import Recipe

    recipe = Recipe(
        epochs=given["epochs"],
        questions_per_step=given["batch"],
        learning_rate=given["learning_rate"],
        seed=given["seed"],
        **DEFAULTS,
    )
    return Plan(config, recipe, keeps_best=given["keep_best"])


def _write(
    plan: "Plan[HasConfig]",
    fitted: "Fitted[Has]",
    vocabulary: "Sequence[str]",
    examples: "Sequence[Example]",
    given: dict[str, Any],
) -> None:
    from rejoinder.evaluation.stored_texts import list_texts
    from rejoinder.models.has.export import write_has

    write_has(
        given["to"],
        fitted.model,
        vocabulary,
        precision=given["precision"],
        training=training.describe(plan, fitted, given["datasets"]),
        scores={},
        sample=list_texts(examples[:PARITY_TEXTS])[:PARITY_TEXTS],
    )


def _report(target: Path, dev: "Sequence[Example]", given: dict[str, Any]) -> None:
    """Say what was written, and what it is worth: answers are read from a reopened store."""
    from tempfile import TemporaryDirectory

    from rejoinder.bundle.folder import open_bundle
    from rejoinder.evaluation import evaluate
    from rejoinder.evaluation.stored_texts import list_texts, store_texts
    from rejoinder.models.has.scorer import HasScorer

    bundle = open_bundle(target)
    means: dict[str, float] = {}
    if dev:
        scorer = HasScorer(bundle)
        with TemporaryDirectory() as place:
            stored = store_texts(Path(place, "store"), scorer.encoder, list_texts(dev))
            means = evaluate(scorer.bind(stored), dev).means
    flipped = bundle.manifest.scores["flipped bits"]
    if given["as_json"]:
        result = {"bundle": str(target), "flipped bits": flipped, "dev": given["dev"]}
        print_json({**result, "means": means})
        return
    click.echo(f"wrote {target}: {flipped:.2%} of bits differ from torch's")
    training.show_means(means, given["dev"])
