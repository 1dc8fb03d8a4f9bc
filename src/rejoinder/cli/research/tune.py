"""`rejoinder tune`: find the cascade that fits a latency."""

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import percent, print_json, print_table, say, show_interval, show_progress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rejoinder.evaluation.tune import Contender, Outcome
    from rejoinder.types import Example

RECALLS = (1, 10, 50, 100)


@click.command(
    epilog=options.example(
        "rejoinder tune wikiqa:dev --scorer jaccard --scorer my-model --to cascade.toml --data data"
    )
)
@click.argument("dataset")
@click.option("--to", type=click.Path(path_type=Path), required=True, help="The cascade's file.")
@click.option(
    "--scorer",
    "scorers",
    multiple=True,
    required=True,
    help="A name or a bundle that may become a stage; give several.",
)
@click.option("--size", type=click.IntRange(min=1), help=options.SIZE)
@click.option("--questions", type=click.IntRange(min=1), default=500, show_default=True)
@click.option("--budget-ms", type=click.FloatRange(min=0), help="Choose the best within it.")
@click.option(
    "--lose",
    type=click.FloatRange(min=0),
    default=0.5,
    show_default=True,
    help="Without a budget: choose the fastest that loses at most so many points of P@1.",
)
@click.option(
    "--document-prior",
    type=click.FloatRange(min=0),
    default=0.75,
    show_default=True,
    help="Also try first stages whose view of a document counts so much later; 0 does not.",
)
@click.option("--picture", type=click.Path(path_type=Path), help="Draw accuracy against latency.")
@options.kept_scores
@options.data_folder
@options.as_json
def tune(**given: Any) -> None:
    """Find the accuracy/latency frontier over cascades of up to three SCORERs.

    Measures what each scorer costs on this machine and finds on DATASET (NAME[:SPLIT] or a
    JSON-lines file; dev unless you say otherwise), among its questions with an answer.  Each
    pair is scored once, and every keep replayed from that.  Writes the chosen cascade.
    """
    from dataclasses import replace

    from rejoinder.evaluation.score_cache import CachedScorer
    from rejoinder.evaluation.tune import choose, find_frontier, measure_recall, replay

    examples = _read(given)
    contenders = _time(given["scorers"], given["to"].parent, examples)
    asked = [
        replace(item, scorer=CachedScorer(item.scorer, kept=given["kept"])) for item in contenders
    ]
    with show_progress("replaying") as progress:
        outcomes = replay(
            _add_priors(asked, given["document_prior"]),
            examples,
            on_question=lambda done: progress(done, len(examples), ""),
        )
    recalls = [measure_recall(item, examples, RECALLS) for item in asked]
    frontier = find_frontier(outcomes)
    chosen = choose(frontier, budget_ms=given["budget_ms"], loss=given["lose"] / 100)
    measured = _write(given, chosen, frontier, contenders, examples)
    if given["picture"]:
        from rejoinder.evaluation.plots import draw_frontier

        draw_frontier(given["picture"], outcomes, frontier, chosen)
        say(f"drew {given['picture']}")
    if given["as_json"]:
        print_json(_to_dict(given, examples, contenders, recalls, frontier, chosen, measured))
        return
    _print(contenders, recalls, frontier, chosen, best=_find_best_alone(outcomes))
    say(f"wrote {given['to']}: {chosen.label}; measured {measured:.1f} ms per question")


def _read(given: dict[str, Any]) -> "list[Example]":
    from rejoinder.datasets.catalogue import open_for_choosing
    from rejoinder.datasets.transforms.long_lists import extend_lists
    from rejoinder.errors import InputError

    found = open_for_choosing(given["dataset"], given["folder"])
    if given["size"]:
        found = extend_lists(list(found), size=given["size"])
    examples = list(islice((item for item in found if any(item.labels)), given["questions"]))
    if not examples:
        raise InputError(f"{given['dataset']}: no question has an answer")
    say(
        f"{len(examples)} questions,"
        f" {sum(len(item.candidates) for item in examples) / len(examples):.0f} candidates each"
    )
    return examples


def _time(
    scorers: "Sequence[str]", folder: Path, examples: "Sequence[Example]"
) -> "list[Contender]":
    """Return the scorers, the cheapest first."""
    from rejoinder.cascade.file import name_scorer
    from rejoinder.cascade.loading import load
    from rejoinder.evaluation.tune import time_contender

    size = max(len(item.candidates) for item in examples)
    contenders = [
        time_contender(name_scorer(name, folder), load(name), examples)
        for name in dict.fromkeys(scorers)
    ]
    return sorted(contenders, key=lambda item: item.cost.predict(size, 25 * size))


def _add_priors(contenders: "Sequence[Contender]", document_prior: float) -> "list[Contender]":
    """Return the contenders, each but the dearest also as one that carries so much on."""
    from dataclasses import replace

    found: list[Contender] = []
    for item in contenders:
        if document_prior and item is not contenders[-1]:
            found.append(replace(item, document_prior=document_prior))
        found.append(item)
    return found


def _write(
    given: dict[str, Any],
    chosen: "Outcome",
    frontier: "Sequence[Outcome]",
    contenders: "Sequence[Contender]",
    examples: "Sequence[Example]",
) -> float:
    """Write the cascade, and return how many milliseconds a question really takes with it."""
    from dataclasses import replace

    from rejoinder.cascade.file import CascadeFile, Point, StageLine, write_cascade_file
    from rejoinder.cascade.loading import load
    from rejoinder.evaluation.tune import measure_latency

    costs = {item.name: item.cost for item in contenders}
    keeps = [*chosen.keeps, None]
    stages = [StageLine(n, k, costs[n]) for n, k in zip(chosen.names, keeps, strict=True)]
    stages[0] = replace(stages[0], document_prior=chosen.document_prior)
    facts = {
        "dataset": given["dataset"],
        "questions": len(examples),
        "candidates": round(sum(len(item.candidates) for item in examples) / len(examples)),
        "P@1": round(100 * chosen.accuracy, 2),
        "predicted_ms": round(chosen.latency_ms, 2),
    }
    points = [
        Point(item.label, round(100 * item.accuracy, 2), round(item.latency_ms, 2))
        for item in frontier
    ]
    whole = CascadeFile(given["to"].stem, tuple(stages), tuned=facts, frontier=tuple(points))
    write_cascade_file(given["to"], whole)
    return measure_latency(load(given["to"]), examples)


def _find_best_alone(outcomes: "Sequence[Outcome]") -> "Outcome":
    return max((item for item in outcomes if not item.keeps), key=lambda item: item.accuracy)


def _print(
    contenders: "Sequence[Contender]",
    recalls: "Sequence[dict[int, float]]",
    frontier: "Sequence[Outcome]",
    chosen: "Outcome",
    *,
    best: "Outcome",
) -> None:
    print_table(
        ["scorer", "ms a call", "a candidate", "a word", *(f"recall@{k}" for k in RECALLS)],
        [
            [
                item.name,
                f"{item.cost.fixed_ms:.3f}",
                f"{item.cost.candidate_ms:.4f}",
                f"{item.cost.word_ms:.5f}",
                *(percent(recall[k]) for k in RECALLS),
            ]
            for item, recall in zip(contenders, recalls, strict=True)
        ],
    )
    click.echo()
    print_table(
        ["cascade", "P@1", "ms", "speed-up", f"P@1 over {best.label}", "95 %", "chosen"],
        [
            [
                item.label,
                percent(item.accuracy),
                f"{item.latency_ms:.2f}",
                f"{best.latency_ms / max(item.latency_ms, 1e-9):.1f}",
                f"{100 * (item.accuracy - best.accuracy):+.2f}",
                show_interval(item.hold_against(best)),
                "*" if item is chosen else "",
            ]
            for item in frontier
        ],
    )


def _to_dict(
    given: dict[str, Any],
    examples: "Sequence[Example]",
    contenders: "Sequence[Contender]",
    recalls: "Sequence[dict[int, float]]",
    frontier: "Sequence[Outcome]",
    chosen: "Outcome",
    measured: float,
) -> dict[str, Any]:
    return {
        "dataset": given["dataset"],
        "questions": len(examples),
        "candidates": sum(len(item.candidates) for item in examples) / len(examples),
        "scorers": [
            {"scorer": item.name, "cost": item.cost.to_dict(), "recall": recall}
            for item, recall in zip(contenders, recalls, strict=True)
        ],
        "frontier": [_to_row(item) for item in frontier],
        "chosen": {**_to_row(chosen), "measured_ms": measured},
    }


def _to_row(item: "Outcome") -> dict[str, Any]:
    return {
        "stages": list(item.names),
        "keeps": list(item.keeps),
        "document_prior": item.document_prior,
        "P@1": item.accuracy,
        "predicted_ms": item.latency_ms,
    }
