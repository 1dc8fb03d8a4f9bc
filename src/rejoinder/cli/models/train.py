"""`rejoinder train`: train a model, or make the vectors that models stand on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.models import training
from rejoinder.cli.models.train_has import has
from rejoinder.cli.models.train_selector import selector
from rejoinder.cli.output import count, print_json, say, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rejoinder.models.ranker.module.ranker import RankerConfig
    from rejoinder.models.static_vectors.vectors import StaticVectors
    from rejoinder.training.fit import Plan
    from rejoinder.training.mixing import Part
    from rejoinder.types import Example

PARITY_SAMPLE = 20
"""Questions of the first data set that the written bundle must score as torch does."""

MODELS = {
    "rel-cnn": "Rel-CNN (Severyn & Moschitti 2015): convolution, bilinear similarity.",
    "cosinet": "Cosinet (Bonadiman & Moschitti 2020): convolution over word relatedness.",
    "compare-aggregate": "Compare-Aggregate (Wang & Jiang 2017): attention, comparison, CNN.",
    "compare-aggregate-bilstm": "Compare-Aggregate with a BiLSTM (Matsubara et al. 2020).",
}


@click.group(
    epilog=options.example(
        "rejoinder train cosinet wikiqa --head birnn --loss listwise --to my-model --data data"
    )
)
def train() -> None:
    """Train a model and write it as a bundle."""


@train.command(
    "static-vectors", epilog=options.example("rejoinder train static-vectors --to my-vectors")
)
@training.target
@training.encoder
@click.option(
    "--width", type=click.IntRange(min=1), default=256, show_default=True, help="Of a vector."
)
def static_vectors(to: Path, encoder: str, width: int) -> None:
    """Distil word vectors from an encoder; needs no text and nothing random."""
    from rejoinder.models.static_vectors.export import write_vectors

    say(f"distilling {encoder}; this takes a minute or two")
    vectors = write_vectors(to, encoder, width=width)
    say(f"wrote {count(len(vectors.vocabulary), 'vector')} of width {vectors.width} to {to}")


def _add_options(command: Any) -> Any:
    """Add what all rankers share; the defaults are the Cosinet paper's recipe."""
    for add in reversed(
        [
            click.argument("datasets", nargs=-1, metavar="DATASET..."),
            training.target,
            options.feedback,
            click.option("--head", default="birnn", show_default=True, help=_HEAD),
            click.option("--loss", default="listwise", show_default=True, help=_LOSS),
            click.option("--epochs", type=click.IntRange(min=1), default=3, show_default=True),
            click.option(
                "--questions-per-step", type=click.IntRange(min=1), default=4, show_default=True
            ),
            click.option(
                "--learning-rate", type=float, help="[default: 2e-3 pointwise, else 2e-4]"
            ),
            click.option("--dropout", type=click.FloatRange(0, 0.99), default=0.0),
            click.option("--weight-decay", type=click.FloatRange(min=0), default=0.0),
            training.dev,
            training.keep_best,
            click.option(
                "--patience",
                type=click.IntRange(min=1),
                help="With --keep-best: stop after so many epochs without a better one.",
            ),
            click.option("--vectors", type=click.Path(path_type=Path), help=_VECTORS),
            click.option(
                "--from",
                "start",
                help="Go on from a bundle of the same model, head and vectors, or from `cosinet`.",
            ),
            click.option("--context", is_flag=True, help=_CONTEXT),
            training.seed,
            options.threads,
            options.data_folder,
            options.as_json,
        ]
    ):
        command = add(command)
    return command


_HEAD = "Over the list: none, rnn, birnn, lstm or bilstm."
_LOSS = "pointwise, pairwise, listwise, or anchored: listwise and pointwise together."
_CONTEXT = "Read how related the question is to the sentences beside a candidate, and to the title."
_VECTORS = "A bundle of vectors, or a GloVe, fastText, word2vec or Numberbatch file."


def _make_command(model: str, what: str) -> click.Command:
    call = f"rejoinder train {model} wikiqa --to my-model --data data"

    @train.command(model, help=f"{what}\n\n{DATA}", epilog=options.example(call))
    @_add_options
    def run(**given: Any) -> None:
        from rejoinder.training.mixing import read_training

        training.make_room(given["to"])
        parts = read_training(given["datasets"], given["folder"], feedback=given["feedback"])
        train_ranker(model, parts, {**given, "datasets": training.name_data(given)})

    return run


DATA = (
    "DATASET is NAME[:SPLIT][@WEIGHT] of `rejoinder data list` or a JSON-lines file; an epoch"
    " reads each question WEIGHT times.  A training that was killed goes on where its last"
    " checkpoint was when the same command is given again."
)
for _name, _what in MODELS.items():
    _make_command(_name, _what)
train.add_command(selector)
train.add_command(has)


def train_ranker(model: str, parts: "Sequence[Part]", given: dict[str, Any]) -> None:
    """Train, measure on dev, write the bundle, and say so."""
    from rejoinder.models.ranker.export import read_weights, write_ranker
    from rejoinder.models.ranker.module.ranker import count_parameters
    from rejoinder.training.checkpoint import keep_checkpoint
    from rejoinder.training.loop import use_threads
    from rejoinder.training.ranker import fit_ranker

    use_threads(given["threads"])
    target: Path = given["to"]
    dev = training.read_dev(given)
    vectors = _load_vectors(given["vectors"], [*(part.examples for part in parts), dev])
    plan = _make_plan(model, vectors.width, given)
    with keep_checkpoint(target, say) as checkpoint:
        with show_progress(f"training {model}") as progress:
            fitted = fit_ranker(
                plan,
                parts,
                vectors,
                start=read_weights(given["start"], plan.config) if given["start"] else None,
                dev=dev,
                checkpoint=checkpoint,
                on_step=lambda step: progress(step.number, step.of, f"loss {step.loss:.3f}"),
            )
        scores = _measure(fitted.model, vectors, dev, given["dev"]) if dev else {}
        write_ranker(
            target,
            fitted.model,
            vectors,
            training=training.describe(plan, fitted, given["datasets"]),
            scores=scores,
            sample=parts[0].examples[:PARITY_SAMPLE],
        )
    result = {
        "bundle": str(target),
        "parameters": count_parameters(fitted.model),
        "seconds": round(fitted.seconds, 2),
        **scores,
    }
    if given["as_json"]:
        print_json(result)
    else:
        click.echo(f"wrote {target}: {result['parameters']:,} parameters in {result['seconds']} s")
        training.show_means(scores.get("means", {}), given["dev"])


def _make_plan(model: str, width: int, given: dict[str, Any]) -> "Plan[RankerConfig]":
    from rejoinder.errors import UnknownNameError
    from rejoinder.models.ranker.module.ranker import RankerConfig
    from rejoinder.training.fit import Plan
    from rejoinder.training.loop import Recipe
    from rejoinder.training.losses import LOSSES

    if given["loss"] not in LOSSES:
        raise UnknownNameError("loss", given["loss"], LOSSES)
    names = ("loss", "epochs", "questions_per_step", "learning_rate", "weight_decay", "seed")
    return Plan(
        RankerConfig(model, width, given["head"], given["dropout"], given["context"]),
        Recipe(**{name: given[name] for name in names}),
        keeps_best=given["keep_best"],
        patience=given["patience"],
    )


def _load_vectors(path: Path | None, sets: "list[Sequence[Example]]") -> "StaticVectors":
    from rejoinder.models.static_vectors.files import load_published_vectors
    from rejoinder.models.static_vectors.vectors import load_vectors

    if path is None:
        return load_vectors()
    if path.is_dir():
        return load_vectors(path)
    say(f"reading {path}")
    return load_published_vectors(path, (example for examples in sets for example in examples))


def _measure(model: Any, vectors: Any, examples: Any, name: str) -> dict[str, Any]:
    from rejoinder.evaluation import evaluate
    from rejoinder.models.ranker.module.ranker import TorchScorer

    report = evaluate(TorchScorer(model, vectors), examples)
    return {"dataset": name, "protocol": "answered", "means": report.means}
