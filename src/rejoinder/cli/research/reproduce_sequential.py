"""`rejoinder reproduce sequential`: what a cheap first scorer saves, and what it loses."""

from typing import TYPE_CHECKING, Any

import click

from rejoinder.cli import options
from rejoinder.cli.output import print_json, print_table, say, show_progress

if TYPE_CHECKING:
    from rejoinder.evaluation.score_cache import CachedScorer
    from rejoinder.types import Example

_FIRST = "A first scorer, name or bundle; give several."
_SELECTOR = "A selector, name or bundle; give several."


@click.command(
    epilog=options.example(
        "rejoinder reproduce sequential --first jaccard --first my-cosinet"
        " --selector my-selector --data data"
    )
)
@click.option("--first", "firsts", multiple=True, default=["jaccard"], help=_FIRST)
@click.option("--selector", "selectors", multiple=True, required=True, help=_SELECTOR)
@click.option("--questions", type=click.IntRange(min=1), default=500, show_default=True)
@options.score_cache
@options.data_folder
@options.as_json
def sequential(**given: Any) -> None:
    """Tables 4 and 5 of the sequential-reranker paper, on lists of open data.

    Lists of 350 and 1,300 candidates from SQuAD v2.0 dev, WikiQA test and, where you have it,
    ASNQ dev; the selector on all candidates against the selector on the k best of a first
    scorer.  P@1 is of all questions, milliseconds are measured on ten of them.
    """
    from rejoinder.cascade.loading import load
    from rejoinder.datasets.catalogue import open_dataset
    from rejoinder.errors import MissingDataError
    from rejoinder.evaluation.score_cache import CachedScorer
    from rejoinder.papers.sequential import SETS, SIZES, build_lists

    firsts, selectors = (
        [CachedScorer(load(name), path=given["score_cache"]) for name in given[kind]]
        for kind in ("firsts", "selectors")
    )
    result = []
    for dataset, split in SETS:
        try:
            examples = list(open_dataset(dataset, split=split, folder=given["folder"]))
        except MissingDataError as error:
            say(f"left out: {error}")
            continue
        for size in SIZES:
            lists = build_lists(examples, size=size, questions=given["questions"])
            found = _measure_lists(f"{dataset} {split}", lists, firsts, selectors)
            result.append(found)
            if not given["as_json"]:
                _print_sequential(found)
    if not result:
        raise MissingDataError("none of the data sets was found; give their folder as --data")
    if given["as_json"]:
        print_json(result)
    else:
        _print_published()


def _measure_lists(
    name: str, lists: "list[Example]", firsts: "list[CachedScorer]", selectors: "list[CachedScorer]"
) -> dict[str, Any]:
    from rejoinder.papers.sequential import measure_rows

    with show_progress(name) as progress:
        rows = measure_rows(
            firsts, selectors, lists, on_question=lambda done: progress(done, len(lists), "")
        )
        return {
            "dataset": name,
            "questions": len(lists),
            "candidates": round(sum(len(item.candidates) for item in lists) / len(lists)),
            "rows": [row.to_dict() for row in rows],
        }


def _print_sequential(found: dict[str, Any]) -> None:
    click.echo(
        f"{found['dataset']}: {found['questions']} questions, {found['candidates']} candidates each"
    )
    print_table(
        ["selector", "first", "k", "P@1", "ms", "speed-up", "P@1 over all", "95 %"],
        [
            [
                row["selector"],
                row["first"] or "–",
                str(row["keep"] or "all"),
                f"{100 * row['accuracy']:.2f}",
                f"{row['latency_ms']:.1f}",
                f"{row['speed_up']:.1f}",
                f"{100 * row['difference']:+.2f}",
                f"{100 * row['interval']['low']:+.2f} to {100 * row['interval']['high']:+.2f}",
            ]
            for row in found["rows"]
        ],
    )
    click.echo()


def _print_published() -> None:
    from rejoinder.papers.sequential import PUBLISHED

    click.echo("published (Matsubara et al. 2020), on one V100")
    print_table(
        ["data set", "selector", "first", "k", "P@1", "seconds"],
        [
            [
                row.dataset,
                row.selector,
                row.first or "–",
                str(row.keep or "all"),
                f"{row.accuracy:.1f}",
                f"{row.seconds:.3f}",
            ]
            for row in PUBLISHED
        ],
    )
