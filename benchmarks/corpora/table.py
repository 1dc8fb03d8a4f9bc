"""The tables of a result of `benchmarks.open_corpus`."""

from collections.abc import Sequence
from typing import Any

from benchmarks.corpora.contenders import ROWS
from benchmarks.corpora.trials import COMPARED

COLUMNS = {
    "found_10": "right among 10 found",
    "found_20": "20",
    "found_50": "50",
    "found_100": "100",
    "first": "first answer right",
    "five": "right among five",
    "passage_first": "in the first passage shown",
    "passage_five": "in five",
    "answered_right": "answered and right",
    "stated_wrong": "wrong and stated",
    "refused_rightly": "refused rightly",
    "no_sentence": "first answers that are a heading, question or fragment",
    "p50_ms": "p50 ms",
    "p95_ms": "p95 ms",
}
COUNTS = {"no_sentence"}


def write_tables(result: dict[str, Any]) -> str:
    """Return two Markdown tables for each corpus: rates, and differences from the baseline."""
    return "\n".join(
        f"**{_describe(name, corpus)}**\n\n{_write_rates(corpus)}{_write_differences(corpus)}"
        for name, corpus in result["corpora"].items()
    )


def _describe(name: str, corpus: dict[str, Any]) -> str:
    questions = f"{corpus['questions']:,} questions, {corpus['answerable']:,} with an answer"
    size = f"{corpus['documents']:,} documents, {corpus['sentences']:,} sentences that may answer"
    return f"{name.capitalize()}: {size}; {questions}"


def _write_rates(corpus: dict[str, Any]) -> str:
    rows = [["", *COLUMNS.values()], ["---", *["---:"] * len(COLUMNS)]]
    for name in _list_rows(corpus):
        rates = corpus["rows"][name]
        rows.append([ROWS[name][0], *(_show(column, rates.get(column)) for column in COLUMNS)])
    return _join(rows)


def _write_differences(corpus: dict[str, Any]) -> str:
    rows = [
        [
            ROWS[name][0],
            *("{:+.1f} ({:+.1f} to {:+.1f})".format(*against[key]) for key in COMPARED),
        ]
        for name in _list_rows(corpus)
        if (against := corpus["rows"][name].get("against"))
    ]
    if not rows:
        return ""
    baseline = corpus["baseline"]
    label = ROWS[baseline][0] if baseline in ROWS else baseline
    labels = {"found_20": "among 20 found", "found_100": "among 100 found"}
    heads = [labels.get(key, COLUMNS[key]) for key in COMPARED]
    heads[-1] = "in five passages shown"
    head = [f"points above {label}, 95 % interval", *heads]
    return "\n" + _join([head, ["---", *["---:"] * len(COMPARED)], *rows])


def _list_rows(corpus: dict[str, Any]) -> list[str]:
    return [name for name in ROWS if name in corpus["rows"]]


def _join(rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _show(column: str, value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if column in COUNTS else f"{value:,.1f}"
