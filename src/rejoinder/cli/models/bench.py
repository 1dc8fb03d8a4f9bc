"""`rejoinder bench`: times scorers on this machine."""

from dataclasses import asdict
from itertools import islice
from pathlib import Path

import click
from msgspec import structs

from rejoinder.cli import options
from rejoinder.cli.output import percent, say
from rejoinder.cli.tables import Output, takes_format

COUNTS = (10, 100, 1000)


@click.command(
    epilog=options.example(
        "rejoinder bench bm25 jaccard",
        "rejoinder bench --frontier",
        "rejoinder bench default thorough --on wikiqa:dev --data data",
    )
)
@click.argument("scorers", nargs=-1, metavar="[SCORER]...")
@click.option(
    "--frontier",
    is_flag=True,
    help="Print the accuracy and the time of the cascades that a cascade file was chosen from"
    " instead; by default of `default`.",
)
@click.option(
    "--on",
    "dataset",
    metavar="DATASET",
    help="Measure P@1 and the time of a ranking instead, without a budget and with each of some,"
    " on NAME[:SPLIT] or a JSON-lines file.",
)
@click.option(
    "--questions",
    type=options.COUNT,
    default=200,
    show_default=True,
    help="With --on: ask at most so many.",
)
@options.provider
@options.data_folder
@takes_format
def bench(
    scorers: tuple[str, ...],
    frontier: bool,
    dataset: str | None,
    questions: int,
    provider: str,
    folder: Path | None,
    output: Output,
) -> None:
    """Time SCORERs (names or bundles; by default bm25) on random candidates.

    Prints milliseconds per question for 10, 100 and 1000 candidates of 25 words, tokenisation
    included, and what runs transformers here.  Compare only results of one run.
    """
    from rejoinder.cascade.loading import DEFAULT, load

    if frontier and dataset:
        raise click.UsageError("--frontier prints what is stored; leave it out with --on")
    if frontier:
        _show_frontiers(scorers or (DEFAULT,), output)
        return

    from rejoinder.evaluation.timing import time_scorer
    from rejoinder.models.encoders.network import describe_runtime

    if provider == "cpu":
        say(describe_runtime())
    if dataset:
        _measure(scorers or (DEFAULT,), dataset, questions, provider, folder, output)
        return
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


def _show_frontiers(names: tuple[str, ...], output: Output) -> None:
    """Print the frontiers that cascade files store."""
    from rejoinder.cascade.file import read_cascade_file
    from rejoinder.cascade.loading import find_cascade
    from rejoinder.errors import InputError

    rows = []
    for name in names:
        points = read_cascade_file(find_cascade(name)).frontier
        if not points:
            raise InputError(f"{name} stores no frontier; `rejoinder tune` writes one")
        rows += [(name, point) for point in points]
    output.show_json([{"file": name, **structs.asdict(point)} for name, point in rows])
    output.show(
        ["file", "cascade", "P@1", "predicted ms"],
        [
            [name, point.cascade, f"{point.accuracy:.2f}", f"{point.predicted_ms:.2f}"]
            for name, point in rows
        ],
    )


def _measure(
    names: tuple[str, ...],
    dataset: str,
    questions: int,
    provider: str,
    folder: Path | None,
    output: Output,
) -> None:
    """Measure accuracy against time on a data set."""
    from rejoinder.cascade.loading import load
    from rejoinder.datasets.catalogue import open_for_tuning
    from rejoinder.evaluation.timing import measure_points

    examples = list(islice(open_for_tuning(dataset, folder), questions))
    points = [
        point for name in names for point in measure_points(load(name, provider=provider), examples)
    ]
    output.show_json([asdict(point) for point in points])
    output.show(
        ["scorer", "budget ms", "P@1", "median ms", "p95 ms"],
        [
            [
                item.scorer,
                "none" if item.budget_ms is None else f"{item.budget_ms:g}",
                percent(item.accuracy),
                f"{item.median_ms:.2f}",
                f"{item.p95_ms:.2f}",
            ]
            for item in points
        ],
    )
