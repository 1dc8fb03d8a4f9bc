"""The Markdown table of all readers."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.manuals.readers import FORMATS, READERS

SCOPES = {"all": "All manuals", "html": "HTML", "pdf": "PDF", "text": "text"}
OFFERED = {
    "documents": "documents",
    "unread": "files that could not be read",
    "sentences": "sentences",
    "offered": "offered as answers",
    "two_words_or_fewer": "of two words or fewer",
    "over_1000_characters": "over 1,000 characters",
    "question": "that end with a question mark",
    "heading": "that are headings",
    "navigation": "of navigation",
    "duplicates": "exact duplicates",
}
ANSWERS = {
    "in_block": "recorded answers inside one block of at most 1,500 characters",
    "offered": "recorded answers with a sentence that may answer",
    "pattern_in_block": "questions with an answer inside one block",
    "pattern_offered": "questions with an answer among the sentences that may answer",
}
BLOCKS = {
    "median_characters": "characters of a block, median",
    "p90_characters": "characters of a block, 90th percentile",
    "max_characters": "characters of the longest block",
}


def write_table(result: dict[str, Any], *, by_package: bool = False) -> str:
    """Return the table; a reader has a dash where it does not read the format."""
    reading = result.get("time", {}).get("reading", {})
    readers = {
        name: {**result["readers"][name], "seconds": reading.get(name)}
        for name in READERS
        if name in result.get("readers", {})
    }
    scopes = dict(SCOPES)
    if by_package:
        names = {name for rates in readers.values() for name in rates.get("offered", {})}
        scopes |= {name: name for name in sorted(names - SCOPES.keys())}
    rows = [["", *readers], ["---", *["---:"] * len(readers)]]
    for scope, title in scopes.items():
        own = [row for row in _write_scope(scope, readers) if set(row[1:]) - {"–"}]
        if own:
            rows += [[f"**{title}**", *[""] * len(readers)], *own]
    return "".join(f"{_join(row)}\n" for row in rows) + _write_cost(result)


def _write_scope(scope: str, readers: dict[str, Any]) -> Iterator[list[str]]:
    for keys, label, unit in _list_rows(scope):
        cells = [
            _show(_get(rates, *keys), unit) if _reads(reader, scope) else "–"
            for reader, rates in readers.items()
        ]
        yield [label, *cells]


def _reads(reader: str, scope: str) -> bool:
    """Whether a reader reads the files of a format; a package may hold several formats."""
    if scope == "all":
        return READERS[reader] == FORMATS
    return scope in READERS[reader] or scope not in FORMATS


def _list_rows(scope: str) -> Iterator[tuple[Sequence[str], str, str]]:
    """Yield the keys of a value, its label and its unit."""
    for name, label in OFFERED.items():
        yield ("offered", scope, name), label, ""
    for name, label in ANSWERS.items():
        yield ("answers", scope, name), label, " %"
    for name, label in BLOCKS.items():
        yield ("answers", scope, "blocks", name), label, ""
    yield ("superscripts", scope), "right super- and subscripts, drawn", ""
    yield ("seconds", scope), "seconds to read", ""
    if scope == "html":
        yield ("paths",), "right heading paths, drawn", ""
    if scope == "pdf":
        yield ("pdf", "joined_percent"), "words that lost a space", " %"
        yield ("pdf", "joined_percent_of_worst_file"), "the same in the worst file", " %"
        yield ("pdf", "running_heads_in_sentences"), "sentences with a running head", ""


def _write_cost(result: dict[str, Any]) -> str:
    lines = []
    if "time" in result:
        lines += ["| `index add` | before | rejoinder | ratio |", "| --- | ---: | ---: | ---: |"]
        for group, item in result["time"]["indexing"].items():
            seconds = [f"{item[name]['seconds']:,.1f} s" for name in ("before", "rejoinder")]
            label = f"{group.replace('_', ' ')}, {item['files']:,} files"
            lines.append(_join([label, *seconds, f"{item['ratio']:.2f}"]))
    if "memory" in result:
        if not lines:
            lines += ["| | before | rejoinder | |", "| --- | ---: | ---: | ---: |"]
        for name, item in result["memory"].items():
            label = f"100 MB of text, {name.replace('_', ' ')}: memory"
            ratio = f"{item['rejoinder'] / item['before']:.2f}"
            lines.append(
                _join([label, f"{item['before']:,} MB", f"{item['rejoinder']:,} MB", ratio])
            )
    return "".join(f"{line}\n" for line in ["", *lines]) if lines else ""


def _join(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _get(rates: Any, *keys: str) -> Any:
    for key in keys:
        rates = rates.get(key) if isinstance(rates, dict) else None
    return rates


def _show(value: Any, unit: str) -> str:
    if isinstance(value, dict):
        return f"{value['right']} of {value['drawn']}"
    return "–" if value is None else f"{value:,}{unit}"
