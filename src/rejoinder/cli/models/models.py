"""`rejoinder models`: what can be given as SCORER."""

from pathlib import Path

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say


@click.group(epilog=options.example("rejoinder models list"))
def models() -> None:
    """List scorers, and look into bundles."""


@models.command("list", epilog=options.example("rejoinder models list"))
@options.as_json
def list_models(as_json: bool) -> None:
    """List the scorers: name, what they read, what they do."""
    from rejoinder.cascade.loading import describe_cascades
    from rejoinder.models.registry import describe_scorers

    scorers = [*describe_scorers(), *describe_cascades()]
    if as_json:
        print_json(
            [
                {"name": item.name, "what": item.summary, "reads_order": item.reads_order}
                for item in scorers
            ]
        )
        return
    print_table(
        ["scorer", "reads order", "what"],
        [[item.name, "yes" if item.reads_order else "no", item.summary] for item in scorers],
    )


@models.command("show", epilog=options.example("rejoinder models show my-model"))
@click.argument("bundle", type=click.Path(path_type=Path))
def show_model(bundle: Path) -> None:
    """Print what BUNDLE says about itself, as JSON.

    BUNDLE is a folder, or the name of a shipped one.
    """
    from rejoinder.bundle.folder import open_bundle

    click.echo(open_bundle(_find(bundle)).manifest.to_json(), nl=False)


@models.command("verify", epilog=options.example("rejoinder models verify my-model"))
@click.argument("bundle", type=click.Path(path_type=Path))
def verify_model(bundle: Path) -> None:
    """Check that BUNDLE is whole, and that it scores.

    BUNDLE is a folder, or the name of a shipped one.
    """
    import numpy as np

    from rejoinder.bundle.folder import open_bundle
    from rejoinder.errors import BundleError
    from rejoinder.models.registry import make_scorer

    scorer = make_scorer(open_bundle(_find(bundle)))
    scores = scorer.score("who wrote it?", ["Ada wrote it.", "It rained."])
    if not np.isfinite(scores).all():
        raise BundleError(f"{bundle}: scores are not finite; export the bundle again")
    say(f"{bundle} is whole and scores")


def _find(bundle: Path) -> Path:
    """Return the folder of a bundle that is shipped under this name, else what is named."""
    from rejoinder.cascade.loading import DEFAULT
    from rejoinder.errors import InputError
    from rejoinder.models.registry import list_named, list_shipped

    shipped = list_shipped()
    if not bundle.exists() and str(bundle) in [*list_named(), DEFAULT]:
        raise InputError(f"{bundle} is no bundle; shipped ones: {', '.join(shipped)}")
    return shipped.get(str(bundle), bundle)
