"""`rejoinder models`: lists scorers, and inspects bundles."""

from dataclasses import asdict

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say


@click.group(epilog=options.example("rejoinder models list"))
def models() -> None:
    """List scorers, and inspect bundles."""


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
