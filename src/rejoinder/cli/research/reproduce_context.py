"""`rejoinder reproduce context`: what context is worth to a selector, and what it costs."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say, show_interval, show_progress

if TYPE_CHECKING:
    from rejoinder.papers.context_latency import Construction, Latency
    from rejoinder.papers.context_rows import Row
    from rejoinder.papers.context_runs import Run
    from rejoinder.papers.context_table import Summary, Verdict
    from rejoinder.papers.gains import Gain


@click.command(
    epilog=options.example(
        "rejoinder reproduce context --runs context.jsonl --to bundles --data data",
        "rejoinder reproduce context --models none,local,multi-way --seeds 3 --runs context.jsonl",
    )
)
@click.option(
    "--seeds",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Of none, local and multi-way; the other rows are trained once.",
)
@options.models
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    help="Trained on in each run, about.",
)
@click.option(
    "--runs",
    type=click.Path(path_type=Path),
    help="Keep every finished run in this file, and go on from it.",
)
@click.option(
    "--to",
    type=click.Path(path_type=Path),
    help="Keep the trained bundles in this folder, and go on from those that are there.",
)
@options.threads
@options.data_folder
@options.as_json
def context(**given: Any) -> None:
    """Tables 2 and 4 of the context paper: selectors that see more than a sentence.

    Every row begins with the shipped selector and is trained on the same questions of SQuAD over
    whole pages; it is tested as a bundle, in int8 where that is close enough, on SQuAD, WikiQA,
    SelQA and, where you have it, ASNQ.  Latencies are of one thread; measure them on an idle
    machine.
    """
    from rejoinder.papers.context_rows import BASE, ROWS
    from rejoinder.papers.context_table import decide, summarise
    from rejoinder.training.checkpoint import check_target
    from rejoinder.training.loop import use_threads

    use_threads(given["threads"])
    if given["to"]:
        check_target(given["to"] / BASE.name)
    rows = options.choose_rows(ROWS, given["models"], of="context")
    runs, examples = _run(rows, given)
    summaries = summarise(rows, runs)
    latencies, construction = _measure(rows, examples())
    cost = {item.row: item.natural_ms for item in latencies}
    verdicts = decide([row for row in rows if row.is_selector], runs, cost)
    if given["as_json"]:
        print_json(_to_dict(summaries, latencies, construction, verdicts))
        return
    _print_quality(summaries)
    _print_costs(latencies, construction)
    _print_verdicts(verdicts)


def _run(rows: "list[Row]", given: dict[str, Any]) -> "tuple[list[Run], Any]":
    """Return the runs, and what gives the questions that costs are measured on."""
    from functools import cache

    from rejoinder.papers.context_data import LISTS, name_set, read_data
    from rejoinder.papers.context_runs import Run
    from rejoinder.papers.context_training import run_rows
    from rejoinder.papers.kept_runs import KeptRuns

    @cache
    def data() -> Any:
        return read_data(given["folder"], pairs=given["pairs"], say=say)

    kept = KeptRuns(given["runs"], Run)
    with show_progress("context") as progress:
        runs = kept.keep(
            run_rows(
                rows,
                data,
                seeds=given["seeds"],
                pairs=given["pairs"],
                done=kept.done,
                to=given["to"],
                on_step=lambda row, seed, step: progress(
                    step.number, step.of, f"{row} seed {seed} loss {step.loss:.3f}"
                ),
            )
        )
    return runs, lambda: data().tests.get(name_set(*LISTS), data().train)


def _measure(rows: "list[Row]", examples: Any) -> "tuple[list[Latency], list[Construction]]":
    """Return what the rows cost; no context always comes first."""
    from rejoinder.papers.context_latency import measure_construction, measure_latencies
    from rejoinder.papers.context_rows import BASE

    timed = [BASE, *(row for row in rows if row is not BASE and row.is_selector)]
    return measure_latencies(timed, examples), measure_construction(examples)


def _print_quality(summaries: "list[Summary]") -> None:
    from rejoinder.papers.context_training import MEASURES

    for dataset in dict.fromkeys(item.dataset for item in summaries):
        own = [item for item in summaries if item.dataset == dataset]
        click.echo(f"{dataset}: {own[0].questions} questions")
        print_table(
            [
                "context",
                "seeds",
                "precision",
                *MEASURES,
                "P@1 over no context",
                "95 %",
                "P@1 published (ASNQ)",
            ],
            [
                [
                    item.row.name,
                    str(item.seeds),
                    "/".join(item.precisions),
                    *(f"{item.means[name]:.2f} ±{item.deviations[name]:.2f}" for name in MEASURES),
                    *_show_gain(item.gain),
                    f"{item.row.published['P@1']:.1f}" if item.row.published else "",
                ]
                for item in own
            ],
        )
        click.echo()


def _show_gain(gain: "Gain | None") -> tuple[str, str]:
    if gain is None:
        return "", ""
    return f"{100 * gain.mean:+.2f}", show_interval(gain.interval)


def _print_costs(latencies: "list[Latency]", construction: "list[Construction]") -> None:
    base = latencies[0]
    click.echo("milliseconds of a pair, one thread, int8")
    print_table(
        ["context", "tokens", "equal length", "of none", "natural length", "of none"],
        [
            [
                item.row,
                f"{item.tokens:.0f}",
                f"{item.equal_ms:.2f}",
                f"{item.equal_ms / base.equal_ms:.2f}",
                f"{item.natural_ms:.2f}",
                f"{item.natural_ms / base.natural_ms:.2f}",
            ]
            for item in latencies
        ],
    )
    click.echo("\nfinding the context of 100 candidates of one article")
    print_table(
        ["similarity", "once a document, ms", "a question, ms", "of the selector's time"],
        [
            [
                item.similarity,
                f"{item.prepare_ms:.1f}",
                f"{item.find_ms:.1f}",
                f"{100 * item.share:.1f} %",
            ]
            for item in construction
        ],
    )
    click.echo()


def _print_verdicts(verdicts: "list[Verdict]") -> None:
    click.echo("whole articles, behind a first stage that keeps as many as take equally long")
    print_table(
        ["context", "seeds", "kept", "P@1", "over none", "95 %"],
        [
            [
                item.row,
                str(item.seeds),
                str(item.keep),
                f"{item.precision:.2f}",
                *_show_gain(item.gain),
            ]
            for item in verdicts
        ],
    )


def _to_dict(
    summaries: "list[Summary]",
    latencies: "list[Latency]",
    construction: "list[Construction]",
    verdicts: "list[Verdict]",
) -> dict[str, Any]:
    from dataclasses import asdict

    quality = []
    for item in summaries:
        fields = asdict(item)
        row = fields.pop("row")
        quality.append({"row": row["name"], "published": row["published"], **fields})
    return {
        "quality": quality,
        "latency": [asdict(item) for item in latencies],
        "construction": [asdict(item) for item in construction],
        "verdict": [asdict(item) for item in verdicts],
    }
