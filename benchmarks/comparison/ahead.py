"""Where others are ahead of ours: what the page lists so that losses are as visible as wins."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.citing import CITE
from benchmarks.citing import CONTENDERS as CITING
from benchmarks.citing import GROUPS as STATEMENTS
from benchmarks.comparison.contenders import OURS
from benchmarks.highlighting import PUBLISHED, WAYS

NAMES = {
    "P@1": "P@1",
    "MAP": "MAP",
    "first": "first answer right",
    "five": "right among five",
}
LATENCY = 150.0
"""Milliseconds below which ours should be first."""
COSTS = {"p50_ms": "median time", "peak_mb": "peak memory", "cold_ms": "cold start"}
UNITS = {"p50_ms": "ms", "peak_mb": "MB", "cold_ms": "ms", "install_mb": "MB", "seconds": "s"}
FIGURES = ("precision", "recall", "f1")
CITED = {
    "first": "support first",
    "flag_precision": "flagged, precision",
    "flag_recall": "flagged, recall",
    "sentence_precision": "cited, precision",
    "sentence_recall": "cited, recall",
    "false_flagged": "false ones flagged",
}


def list_quality(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield each cell in which a contender is better than our default beyond its interval.

    Those of most threads: no answer depends on them but those of our budgets.
    """
    for set_, by_threads in result["rows"].items():
        kind = result["sets"][set_]["kind"]
        for name, row in by_threads[max(by_threads, key=int)].items():
            for measure, own in row["values"].items():
                low, high = own.get("points_interval", (0.0, 0.0))
                if low > 0 and not _is_ours(result, name):
                    label = name_contender(result["contenders"][name], kind)
                    yield (
                        f"{result['sets'][set_]['title']}, {NAMES[measure]}: {label}"
                        f" {own['points']:+.1f} points ({low:+.1f} to {high:+.1f})"
                    )


def list_latencies(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield each latency below `LATENCY` at which a contender answers better than any of ours.

    At the median time of a contender over a corpus, the best of ours that is as fast is compared.
    """
    for place, rows in iterate_rows(result, "search"):
        ours = [row for name, row in rows.items() if _is_ours(result, name)]
        for name, row in sorted(rows.items(), key=lambda item: float(item[1]["p50_ms"])):
            if _is_ours(result, name) or row["p50_ms"] >= LATENCY:
                continue
            own = row["values"]["first"]["mean"]
            fast = [
                item["values"]["first"]["mean"] for item in ours if item["p50_ms"] <= row["p50_ms"]
            ]
            if fast and max(fast) >= own:
                continue
            best = f"ours has {max(fast):.1f}" if fast else "none of ours is as fast"
            yield (
                f"{place}, at {row['p50_ms']:.1f} ms:"
                f" {name_contender(result['contenders'][name], 'search')} has {own:.1f} % first"
                f" answers right, {best}"
            )


def list_costs(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield each cost that is lower for others than for our default."""
    for kind in ("search", "rank"):
        for place, rows in iterate_rows(result, kind):
            for cost, title in COSTS.items():
                values = {name: row[cost] for name, row in rows.items()}
                yield from _list_lower(result, f"{place}, {title}", values, UNITS[cost], kind)
    for set_, indexes in result["indexes"].items():
        for cost, title in {"seconds": "index time", "mb": "index size"}.items():
            if "rejoinder" not in indexes:
                continue
            ours = indexes["rejoinder"][cost]
            unit = UNITS.get(cost, "MB")
            lower = [
                f"{name}: {own[cost]:,.0f}" for name, own in indexes.items() if own[cost] < ours
            ]
            if lower:
                title_ = f"{result['sets'][set_]['title']}, {title}"
                yield f"{title_}, ours {ours:,.0f} {unit}: {'; '.join(lower)}"
    sizes = {
        name: own["install_mb"] + (own["weights_mb"] or 0.0)
        for name, own in result["contenders"].items()
        if own["install_mb"] is not None
    }
    yield from _list_lower(result, "installation with weights", sizes, "MB", "rank")


def _list_lower(
    result: Mapping[str, Any], title: str, values: Mapping[str, float], unit: str, kind: str
) -> Iterator[str]:
    if OURS not in values:
        return
    lower = sorted(
        (value, name_contender(result["contenders"][name], kind))
        for name, value in values.items()
        if value < values[OURS] and not _is_ours(result, name)
    )
    if lower:
        shown = "; ".join(f"{label}: {value:,.1f}" for value, label in lower)
        yield f"{title}, ours {values[OURS]:,.1f} {unit}: {shown}"


def list_highlighting(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield each figure of benchmarks.highlighting in which a contender is higher."""
    for name, own in result["quality"].items():
        others = {label: own[way] for way, label in WAYS.items() if way != "highlight"}
        if name == "multispanqa":
            others["OpenSearch's highlighter, as published,"] = PUBLISHED
        for label, figures in others.items():
            for figure in FIGURES:
                if figures[figure] > own["highlight"][figure]:
                    yield (
                        f"highlighting, {name}, {figure}: {label} {figures[figure]:.1f}, ours"
                        f" {own['highlight'][figure]:.1f}"
                    )


def list_citing(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield each figure of benchmarks.citing in which a contender is higher."""
    name = "passage-selector"
    for group, title in STATEMENTS.items():
        for figure, shown in CITED.items():
            ours, other = result[CITE][group][figure], result[name][group][figure]
            if ours is not None and other is not None and other > ours:
                yield f"citing, {title}, {shown}: {CITING[name]} {other}, ours {ours}"


def iterate_rows(
    result: Mapping[str, Any], kind: str = ""
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of each set and number of threads, with the name of the place."""
    for name, by_threads in result["rows"].items():
        own = result["sets"][name]
        if not kind or own["kind"] == kind:
            for threads, rows in by_threads.items():
                plural = "" if threads == "1" else "s"
                yield f"{own['title']}, {threads} thread{plural}", rows


def _is_ours(result: Mapping[str, Any], name: str) -> bool:
    return bool(result["contenders"][name]["is_ours"])


def name_contender(contender: Mapping[str, Any], kind: str) -> str:
    """Return the name of a contender; over a corpus, with the name of its retriever."""
    is_found = kind == "search" and not contender["is_ours"]
    return str(contender["family" if is_found else "label"])
