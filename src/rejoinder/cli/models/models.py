"""`rejoinder models`: lists, inspects, imports and averages models."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import get_command, say
from rejoinder.cli.tables import Output, takes_format


@click.group(epilog=options.example("rejoinder models list"))
def models() -> None:
    """List scorers, inspect bundles, import pretrained models, and average selectors."""


@models.command("list", epilog=options.example("rejoinder models list"))
@takes_format
def list_models(output: Output) -> None:
    """List the scorers: name, whether they read the candidates' order, and a summary."""
    from rejoinder.cascade.loading import describe_cascades
    from rejoinder.models.registry import describe_scorers

    scorers = [*describe_scorers(), *describe_cascades()]
    output.show_json([asdict(item) for item in scorers])
    output.show(
        ["scorer", "reads order", "summary"],
        [[item.name, "yes" if item.reads_order else "no", item.summary] for item in scorers],
    )


@models.command("show", epilog=options.example("rejoinder models show my-model"))
@click.argument("bundle")
def show_model(bundle: str) -> None:
    """Print BUNDLE's manifest as JSON, or the file of a cascade.

    BUNDLE is a folder, or the name of a shipped one or of a shipped cascade.
    """
    from rejoinder.bundle.folder import open_bundle
    from rejoinder.cascade.file import read_cascade_file, to_toml
    from rejoinder.cascade.loading import find_cascade
    from rejoinder.models.registry import find_bundle

    cascade = find_cascade(bundle)
    if cascade.suffix == ".toml":
        click.echo(to_toml(read_cascade_file(cascade)), nl=False)
        return
    click.echo(open_bundle(find_bundle(bundle)).manifest.to_json(), nl=False)


@models.command("verify", epilog=options.example("rejoinder models verify my-model"))
@click.argument("bundle")
def verify_model(bundle: str) -> None:
    """Check that BUNDLE is complete, and that it scores.

    BUNDLE is a folder, or the name of a shipped one.
    """
    from rejoinder.models.registry import verify_bundle

    verify_bundle(bundle)
    say(f"{bundle} is complete and scores")


@models.command(
    "import",
    epilog=options.example(
        "rejoinder models import cross-encoder/ms-marco-MiniLM-L-12-v2 --to my-selector",
        "rejoinder models import all-MiniLM-L6-v2 --to my-encoder",
        "rejoinder index add examples/docs --index my-index --embed my-encoder",
    ),
)
@click.argument("source")
@click.option("--to", required=True, type=click.Path(path_type=Path), help="Bundle to write.")
@click.option(
    "--as",
    "kind",
    type=click.Choice(["selector", "sentence-encoder"]),
    help="What SOURCE becomes.  [default: a selector if it has a scoring head]",
)
@click.option(
    "--int8/--no-int8",
    default=None,
    help="Store weights in int8, and say what it costs.  [default: int8 for sentence encoders"
    " with safetensors, else SOURCE's own precision]",
)
@click.option(
    "--pooling",
    type=click.Choice(["mean", "first"]),
    help="A sentence encoder's vector is the mean of its states, or the first one.  [default: what"
    " SOURCE says, else mean]",
)
@click.option(
    "--question-prefix",
    help="Text that a sentence encoder expects before a question.  [default: what SOURCE says]",
)
@click.option(
    "--context",
    type=click.Choice(["none", "prefix"]),
    default="none",
    show_default=True,
    help="`prefix`: a selector reads a candidate behind its title and headings, as one text.",
)
@click.option("--licence", default="", help="Licence of the weights, for the bundle's card.")
def import_model(source: str, **given: Any) -> None:
    """Write a pretrained cross-encoder or sentence encoder as a bundle.

    SOURCE is a folder of transformers with safetensors, or its name on a hub; or a folder with
    one ONNX file and its tokenizer.json, or the path of such a file, which need no torch.
    """
    from rejoinder.models.importing import ImportOptions, import_model

    manifest = import_model(ImportOptions(source, **given), command=get_command())
    say(f"{manifest.kind}, {manifest.precision}, {manifest.config['max_tokens']} tokens")
    for name, value in manifest.scores.items():
        say(f"{name}: {_describe(value)}")
    say(f"wrote {given['to']}")


@models.command(
    "average",
    epilog=options.example(
        "rejoinder models average my-selector selector --share 0.3 --to my-average"
    ),
)
@click.argument("trained")
@click.argument("start")
@click.option(
    "--share",
    type=options.SHARE,
    default=0.5,
    show_default=True,
    help="Share of START's weights; the rest are TRAINED's.",
)
@click.option("--to", required=True, type=click.Path(path_type=Path), help="Bundle to write.")
def average_models(trained: str, start: str, share: float, to: Path) -> None:
    """Average the weights of TRAINED with those of the selector START it was trained from.

    It forgets less of what START knew.  Both are bundles, or names of shipped ones.
    """
    from rejoinder.training import average_selectors

    average_selectors(trained, start, share=share, to=to, command=get_command())
    say(f"wrote {to}")


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number}" for name, number in value.items())
    return str(value)
