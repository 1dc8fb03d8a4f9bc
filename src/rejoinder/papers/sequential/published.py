"""Published rows of the sequential rerankers, and those of GPD beside lists of its length.

Matsubara et al. 2020, Tables 3 to 5.  GPD is not public, so its accuracies cannot be measured; the
shares that a first scorer keeps of them, and of the time, can be compared on open lists.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rejoinder.papers.table import PrintedTable

GPD_LENGTH = 1445
"""Candidates of a question, on average."""
SHORTEST = 1000
"""Lists that are as long as this are compared with GPD's."""


@dataclass(frozen=True, slots=True)
class PublishedPair:
    """A selector behind a first scorer, as published."""

    dataset: str
    selector: str
    first: str
    """Empty for the selector on all candidates."""
    keep: int | None
    accuracy: float
    seconds: float
    """Of a question from end to end, with preprocessing and loading, on one V100."""


def _list_pairs(dataset: str, selector: str, *rows: tuple[Any, ...]) -> list[PublishedPair]:
    return [PublishedPair(dataset, selector, *row) for row in rows]


PUBLISHED = (
    *_list_pairs(
        *("ASNQ", "BERT-Base"),
        *(("Jaccard", 100, 47.4, 0.352), ("CA", 100, 56.9, 0.458), ("", None, 57.1, 1.3)),
    ),
    *_list_pairs(
        *("ASNQ", "BERT-Large"),
        *(("Jaccard", 100, 49.2, 0.819), ("CA", 100, 59.6, 0.926), ("", None, 59.9, 3.32)),
    ),
    *_list_pairs(
        *("ASNQ++", "BERT-Base"),
        *(("Jaccard", 100, 44.3, 0.58), ("CA", 100, 52.8, 0.924), ("", None, 53.6, 4.23)),
    ),
    *_list_pairs(
        *("GPD", "BERT-Base"),
        *(("Jaccard", 100, 27.0, 0.564), ("Jaccard", 200, 37.6, 0.84)),
        *(("Jaccard", 250, 38.2, 0.977), ("Jaccard", 300, 41.1, 1.11)),
        *(("CA", 100, 45.0, 0.962), ("", None, 47.6, 4.59)),
    ),
)
OURS = {"Jaccard": ("jaccard",), "CA": ("compare-aggregate", "cosinet")}
"""Our scorers beside a published one: its own kind, and Cosinet in place of Compare-Aggregate."""


def show_published() -> PrintedTable:
    """Return all published rows."""
    rows = [
        [
            *(pair.dataset, pair.selector, pair.first or "–", str(pair.keep or "all")),
            *(f"{pair.accuracy:.1f}", f"{pair.seconds:.3f}"),
        ]
        for pair in PUBLISHED
    ]
    return PrintedTable(
        ["data set", "selector", "first", "k", "P@1", "seconds"],
        rows,
        title="published (Matsubara et al. 2020, Tables 3 to 5), on one V100; GPD is not public",
    )


def show_gpd(results: Sequence[Mapping[str, Any]]) -> PrintedTable | None:
    """Return GPD's rows beside ours on lists of about its length; None without such lists.

    Each P@1 and time is divided by that of the selector on all candidates of the same list.
    """
    rows = [
        [
            *(f"GPD, {pair.selector} behind {pair.first}", str(pair.keep)),
            *_show(_divide(pair.accuracy, whole.accuracy), whole.seconds / pair.seconds),
            f"{result['dataset']}, {row['selector']} behind {row['first']}",
            *_show(_divide(row["accuracy"], own["accuracy"]), row["speed_up"]),
        ]
        for whole, pair in _pair_with_whole("GPD")
        for result in results
        if result["candidates"] >= SHORTEST
        for row, own in _find_rows(result, pair)
    ]
    if not rows:
        return None
    return PrintedTable(
        ["published", "k", "of P@1", "speed-up", "measured", "of P@1", "speed-up"],
        rows,
        title=f"GPD ({GPD_LENGTH:,} candidates on average) beside long lists: the share of the"
        " P@1 of the selector on all candidates, and how many times as fast",
    )


def _divide(accuracy: float, whole: float) -> float | None:
    """Return the share that is kept; None where there is nothing to keep."""
    return accuracy / whole if whole else None


def _show(share: float | None, speed_up: float) -> list[str]:
    return ["–" if share is None else f"{share:.1%}", f"{speed_up:.1f}"]


def _pair_with_whole(dataset: str) -> Iterator[tuple[PublishedPair, PublishedPair]]:
    own = [pair for pair in PUBLISHED if pair.dataset == dataset]
    (whole,) = (pair for pair in own if pair.keep is None)
    return ((whole, pair) for pair in own if pair.keep is not None)


def _find_rows(
    result: Mapping[str, Any], pair: PublishedPair
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield our rows of the same k behind such a first scorer, each with the selector's alone."""
    alone = {row["selector"]: row for row in result["rows"] if row["keep"] is None}
    for row in result["rows"]:
        if row["keep"] == pair.keep and row["first"].startswith(OURS[pair.first]):
            yield row, alone[row["selector"]]
