"""Write the tables of the docs that are made of kept results, from those results.

Usage: python docs/make_tables.py [--check]

A table follows a comment with its name, `<!-- make_tables.py: NAME -->`, and ends at the next
blank line.  The kept results are what `rejoinder reproduce --json` and the scripts in benchmarks/
printed; the rows of a journal are counted.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent
RESULTS = DOCS.parent / "benchmarks" / "results"
MARK = re.compile(r"(<!-- make_tables\.py: (\S+) -->\n\n)((?:\|.*\n)+)")
MINUS, DASH = "\N{MINUS SIGN}", "\N{EN DASH}"
SETS = ("squad-train-part:dev", "squad-v2:dev", "wikiqa:dev", "wikiqa:test", "selqa:dev")
Table = Iterator[list[str]]


def main() -> None:
    new = {page: rewrite(page.read_text(encoding="utf-8")) for page in DOCS.glob("**/*.md")}
    changed = [page for page, text in new.items() if text != page.read_text(encoding="utf-8")]
    if "--check" not in sys.argv[1:]:
        for page in changed:
            page.write_text(new[page], encoding="utf-8")
    elif changed:
        names = ", ".join(sorted(str(page.relative_to(DOCS.parent)) for page in changed))
        sys.exit(f"{names}: tables differ from the results; run python docs/make_tables.py")


def rewrite(text: str) -> str:
    """Return the text of a page with its tables made anew."""
    return MARK.sub(lambda found: found[1] + "\n".join(draw(TABLES[found[2]]())) + "\n", text)


def draw(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table; the first row is its header."""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(row)} |".replace("|  |", "| |")
        if not number:
            yield "|" + "---|" * len(row)


def read(name: str) -> Any:
    """Return a result, or the rows of a journal."""
    text = (RESULTS / name).read_text(encoding="utf-8")
    return list(map(json.loads, text.splitlines())) if name.endswith(".jsonl") else json.loads(text)


def list_seeds() -> Table:
    """Yield for each kept table which rows were trained how often."""
    yield ["result", "table", "seeds", "rows"]
    for path in sorted(RESULTS.glob("reproduce-*.json*")):
        counts: dict[str, dict[str, int]] = {}
        for table, row, seeds in _count(read(path.name)):
            counts.setdefault(table, {})[row] = seeds
        for table, rows in counts.items():
            for seeds in sorted({*rows.values()}, reverse=True):
                names = [f"`{row}`" for row, own in rows.items() if own == seeds]
                link = f"[{path.name}](../benchmarks/results/{path.name})"
                yield [link, table, str(seeds), ", ".join(names)]


def _count(result: Any) -> Iterator[tuple[str, str, int]]:
    """Yield table, row and number of seeds of a result; nothing for costs."""
    if isinstance(result, dict):
        quality = result.get("quality", ())
        yield from {("context", item["row"], item["seeds"]): None for item in quality}
        return
    journal: dict[tuple[str, str, str], set[int]] = {}
    for item in result:
        for row in item.get("rows", ()):
            yield item["table"], f"{row['model']}/{row['loss']}/{row['head']}", row["seeds"]
        if "seed" in item:
            made = item.get("ingredients", {})
            given = [made[name] for name in ("vectors", "recipe") if name in made]
            kept = [one for one in given if one not in ("static-vectors", "default")]
            note = f" ({', '.join(kept)})" if kept else ""
            journal.setdefault((item["table"], item["row"], note), set()).add(item["seed"])
    for (table, row, note), seeds in journal.items():
        yield table, row + note, len(seeds)


def show_wikiqa() -> Table:
    """Yield Table 4 of the Cosinet paper, without the included weights."""
    (table,) = read("reproduce-wikiqa.json")
    head = ["MAP published", "MAP measured", "MRR published", "MRR measured", "P@1", "parameters"]
    yield ["model", "loss", "head", *head]
    for row in table["baselines"]:
        own, theirs = row["measured"], row["published"]
        pairs = [f"{source[name]:.2f}" for name in ("MAP", "MRR") for source in (theirs, own)]
        yield [row["scorer"], DASH, DASH, *pairs, f"{own['P@1']:.2f}", DASH]
    for row in table["rows"]:
        if row["model"].startswith("shipped"):
            continue
        cells = [row["model"], row["loss"], row["head"]]
        for name in ("MAP", "MRR"):
            published = row["published"].get(name)
            cells.append(DASH if published is None else f"{published:.2f}")
            cells.append(_deviate(row["measured"][name], row["deviations"][name]))
        cells.append(_deviate(row["measured"]["P@1"], row["deviations"]["P@1"]))
        yield [*cells, f"{row['parameters']:,}"]


def show_wikiqa_gains() -> Table:
    """Yield what the recurrent heads gain on WikiQA."""
    (table,) = read("reproduce-wikiqa.json")
    yield ["model", "head over none", "MAP gained", "95 % interval", "p"]
    for gain in table["gains"]:
        model, _, head = gain["row"].split("/")
        low, high = (f"{100 * gain['interval'][name]:+.2f}" for name in ("low", "high"))
        yield [
            model,
            head,
            f"{100 * gain['mean']:+.2f}",
            f"{low} to {high}",
            f"{gain['p_value']:.4f}",
        ]


def show_context() -> Table:
    """Yield P@1 of the forms of context on each test set."""
    quality = _group_context()
    first = next(iter(quality.values()))
    yield ["", "seeds", *(f"{name} ({first[name]['questions']})" for name in SETS)]
    for row, sets in quality.items():
        seeds = sets[SETS[0]]["seeds"]
        cells = [
            _deviate(item["means"]["P@1"], item["deviations"]["P@1"] if seeds > 1 else None)
            for item in (sets[name] for name in SETS)
        ]
        yield [row, str(seeds), *cells]


def show_context_gains() -> Table:
    """Yield the gains in P@1 over the row without context."""
    yield ["P@1 gained", *SETS]
    for row, sets in _group_context().items():
        gains = [sets[name]["gain"] for name in SETS]
        if all(gains):
            yield [row, *(_show_gain(gain) for gain in gains)]


def _group_context() -> dict[str, dict[str, Any]]:
    """Return the qualities of each row by test set."""
    rows: dict[str, dict[str, Any]] = {}
    for item in read("reproduce-context.json")["quality"]:
        rows.setdefault(item["row"], {})[item["dataset"]] = item
    return rows


def show_published_sizes() -> Table:
    """Yield what reading, evaluating and exporting files of the published sizes took."""
    yield ["task", "questions", "candidates", "seconds", "peak MB"]
    for row in read("published_sizes.json")["rows"]:
        counts = [f"{row[name]:,}" for name in ("questions", "candidates")]
        yield [row["task"], *counts, f"{row['seconds']:.0f}", str(row["peak_mb"])]


def _deviate(mean: float, deviation: float | None) -> str:
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"


def _show_gain(gain: dict[str, Any]) -> str:
    mean, low, high = (
        f"{100 * value:+.2f}" for value in (gain["mean"], *gain["interval"].values())
    )
    return f"{mean} ({low} to {high})".replace("-", MINUS)


TABLES: dict[str, Callable[[], Table]] = {
    "seeds": list_seeds,
    "wikiqa": show_wikiqa,
    "wikiqa-gains": show_wikiqa_gains,
    "context": show_context,
    "context-gains": show_context_gains,
    "published-sizes": show_published_sizes,
}
"""By the names in the pages."""


if __name__ == "__main__":
    main()
