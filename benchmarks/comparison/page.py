"""The page: tables, pictures, and where others are ahead."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.citing import render as render_citing
from benchmarks.comparison.ahead import (
    iterate_rows,
    list_citing,
    list_costs,
    list_highlighting,
    list_latencies,
    list_quality,
    name_contender,
)
from benchmarks.comparison.contenders import OURS
from benchmarks.highlighting import render as render_highlighting
from rejoinder.evaluation.plots import plotting

BEGIN, END = "<!-- benchmarks.compare_all -->\n", "<!-- end of benchmarks.compare_all -->"
IDLE = 0.5
"""The load of the machine before the first contender was asked, below which it was idle."""
COLOURS = 10
"""Of lines, before the marks differ."""
Rows = Mapping[str, Mapping[str, Any]]


def render(
    result: Mapping[str, Any], highlighting: Mapping[str, Any], citing: Mapping[str, Any]
) -> str:
    """Return what stands between the marks of the page."""
    parts = [
        _describe_machine(result),
        _render_ahead(result, highlighting, citing),
        *_render_corpora(result),
        *_render_documents(result),
        "## Highlighting and citing\n",
        "From `python -m benchmarks.highlighting`"
        " ([results](../benchmarks/results/highlighting.json)):\n",
        render_highlighting(highlighting),
        "From `python -m benchmarks.citing` ([results](../benchmarks/results/citing.json)):\n",
        render_citing(dict(citing)),
        _render_contenders(result),
        _render_left_out(result),
    ]
    return "\n".join(filter(None, parts))


def _describe_machine(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    state = (
        "which was idle"
        if result["load_before"] < IDLE
        else "**which was not idle: the times say little**"
    )
    return (
        f"Measured on a machine with {machine['cores']} cores ({machine['kind']}, Python"
        f" {machine['python']}), {state}, in {result['minutes']:.0f} minutes.\n"
    )


def _render_ahead(
    result: Mapping[str, Any], highlighting: Mapping[str, Any], citing: Mapping[str, Any]
) -> str:
    lists = {
        "**Answers.** Better than our default, beyond the paired 95 % interval:": (
            list_quality(result)
        ),
        "**Answers at a latency.** Below 150 ms, better than the best of ours that is as fast:": (
            list_latencies(result)
        ),
        "**Costs.** Lower than those of our default:": list_costs(result),
        "**Highlighting and citing.** Higher than ours:": (
            *list_highlighting(highlighting),
            *list_citing(citing),
        ),
    }
    lines = ["## Where others are ahead", ""]
    for title, items in lists.items():
        lines += [title, "", *(f"- {item}" for item in list(items) or ["none"]), ""]
    return "\n".join(lines)


def _render_corpora(result: Mapping[str, Any]) -> Iterable[str]:
    yield "## Over a corpus\n"
    for name, own in result["sets"].items():
        if own["kind"] == "search":
            yield (
                f"![First answers right against milliseconds, {name}]({name_picture(name)})\n\n"
                f"{own['title']}: {own['questions']:,} questions over {own['sentences']:,}"
                " sentences.\n"
            )
            indexes = result["indexes"][name]
            for place, rows in iterate_rows(result, "search"):
                if place.startswith(own["title"]):
                    yield _render_corpus(place, rows, indexes, result["contenders"])
            yield _render_indexes(indexes)


def _render_corpus(
    place: str, rows: Rows, indexes: Mapping[str, Any], contenders: Mapping[str, Any]
) -> str:
    head = [
        *(place, "first answer right", "above ours", "among five", "above ours"),
        *("p50 ms", "p95 ms", "five answers, p50 ms", "cold start, ms", "peak MB", "index s"),
    ]
    table = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, row in rows.items():
        seconds = sum(
            indexes[index]["seconds"] for index in contenders[name]["indexes"] if index in indexes
        )
        values = row["values"]
        table.append(
            [
                name_contender(contenders[name], "search"),
                *(_show_mean(values["first"]), _show_points(values["first"])),
                *(_show_mean(values["five"]), _show_points(values["five"])),
                *(f"{row[key]:,.1f}" for key in ("p50_ms", "p95_ms", "five_p50_ms")),
                *(f"{row['cold_ms']:,.0f}", f"{row['peak_mb']:,.0f}", f"{seconds:,.0f}"),
            ]
        )
    return _join(table)


def _render_indexes(indexes: Mapping[str, Any]) -> str:
    table = [["index", "s", "MB on disk", "peak MB"], ["---", "---:", "---:", "---:"]]
    for name, own in indexes.items():
        table.append([name, *(f"{own[key]:,.0f}" for key in ("seconds", "mb", "peak_mb"))])
    return _join(table)


def _render_documents(result: Mapping[str, Any]) -> Iterable[str]:
    sets = {name: own for name, own in result["sets"].items() if own["kind"] == "rank"}
    if not sets:
        return
    yield "## Inside a document\n"
    counts = ", ".join(f"{own['title']}: {own['questions']:,}" for own in sets.values())
    yield f"Questions: {counts}.\n"
    most = max(int(count) for name in sets for count in result["rows"][name])
    for measure in ("P@1", "MAP"):
        head = [measure, *(own["title"] for own in sets.values())]
        table = [head, ["---", *["---:"] * len(sets)]]
        for name in result["contenders"]:
            rows = [result["rows"][own][str(most)].get(name) for own in sets]
            if any(rows):
                cells = (_show_rate(row["values"][measure]) if row else "–" for row in rows)
                table.append([result["contenders"][name]["label"], *cells])
        yield _join(table)
    for name, own in sets.items():
        yield _render_costs(own["title"], result["rows"][name], result["contenders"])


def _render_costs(title: str, by_threads: Mapping[str, Rows], contenders: Mapping[str, Any]) -> str:
    keys = {"p50_ms": "p50 ms", "p95_ms": "p95 ms", "cold_ms": "cold start, ms", "peak_mb": "MB"}
    head = [title, *(f"{shown} ({count})" for count in by_threads for shown in keys.values())]
    table = [head, ["---", *["---:"] * (len(head) - 1)]]
    for name, own in contenders.items():
        rows = [rows.get(name) for rows in by_threads.values()]
        if any(rows):
            cells = (f"{row[key]:,.1f}" if row else "–" for row in rows for key in keys)
            table.append([own["label"], *cells])
    return _join(table)


def _render_contenders(result: Mapping[str, Any]) -> str:
    versions: dict[str, dict[str, str]] = {}
    for _, rows in iterate_rows(result):
        for name, row in rows.items():
            versions.setdefault(name, {}).update(row["versions"])
    table = [
        ["contender", "set up as", "versions", "its weights saw", "installed MB", "weights MB"],
        ["---", "---", "---", "---", "---:", "---:"],
    ]
    for name, own in result["contenders"].items():
        sizes = (own["install_mb"], own["weights_mb"])
        table.append(
            [
                *(own["label"], own["settings"]),
                ", ".join(f"{key} {text}" for key, text in versions.get(name, {}).items()) or "–",
                own["saw"],
                *("–" if size is None else f"{size:,.0f}" for size in sizes),
            ]
        )
    return (
        "## Contenders\n\n"
        "One thread or two are those of the process, of OpenMP, of torch and of onnxruntime's"
        " sessions; over corpora, a bi-encoder's question is encoded on one. Megabytes are those of"
        " an installation on Linux with torch's build for CPUs; ours includes its weights.\n\n"
        + _join(table)
    )


def _render_left_out(result: Mapping[str, Any]) -> str:
    if not result["left_out"]:
        return ""
    lines = (f"- {name}: {reason}" for name, reason in result["left_out"].items())
    return "\n".join(["Left out of this run:", "", *lines, ""])


def name_picture(name: str) -> str:
    """Return the file name of the picture of a corpus."""
    return f"comparison-{name}.png"


def draw(result: Mapping[str, Any], folder: Path) -> None:
    """Draw first answers right against milliseconds, a panel for each number of threads."""
    for name, own in result["sets"].items():
        if own["kind"] != "search":
            continue
        by_threads = result["rows"][name]
        path, count = folder / name_picture(name), len(by_threads)
        with plotting(path, panels=count, legend_beside=True) as axes:
            panels = axes if count > 1 else [axes]
            for panel, (threads, rows) in zip(panels, by_threads.items(), strict=True):
                _draw_panel(panel, rows, result["contenders"])
                plural = "" if threads == "1" else "s"
                panel.set(
                    title=f"{own['title']}, {threads} thread{plural}",
                    xscale="log",
                    xlabel="milliseconds per question, median",
                )
            panels[0].set(ylabel="first answer right, %, with 95 % intervals")


def _draw_panel(axes: Any, rows: Rows, contenders: Mapping[str, Any]) -> None:
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for name, row in rows.items():
        lines.setdefault(contenders[name]["family"], []).append(row)
    for number, (family, own) in enumerate(lines.items()):
        points = sorted((row["p50_ms"], row["values"]["first"]) for row in own)
        means = [rate["mean"] for _, rate in points]
        errors = [
            [rate["mean"] - rate["interval"][0] for _, rate in points],
            [rate["interval"][1] - rate["mean"] for _, rate in points],
        ]
        is_ours = family.startswith("rejoinder,")
        marker = "*" if is_ours else "o" if number < COLOURS else "s"
        colour = "black" if family == contenders[OURS]["family"] else f"C{number % COLOURS}"
        axes.errorbar(
            [place for place, _ in points],
            means,
            yerr=errors,
            fmt=f"{marker}-",
            color=colour,
            capsize=2,
            elinewidth=0.5,
            label=family,
        )


def _show_mean(rate: Mapping[str, Any]) -> str:
    low, high = rate["interval"]
    return f"{rate['mean']:.1f} ({low:.1f} to {high:.1f})"


def _show_points(rate: Mapping[str, Any]) -> str:
    if "points" not in rate:
        return "–"
    return "{:+.1f} ({:+.1f} to {:+.1f})".format(rate["points"], *rate["points_interval"])


def _show_rate(rate: Mapping[str, Any]) -> str:
    return f"{rate['mean']:.1f}; {_show_points(rate)}" if "points" in rate else _show_mean(rate)


def _join(table: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in table)
