"""`rejoinder bench`: times scorers on this machine."""

from dataclasses import asdict

import click

from rejoinder.cli import options
from rejoinder.cli.output import say
from rejoinder.cli.tables import Output, takes_format

COUNTS = (10, 100, 1000)


@click.command(epilog=options.example("rejoinder bench bm25 jaccard"))
@click.argument("scorers", nargs=-1, metavar="[SCORER]...")
@options.provider
@takes_format
def bench(scorers: tuple[str, ...], provider: str, output: Output) -> None:
    """Time SCORERs (names or bundles; by default bm25) on random candidates.

    Prints milliseconds per question for 10, 100 and 1000 candidates of 25 words, tokenisation
    included, and what runs transformers here.  Compare only results of one run.
    """
    from rejoinder.cascade.loading import load
    from rejoinder.evaluation.timing import time_scorer
    from rejoinder.models.encoders.network import describe_runtime

    if provider == "cpu":
        say(describe_runtime())

    timings = [
        timing
        for name in scorers or ("bm25",)
        for timing in time_scorer(load(name, provider=provider), COUNTS)
    ]
    output.show_json([asdict(timing) for timing in timings])
    output.show(
        ["scorer", "candidates", "median ms", "p95 ms"],
        [
            [item.scorer, str(item.candidates), f"{item.median_ms:.2f}", f"{item.p95_ms:.2f}"]
            for item in timings
        ],
    )
