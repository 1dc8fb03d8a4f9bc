"""`rejoinder models`: lists scorers, inspects bundles, and imports encoders."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import get_command, print_json, print_table, say
from rejoinder.errors import MissingExtraError


@click.group(epilog=options.example("rejoinder models list"))
def models() -> None:
    """List scorers, inspect bundles, and import encoders."""


@models.command("list", epilog=options.example("rejoinder models list"))
@options.as_json
def list_models(as_json: bool) -> None:
    """List the scorers: name, whether they read the candidates' order, and a summary."""
    from rejoinder.cascade.loading import describe_cascades
    from rejoinder.models.registry import describe_scorers

    scorers = [*describe_scorers(), *describe_cascades()]
    if as_json:
        print_json([asdict(item) for item in scorers])
        return
    print_table(
        ["scorer", "reads order", "summary"],
        [[item.name, "yes" if item.reads_order else "no", item.summary] for item in scorers],
    )


@models.command("show", epilog=options.example("rejoinder models show my-model"))
@click.argument("bundle")
def show_model(bundle: str) -> None:
    """Print BUNDLE's manifest as JSON.

    BUNDLE is a folder, or the name of a shipped one.
    """
    from rejoinder.bundle.folder import open_bundle
    from rejoinder.models.registry import find_bundle

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
        "rejoinder models import all-MiniLM-L6-v2 --to my-encoder",
        "rejoinder index add examples/docs --index my-index --embed my-encoder",
    ),
)
@click.argument("encoder")
@click.option("--to", required=True, type=click.Path(path_type=Path), help="Bundle to write.")
@click.option(
    "--pooling",
    type=click.Choice(["mean", "first"]),
    default="mean",
    show_default=True,
    help="A text's vector is the mean of its states, or the first one.",
)
@click.option(
    "--question-prefix", default="", help="Text that the encoder expects before a question."
)
@click.option("--licence", default="", help="Licence of the weights, for the bundle's card.")
def import_model(encoder: str, **given: Any) -> None:
    """Write a pretrained sentence encoder as a bundle, for `index add --embed`.

    ENCODER is the folder, or the name on a hub, of a BERT-like sentence encoder.
    """
    try:
        from rejoinder.models.sentence_encoder.export import ImportOptions, import_encoder
    except ModuleNotFoundError as error:
        raise MissingExtraError("importing an encoder", extra="train") from error
    import_encoder(ImportOptions(encoder=encoder, **given), command=get_command())
    say(f"wrote {given['to']}")
