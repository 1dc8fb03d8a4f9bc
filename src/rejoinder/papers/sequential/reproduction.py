"""Sequential rerankers of Matsubara et al. 2020, on their lists and on lists of open data.

"Reranking for Efficient Transformer-based Answer Selection", Tables 4 and 5 and Figure 2: a first
scorer passes its k best candidates to a selector, which is compared in accuracy (P@1) and latency
with the selector on all candidates.  Their lists are ASNQ (350 candidates on average) and ASNQ++
(1,300), read as they are; ours are SQuAD v2.0 dev and WikiQA test, extended to these lengths.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rejoinder.cascade.budget import Cost
from rejoinder.cascade.cascade import Cascade, Stage
from rejoinder.cascade.loading import load
from rejoinder.errors import MissingDataError
from rejoinder.evaluation.plots import plotting
from rejoinder.evaluation.replay import Contender, Outcome, replay
from rejoinder.evaluation.score_cache import CachedScorer
from rejoinder.evaluation.significance import Interval
from rejoinder.evaluation.timing import measure_latency
from rejoinder.papers.examples import (
    build_lists,
    choose_answered,
    describe_source,
    open_available,
)
from rejoinder.papers.ingredients import label_scorer, show_ingredients
from rejoinder.papers.sequential.loading import measure_loading
from rejoinder.papers.sequential.published import show_gpd, show_published
from rejoinder.papers.table import SILENT, PrintedTable, Reporter, show_interval
from rejoinder.types import Example

KEEPS = (10, 20, 50, 100, 200, 250, 300)
SETS: tuple[tuple[str, int | None], ...] = (
    *(("squad-v2:dev", 350), ("squad-v2:dev", 1300)),
    *(("wikiqa:test", 350), ("wikiqa:test", 1300)),
    *(("asnq:dev", None), ("asnq++:dev", None)),
)
"""Data sets, and the length to which their lists are extended; None keeps them as they are."""
TIMED = 10
"""Questions whose latency is measured, for each pair of scorers."""


@dataclass(frozen=True, slots=True)
class SequentialOptions:
    """Options of `reproduce_sequential`; scorers are names or bundles."""

    selectors: Sequence[str]
    firsts: Sequence[str] = ("jaccard",)
    questions: int | None = 500
    """Questions of each set, spread evenly over it; None for all."""
    plot: Path | None = None
    """Picture of P@1 against k, as the paper's Figure 2."""
    with_loading: bool = False
    """Also time how new processes load the scorers."""
    score_cache: Path | None = None
    """Journal of scored lists, which are not scored again."""
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class ScorerPair:
    """A selector behind a first scorer, compared with the selector on all candidates."""

    selector: str
    first: str
    """Empty for the selector on all candidates."""
    keep: int | None
    accuracy: float
    latency_ms: float
    speed_up: float
    difference: float
    interval: Interval


def reproduce_sequential(
    options: SequentialOptions, reporter: Reporter = SILENT
) -> list[dict[str, Any]]:
    """Measure every pair of scorers on every set that is here; return plain JSON types.

    Raises:
        MissingDataError: none of the data sets is here.
    """
    firsts, selectors = (
        [CachedScorer(load(name), path=options.score_cache) for name in names]
        for names in (options.firsts, options.selectors)
    )
    names = [*options.firsts, *options.selectors]
    given = dict(zip([item.name for item in (*firsts, *selectors)], names, strict=True))
    labels = {name: label_scorer(of) for name, of in given.items()}

    @cache
    def get_loading(*scorers: str) -> float:
        return measure_loading([given[name] for name in scorers if name])

    results = []
    for choice, size in SETS:
        if lists := _read_lists(choice, size, options, reporter):
            place = _describe(choice, options.folder)
            result = _measure_set(place, lists, firsts, selectors, labels, reporter)
            if options.with_loading:
                _add_loading(result, get_loading, reporter)
            results.append(result)
    if not results:
        raise MissingDataError("none of the data sets was found; give their folder as --data")
    reporter.show(show_published())
    if beside := show_gpd(results):
        reporter.show(beside)
    if options.plot:
        plot_sizes(options.plot, results)
        reporter.say(f"wrote {options.plot}")
    return results


def _read_lists(
    choice: str, size: int | None, options: SequentialOptions, reporter: Reporter
) -> list[Example]:
    """Return the lists of a set: its own from a stream, or extended ones; none if it is missing."""
    examples = open_available(choice, options.folder, reporter.say)
    if size is None:
        return choose_answered(examples, options.questions)
    return build_lists(list(examples), size=size, questions=options.questions)


def _describe(choice: str, folder: Path | None) -> dict[str, str]:
    return {"dataset": choice.replace(":", " "), "note": describe_source(choice, folder)}


def _measure_set(
    place: Mapping[str, str],
    lists: Sequence[Example],
    firsts: Sequence[CachedScorer],
    selectors: Sequence[CachedScorer],
    labels: Mapping[str, str],
    reporter: Reporter,
) -> dict[str, Any]:
    name = place["dataset"]
    with reporter.progress(name) as progress:
        pairs = list(
            measure_pairs(
                firsts, selectors, lists, on_question=lambda done: progress(done, len(lists), "")
            )
        )
    total = sum(len(item.candidates) for item in lists)
    candidates = round(total / len(lists))
    rows = [
        {
            **asdict(pair),
            "ingredients": {
                "selector": labels[pair.selector],
                **({"first": labels[pair.first]} if pair.first else {}),
            },
        }
        for pair in pairs
    ]
    counted = f"{len(lists)} questions, {candidates} candidates each, {total:,} pairs"
    title = "; ".join(filter(None, (f"{name}: {counted}", place["note"])))
    reporter.show(_print(pairs, [row["ingredients"] for row in rows], title))
    return {
        **place,
        "questions": len(lists),
        "candidates": candidates,
        "pairs": total,
        "rows": rows,
    }


def _print(
    pairs: Sequence[ScorerPair], ingredients: Sequence[Mapping[str, str]], title: str
) -> PrintedTable:
    header = ["selector", "first", "k", "P@1", "ms", "speed-up", "P@1 over all", "95 %"]
    rows = [
        [
            *(pair.selector, pair.first or "–", str(pair.keep or "all")),
            *(f"{100 * pair.accuracy:.2f}", f"{pair.latency_ms:.1f}", f"{pair.speed_up:.1f}"),
            *(f"{100 * pair.difference:+.2f}", show_interval(pair.interval)),
            show_ingredients(made),
        ]
        for pair, made in zip(pairs, ingredients, strict=True)
    ]
    return PrintedTable([*header, "ingredients"], rows, title=title)


def _add_loading(
    result: dict[str, Any], get_loading: Callable[[str, str], float], reporter: Reporter
) -> None:
    """Add to each row the latency of a question from end to end, and print it.

    Args:
        get_loading: the milliseconds in which a new process loads a first scorer and a selector.
    """
    rows, questions = result["rows"], result["questions"]
    for row in rows:
        row["loading_ms"] = get_loading(row["first"], row["selector"])
        # One process answers all questions of the set.
        row["end_to_end_ms"] = row["latency_ms"] + row["loading_ms"] / questions
    cells = [
        [
            *(row["selector"], row["first"] or "–", str(row["keep"] or "all")),
            *(f"{row[name]:.1f}" for name in ("latency_ms", "loading_ms", "end_to_end_ms")),
        ]
        for row in rows
    ]
    title = f"{result['dataset']}: milliseconds of a question from end to end, {questions} asked"
    header = ["selector", "first", "k", "ms", "loading, once", "end to end"]
    reporter.show(PrintedTable(header, cells, title=title))


def plot_sizes(path: Path, results: Sequence[Mapping[str, Any]]) -> None:
    """Plot P@1 against k, one line for each set, selector and first scorer.

    Raises:
        RejoinderError: see `plotting`.
    """
    with plotting(path) as axes:
        for result in results:
            lines: dict[str, dict[int, float]] = {}
            for row in result["rows"]:
                label = f"{result['dataset']}/{result['candidates']}: {row['selector']}"
                if row["keep"] is None:
                    axes.axhline(100 * row["accuracy"], label=label, linewidth=0.8, linestyle="--")
                else:
                    line = lines.setdefault(f"{label} behind {row['first']}", {})
                    line[row["keep"]] = 100 * row["accuracy"]
            for label, line in lines.items():
                axes.plot([*line], [*line.values()], ".-", label=label)
        axes.set(xlabel="k", ylabel="P@1")


def measure_pairs(
    firsts: Sequence[CachedScorer],
    selectors: Sequence[CachedScorer],
    examples: Sequence[Example],
    *,
    keeps: Sequence[int] = KEEPS,
    on_question: Callable[[int], None] = lambda _: None,
) -> Iterator[ScorerPair]:
    """Yield for each selector the one on all candidates, then those behind each first scorer.

    Accuracies are replayed from one pass over all candidates; latencies are measured live.
    """
    cached = (*firsts, *selectors)
    scorers = {item.name: item.scorer for item in cached}
    lasts = {item.name for item in selectors}
    chains = ([False], [True], [False, True])  # of selectors and others
    outcomes = replay(
        [Contender(item.name, item, Cost()) for item in cached],
        examples,
        keeps=keeps,
        is_included=lambda names: [name in lasts for name in names] in chains,
        on_question=on_question,
    )
    for selector in (item.scorer for item in selectors):
        own = [item for item in outcomes if item.names[-1] == selector.name]
        (whole,) = (item for item in own if not item.keeps)
        whole_ms = measure_latency(selector, examples, most=TIMED)
        yield _compare(whole, whole, whole_ms, whole_ms)
        for item in own:
            if item.keeps:
                first = Stage(scorers[item.names[0]], item.keeps[0])
                cascade = Cascade(item.label, [first, Stage(selector)])
                latency_ms = measure_latency(cascade, examples, most=TIMED)
                yield _compare(item, whole, latency_ms, whole_ms)


def _compare(item: Outcome, whole: Outcome, latency_ms: float, whole_ms: float) -> ScorerPair:
    first, keep = (item.names[0], item.keeps[0]) if item.keeps else ("", None)
    speed_up, difference = whole_ms / latency_ms, item.accuracy - whole.accuracy
    measured = (item.accuracy, latency_ms, speed_up, difference, item.compare_with(whole))
    return ScorerPair(item.names[-1], first, keep, *measured)
