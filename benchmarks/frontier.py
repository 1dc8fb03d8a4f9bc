"""Draw the accuracy of first answers against their time: ours and others, on the same questions.

Usage: python -m benchmarks.frontier --data DATA --weights WEIGHTS --cache CACHE
           [--questions 40] [--row NAME]... [--prepare] [--again]
           [--results benchmarks/results/frontier.json] [--page docs/speed.md]
       python -m benchmarks.frontier --page docs/speed.md

The corpus is `pooled` of benchmarks.open_corpus, with so many questions of each of its six sets; an
answer is right if it is the gold sentence.  Each contender answers one question after the other, on
as many threads as it likes.  Milliseconds are medians of wall-clock time:

    ours             the default cascade, without a budget, with each of `BUDGETS`, and reading
                     all candidates; `thorough`, as it is and reading all
    cross-encoder    our search, of which ms-marco-MiniLM-L-12-v2 reranks the first 5, 10 or 20:
                     int8 and fp32 in onnxruntime, one pair per call, and in sentence-transformers
    bi-encoders      the nearest neighbours among all sentences by exact search
    BM25             the library bm25s over all sentences, each with its title

WEIGHTS holds `ms-marco-minilm-l12` and `bge-small`, as benchmarks.open_corpus says.  CACHE keeps
the index and the embeddings, which --prepare computes, with all else that is done once; an
interrupted run continues with the contender that it was asking (--again measures all once more).
Contenders that lack something are left out.
Needs the extra `train`, the dependency group `bench` and matplotlib; run it on an idle machine.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.contenders import RERANKED, Setting, find_missing
from benchmarks.corpora.cross_encoder import CROSS_ENCODER, CrossEncoder, export_fp32
from benchmarks.corpora.embeddings import NearestNeighbours
from benchmarks.corpora.indexes import list_entries
from benchmarks.corpora.questions import Question
from benchmarks.manuals.readers import ROOT
from benchmarks.open_corpus import open_corpus
from rejoinder.cascade.cascade import Cascade
from rejoinder.cascade.loading import DEFAULT, THOROUGH, load
from rejoinder.engine.engine import Engine
from rejoinder.evaluation.calibration.stopping import with_stops
from rejoinder.evaluation.plots import plotting
from rejoinder.evaluation.significance import bootstrap_difference
from rejoinder.storage.journal import append_journal, read_journal

RESULTS = ROOT / "benchmarks" / "results" / "frontier.json"
PICTURE = "speed.png"
BEGIN, END = "<!-- frontier: begin -->\n", "<!-- frontier: end -->\n"
BUDGETS = (1, 2, 4, 6, 8, 10, 12, 15, 20, 30)
"""Milliseconds that our answers may take."""
DEPTHS = (5, 10, RERANKED)
"""How many candidates a cross-encoder reads."""
WARM_UP = 5

Answer = Callable[[str], str]
"""Returns the best sentence for a question."""


class Row(NamedTuple):
    """A contender: a point of the picture."""

    line: str
    """The points of a line are connected."""
    label: str
    make: Callable[[Setting], Answer]
    needs: str = ""
    """The row of benchmarks.open_corpus that needs the same."""
    module: str = "rejoinder"


def main() -> None:
    options = parse_options()
    if not options.weights:
        write_page(json.loads(options.results.read_text(encoding="utf-8")), options.page)
        return
    rows = [name for name in options.row or ROWS if is_there(name, options)]
    with open_corpus("pooled", options) as (index, content, questions):
        setting = Setting("pooled", index, content, options)
        if options.prepare:
            for name in rows:
                ROWS[name].make(setting)(questions[0].text)
            return
        journal = options.cache / f"frontier-{options.questions}.jsonl"
        if options.again:
            journal.unlink(missing_ok=True)
        known = {entry["row"]: entry["replies"] for entry in read_journal(journal)}
        for name in rows:
            if name not in known:
                print(name, file=sys.stderr)
                known[name] = list(measure(ROWS[name].make(setting), questions))
                append_journal(journal, {"row": name, "replies": known[name]})
    result = {
        "machine": describe_machine(),
        "questions": len(questions),
        "rows": summarize({name: known[name] for name in rows}),
    }
    options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(format_table(result))
    if options.page:
        write_page(result, options.page)


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--weights", type=Path, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, default=Path("open-corpus"))
    parser.add_argument("--questions", type=int, default=40, metavar="N", help="of each set")
    parser.add_argument("--row", choices=ROWS, action="append")
    parser.add_argument("--prepare", action="store_true", help="fill the cache, measure nothing")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write the table there, and draw the picture")
    parser.add_argument("--again", action="store_true", help="forget an earlier run")
    parser.set_defaults(typos=None, index=None, before=None)
    options = parser.parse_args()
    if not (options.weights or options.page):
        parser.error("give --weights to measure, or --page to write what was measured")
    return options


def is_there(name: str, options: argparse.Namespace) -> bool:
    """Whether this machine has what a row needs; say what it lacks."""
    row = ROWS[name]
    missing = find_missing(row.needs, options) if row.needs else []
    missing += [] if find_spec(row.module) else [row.module]
    if missing:
        print(f"{name}: left out, without {' and '.join(missing)}", file=sys.stderr)
    return not missing


def measure(answer: Answer, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    """Yield for each question whether the answer is right, and its milliseconds."""
    for question in questions[:WARM_UP]:
        answer(question.text)
    for question in questions:
        start = time.perf_counter()
        sentence = answer(question.text)
        milliseconds = 1000 * (time.perf_counter() - start)
        yield {
            "group": question.group,
            "is_right": question.accepts(sentence),
            "ms": round(milliseconds, 2),
        }


def summarize(replies: dict[str, list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return accuracy, its interval and percentiles for each row."""
    rows: dict[str, dict[str, Any]] = {}
    for name, own in replies.items():
        rights = [float(reply["is_right"]) for reply in own]
        interval = bootstrap_difference([0.0] * len(rights), rights)
        rows[name] = {
            "first": round(100 * mean(rights), 1),
            "interval": [round(100 * interval.low, 1), round(100 * interval.high, 1)],
            **get_percentiles([reply["ms"] for reply in own], 50, 95),
        }
        if "ours" in replies and name != "ours":
            ours = [float(reply["is_right"]) for reply in replies["ours"]]
            paired = bootstrap_difference(ours, rights)
            times = [a["ms"] / b["ms"] for a, b in zip(own, replies["ours"], strict=True)]
            rows[name]["against_ours"] = {
                "points": round(100 * (mean(rights) - mean(ours)), 1),
                "interval": [round(100 * paired.low, 1), round(100 * paired.high, 1)],
                "times_as_long": round(median(times), 2),
            }
    return rows


def format_table(result: dict[str, Any]) -> str:
    """Return the Markdown table of a result."""
    lines = [
        "| contender | first answer right, 95 % interval | points above ours | p50 ms | p95 ms |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for name, row in result["rows"].items():
        low, high = row["interval"]
        against = row.get("against_ours")
        above = "–"
        if against:
            above = "{:+.1f} ({:+.1f} to {:+.1f})".format(against["points"], *against["interval"])
        cells = f"{row['first']:.1f} ({low:.1f} to {high:.1f})", above
        times = f"{row['p50_ms']:.1f}", f"{row['p95_ms']:.1f}"
        lines.append(f"| {ROWS[name].label} | {' | '.join((*cells, *times))} |")
    return "\n".join(lines)


def write_page(result: dict[str, Any], page: Path) -> None:
    """Write the table between the marks of a page, and draw the picture beside it."""
    draw(result, page.with_name(PICTURE))
    before, begin, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        sys.exit(f"{page}: no lines {BEGIN.strip()} and {END.strip()}")
    content = f"\n![Accuracy of first answers against milliseconds]({PICTURE})\n\n"
    text = f"{before}{BEGIN}{content}{format_table(result)}\n\n{END}{after}"
    page.write_text(text, encoding="utf-8")


def draw(result: dict[str, Any], path: Path) -> None:
    """Draw accuracy against milliseconds; the points of a line differ in budget or depth."""
    lines: dict[str, list[dict[str, Any]]] = {}
    for name, row in result["rows"].items():
        lines.setdefault(ROWS[name].line, []).append(row)
    with plotting(path) as axes:
        for line, rows in lines.items():
            rows.sort(key=lambda row: row["p50_ms"])
            places = [row["p50_ms"] for row in rows], [row["first"] for row in rows]
            errors = [[row["first"] - row["interval"][0] for row in rows]]
            errors.append([row["interval"][1] - row["first"] for row in rows])
            axes.errorbar(*places, yerr=errors, fmt="o-", capsize=2, elinewidth=0.5, label=line)
        axes.set(
            xscale="log",
            xlabel="milliseconds per answer, median",
            ylabel="first answer right, %, with 95 % intervals",
        )


def make_ours(
    setting: Setting, name: str = DEFAULT, budget_ms: float | None = None, *, stops: bool = True
) -> Answer:
    """Make a cascade that comes with the package, with a budget, or without its stops."""
    cascade = load(name)
    assert isinstance(cascade, Cascade)
    engine = Engine(setting.index, cascade if stops else with_stops(cascade, {}))

    def answer(question: str) -> str:
        answers = engine.answer(question, budget_ms=budget_ms).answers
        return answers[0].sentence if answers else ""

    return answer


_reading_all = partial(make_ours, stops=False)


def make_reranked(setting: Setting, network: str, depth: int) -> Answer:
    """Make our search, of which the cross-encoder reranks the first."""
    score = open_network(setting, network)
    index = setting.index

    def answer(question: str) -> str:
        found = [hit.candidate for hit in index.search(question, depth)]
        if not found:
            return ""
        texts = [f"{item.document.title}: {item.text}" for item in found if item.document]
        scores = score(question, texts)
        return found[max(range(len(found)), key=lambda place: scores[place])].text

    return answer


def open_network(setting: Setting, network: str) -> Callable[[str, Sequence[str]], Sequence[float]]:
    """Return the function that scores pairs with a network."""
    folder = setting.options.weights / CROSS_ENCODER
    if network == "int8":
        return CrossEncoder(folder).score
    if network == "fp32":
        path = setting.options.cache / f"{CROSS_ENCODER}.fp32.onnx"
        if not path.exists():
            export_fp32(folder, path)
        return CrossEncoder(folder, path).score
    import sentence_transformers

    model: Any = sentence_transformers.CrossEncoder(str(folder), device="cpu")

    def score(question: str, texts: Sequence[str]) -> list[float]:
        scores: list[float] = model.predict([(question, text) for text in texts]).tolist()
        return scores

    return score


def make_nearest(setting: Setting, encoder: str) -> Answer:
    """Make the nearest neighbours by a bi-encoder."""
    entries = [entry for entry in list_entries(setting.index) if entry.may_answer]
    options = setting.options
    texts = [f"{entry.title}. {entry.text}" for entry in entries]
    nearest = NearestNeighbours(encoder, options.weights, options.cache, texts)
    return lambda question: entries[nearest.search(question, 1)[0]].text


def make_bm25(setting: Setting) -> Answer:
    """Make BM25 over sentences with their titles."""
    import bm25s

    entries = [entry for entry in list_entries(setting.index) if entry.may_answer]
    texts = [f"{entry.title}. {entry.text}" for entry in entries]
    index = bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False)

    def answer(question: str) -> str:
        words = bm25s.tokenize([question], stopwords="en", show_progress=False)
        (places,), _ = index.retrieve(words, k=1, show_progress=False)
        return entries[int(places[0])].text

    return answer


def _list_rows() -> Iterator[tuple[str, Row]]:
    ours = "rejoinder, default cascade"
    yield "ours", Row(ours, f"**{ours}**", make_ours)
    yield "ours-all", Row(f"{ours}, reading all", "the same, reading all", _reading_all)
    for budget in BUDGETS:
        label = f"the same, {budget} ms"
        yield f"ours-{budget}", Row(ours, label, partial(make_ours, budget_ms=budget))
    thorough = "rejoinder, thorough"
    yield "thorough", Row(thorough, f"**{thorough}**", partial(make_ours, name=THOROUGH))
    yield (
        "thorough-all",
        Row(
            f"{thorough}, reading all",
            "the same, reading all",
            partial(_reading_all, name=THOROUGH),
        ),
    )
    for name, where, module in (
        ("int8", "onnxruntime int8", "onnxruntime"),
        ("fp32", "onnxruntime fp32", "onnxruntime"),
        ("st", "sentence-transformers", "sentence_transformers"),
    ):
        line = f"ms-marco-MiniLM-L-12, {where}"
        for depth in DEPTHS:
            yield (
                f"{name}-{depth}",
                Row(
                    line,
                    f"{line}, {depth} candidates",
                    partial(make_reranked, network=name, depth=depth),
                    "reranked",
                    module,
                ),
            )
    for row, name, label in (
        ("bge", "bge-small", "bge-small-en-v1.5, nearest neighbour"),
        ("minilm", "minilm-l6", "all-MiniLM-L6-v2, nearest neighbour"),
    ):
        yield row, Row(label, label, partial(make_nearest, encoder=name), row)
    yield "bm25", Row("BM25, bm25s", "BM25, bm25s", make_bm25, "", "bm25s")


ROWS = dict(_list_rows())

if __name__ == "__main__":
    main()
