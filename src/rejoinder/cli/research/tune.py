"""`rejoinder tune`: find the cascade that fits a latency budget."""

from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, say, show_interval, show_progress
from rejoinder.cli.tables import Output, takes_format

if TYPE_CHECKING:
    from rejoinder.evaluation.tuning import TuneResult


@click.command(
    epilog=options.example(
        "rejoinder tune wikiqa:dev --scorer jaccard --scorer my-model --to cascade.toml --data data"
    )
)
@click.argument("dataset")
@click.option("--to", type=options.PATH, required=True, help="The cascade file.")
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    required=True,
    help="A name or a bundle that may become a stage; repeatable.",
)
@click.option("--size", type=options.COUNT, help=options.SIZE)
@click.option("--questions", type=options.COUNT, default=500, show_default=True)
@click.option("--budget-ms", type=options.MILLISECONDS, help="Choose the most accurate within it.")
@click.option(
    "--max-loss",
    type=click.FloatRange(min=0),
    default=0.5,
    show_default=True,
    help="Without a budget: choose the fastest that loses at most this many points of P@1.",
)
@click.option(
    "--document-prior",
    type=click.FloatRange(min=0),
    default=0.75,
    show_default=True,
    help="Also try first stages with a document prior of this weight; 0 tries none.",
)
@click.option(
    "--fusion",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Also try later stages whose scores are fused with those of the stage before, by this"
    " weight; 0 tries none.",
)
@click.option(
    "--passage-scorer",
    "passage_scorers",
    multiple=True,
    help="A name or a bundle that may become a stage that reads passages; repeatable.",
)
@click.option("--plot", type=options.PATH, help="Plot accuracy against latency.")
@options.score_cache
@options.data_folder
@takes_format
def tune(
    dataset: str, scorers: tuple[str, ...], max_loss: float, output: Output, **given: Any
) -> None:
    """Find the accuracy/latency frontier over cascades of up to three SCORERs.

    Measures the cost of each scorer on this machine and its recall on DATASET (NAME[:SPLIT] or
    a JSON-lines file; the default split is dev), over the questions that have an answer.  Each
    pair is scored once, and every cascade is replayed from these scores.  Writes the chosen
    cascade.
    """
    from rejoinder.evaluation import TuneOptions, tune

    with show_progress("replaying") as progress:
        result = tune(
            scorers, dataset, TuneOptions(max_loss=max_loss / 100, **given), on_progress=progress
        )
    say(f"{result.questions} questions, {result.candidates:.0f} candidates each")
    if given["plot"]:
        say(f"wrote {given['plot']}")
    output.show_json(result.to_dict())
    if output.is_json:
        return
    _print(result, output)
    say(
        f"wrote {given['to']}: {result.chosen.label};"
        f" measured {result.measured_ms:.1f} ms per question"
    )


def _print(result: "TuneResult", output: Output) -> None:
    best = result.best_alone
    output.show(
        [
            *("scorer", "ms a call", "a candidate", "a word"),
            *(f"recall@{k}" for k in result.recalls[0]),
        ],
        [
            [
                item.name,
                f"{item.cost.fixed_ms:.3f}",
                f"{item.cost.candidate_ms:.4f}",
                f"{item.cost.word_ms:.5f}",
                *map(percent, recall.values()),
            ]
            for item, recall in zip(result.contenders, result.recalls, strict=True)
        ],
    )
    output.show(
        ["cascade", "P@1", "ms", "speed-up", f"P@1 over {best.label}", "95 %", "chosen"],
        [
            [
                item.label,
                percent(item.accuracy),
                f"{item.latency_ms:.2f}",
                f"{best.latency_ms / max(item.latency_ms, 1e-9):.1f}",
                f"{100 * (item.accuracy - best.accuracy):+.2f}",
                show_interval(item.compare_with(best)),
                "*" if item is result.chosen else "",
            ]
            for item in result.frontier
        ],
    )
