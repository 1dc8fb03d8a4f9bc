"""The result: what the journal says, in numbers for the page."""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

from benchmarks.common import get_percentiles
from benchmarks.comparison.contenders import CONTENDERS, INDEXES, OURS, is_ours
from benchmarks.comparison.measure import INDEX_THREADS
from rejoinder.evaluation.significance import bootstrap_difference

Entries = Mapping[str, Mapping[str, Any]]


def summarize(
    entries: Entries, sets: Sequence[Mapping[str, Any]], threads: Sequence[int]
) -> dict[str, Any]:
    """Return rows by set, threads and contender, and indexes by set and name.

    Args:
        entries: those of the journal, by their keys.
        sets: the descriptions of the sets, each with its `name`.
    """
    result: dict[str, Any] = {"rows": {}, "indexes": {}}
    for own in sets:
        kind, name = own["kind"], own["name"]
        result["rows"][name] = {
            str(count): _summarize_rows(entries, f"{kind} {name}", count) for count in threads
        }
        result["indexes"][name] = {
            index: {key: entry[key] for key in ("seconds", "mb", "peak_mb")}
            for index in INDEXES
            if (entry := entries.get(f"index {name} {index} {INDEX_THREADS}"))
        }
    return result


def _summarize_rows(entries: Entries, prefix: str, threads: int) -> dict[str, Any]:
    own = {
        name: entry
        for name in CONTENDERS
        if (entry := entries.get(f"{prefix} {name} {threads}")) is not None
    }
    return {name: _summarize_row(name, entry, own.get(OURS)) for name, entry in own.items()}


def _summarize_row(
    name: str, entry: Mapping[str, Any], ours: Mapping[str, Any] | None
) -> dict[str, Any]:
    values = {
        measure: _rate(own, ours["values"][measure] if ours and name != OURS else None)
        for measure, own in entry["values"].items()
    }
    return {
        "values": values,
        **get_percentiles(entry["ms"], 50, 95),
        "five_p50_ms": get_percentiles(entry["five_ms"], 50)["p50_ms"],
        **{key: entry[key] for key in ("cold_ms", "peak_mb", "versions", "load_before")},
    }


def _rate(own: Sequence[float], ours: Sequence[float] | None) -> dict[str, Any]:
    """Return a mean in per cent with its interval, and the paired difference from ours."""
    interval = bootstrap_difference([0.0] * len(own), own)
    result: dict[str, Any] = {
        "mean": _percent(mean(own)),
        "interval": [_percent(interval.low), _percent(interval.high)],
    }
    if ours is not None:
        paired = bootstrap_difference(ours, own)
        result["points"] = _percent(mean(own) - mean(ours))
        result["points_interval"] = [_percent(paired.low), _percent(paired.high)]
    return result


def _percent(share: float) -> float:
    return round(100 * share, 1)


def describe_contenders(
    names: Sequence[str], sizes: Mapping[str, float], weights: Mapping[str, float]
) -> dict[str, Any]:
    """Return what the page says about contenders.

    Args:
        sizes: megabytes of an installation, by contender.
        weights: megabytes of weights besides, by contender.
    """
    return {
        name: {
            "label": CONTENDERS[name].label,
            "family": CONTENDERS[name].family,
            "settings": CONTENDERS[name].settings,
            "saw": CONTENDERS[name].saw,
            "indexes": list(CONTENDERS[name].indexes),
            "is_ours": is_ours(name),
            "install_mb": sizes.get(name),
            "weights_mb": weights.get(name),
        }
        for name in names
    }
