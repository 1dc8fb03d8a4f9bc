"""Grow one index to millions of sentences, and measure how its costs grow.

Usage: python -m benchmarks.growth FOLDER... --work WORK [--sentences 100000 1000000 5000000]
           [--documents 30] [--questions 200] [--scorer default]
           [--results benchmarks/results/growth.json] [--plot docs/growth.png]
       python -m benchmarks.growth --measure INDEX [--questions 200] [--scorer default]

The index holds the text of the files below the folders (the manuals of benchmarks/manuals, say),
then copies of it with other words (benchmarks/corpora/varied.py).  It grows part by part, each one
round of the text.  WORK keeps the index and a journal: a run that was interrupted goes on
with the part that it was adding, and a size that was measured is not measured again.  At 5 million
sentences it needs about 6 GB.

Measured at each size, with the questions about the manuals:

    seconds        of adding all parts so far
    size_mb        of each part of the index
    search         `Index.search`, in a new process
    answer         `Engine.answer` with the scorer, and its stages, in the same process
    memory         of that process: its own, and what it has mapped of files
    one_document   a file of 20 new sentences, added to an open index, found, and removed

The second form prints what is measured in a new process.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.varied import Corpus, read_pages
from benchmarks.index_speed import get_sizes, sample_questions, time_documents
from benchmarks.manuals.readers import ROOT
from rejoinder.cascade.loading import load
from rejoinder.documents.discovery import find_files
from rejoinder.engine.engine import RETRIEVED, Engine
from rejoinder.index.index import Index
from rejoinder.storage.journal import append_journal, read_journal

RESULTS = ROOT / "benchmarks" / "results" / "growth.json"
SENTENCES = (100_000, 1_000_000, 5_000_000)
PERCENTILES = (50, 95, 99)
MEMORY = {"own_mb": "RssAnon", "mapped_mb": "RssFile", "peak_mb": "VmHWM"}


def main() -> None:
    options = parse_options()
    if options.measure:
        print(json.dumps(measure_answers(options.measure, options.questions, options.scorer)))
        return
    options.work.mkdir(parents=True, exist_ok=True)
    growth = Growth(options)
    rows = [growth.measure(size) for size in sorted(options.sentences)]
    written = {"machine": describe_machine(), "scorer": options.scorer, "sizes": rows}
    options.results.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    print(format_table(rows))
    if options.plot:
        plot(options.plot, rows)


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--sentences", nargs="+", type=int, default=list(SENTENCES))
    parser.add_argument("--documents", type=int, default=30, help="added one by one")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--scorer", default="default")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--measure", type=Path, metavar="INDEX")
    options = parser.parse_args()
    if not options.measure and not (options.folders and options.work):
        parser.error("give folders with text, and --work")
    return options


class Growth:
    """An index that grows, with a journal of its parts and of the sizes that were measured."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._folder: Path = options.work / "index"
        self._journal: Path = options.work / "growth.jsonl"
        self._rows = read_journal(self._journal)
        self._pages = read_pages(find_files(options.folders))

    def measure(self, sentences: int) -> dict[str, Any]:
        """Return the figures at a size; the index grows until it has it."""
        known = [row["size"] for row in self._rows if row.get("target") == sentences]
        if known:
            return dict(known[0])
        parts = self._grow(sentences)
        with Index(self._folder) as index:
            counts = index.count()
        row = {
            "sentences": counts.sentences,
            "documents": counts.documents,
            "seconds": round(sum(part["seconds"] for part in parts), 1),
            "size_mb": get_sizes(self._folder),
            **self._measure_answers(),
            "one_document": self._measure_documents(),
        }
        self._append({"target": sentences, "size": row})
        return row

    def _grow(self, sentences: int) -> list[dict[str, Any]]:
        """Add parts until the index has so many sentences; return all of them."""
        parts = [row for row in self._rows if "part" in row]
        total = sum(part["sentences"] for part in parts)
        for number in count(len(parts)):
            if total >= sentences:
                return parts
            parts.append(self._add_part(number, sentences - total))
            total += parts[-1]["sentences"]
        raise AssertionError

    def _add_part(self, number: int, missing: int) -> dict[str, Any]:
        # A part that was interrupted is written again, with the same text: the seed is its number.
        corpus = Corpus(self._pages, seed=number)
        text = self._options.work / f"part-{number:03d}"
        shutil.rmtree(text, ignore_errors=True)
        size = min(missing, corpus.count_sentences())
        corpus.write(text, size, rounds=number)
        with Index(self._folder, create=True) as index:
            before = index.count().sentences
            start = time.perf_counter()
            index.add([text])
            seconds = time.perf_counter() - start
            added = index.count().sentences - before
        shutil.rmtree(text)
        part = {"part": number, "sentences": max(added, size), "seconds": round(seconds, 2)}
        print(f"part {number}: {added:,} sentences in {seconds:.0f} s", file=sys.stderr)
        self._append(part)
        return part

    def _measure_answers(self) -> dict[str, Any]:
        options = self._options
        command = [sys.executable, "-m", "benchmarks.growth", "--measure", str(self._folder)]
        command += ["--questions", str(options.questions), "--scorer", options.scorer]
        result = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        return dict(json.loads(result.stdout))

    def _measure_documents(self) -> dict[str, Any]:
        more = self._options.work / "more"
        shutil.rmtree(more, ignore_errors=True)
        more.mkdir()
        corpus = Corpus(self._pages, seed=len(self._rows))
        paths = [
            corpus.write_document(more / f"{number}.txt")
            for number in range(2 * self._options.documents)
        ]
        times = time_documents(self._folder, paths, sample_questions(self._options.questions))
        with Index(self._folder) as index:  # as it was
            index.remove(paths)
        return times

    def _append(self, row: dict[str, Any]) -> None:
        append_journal(self._journal, row)
        self._rows.append(row)


def measure_answers(folder: Path, questions: int, scorer: str) -> dict[str, Any]:
    """Return the times of searches and answers, and the memory of this process."""
    asked = sample_questions(questions)
    stages: dict[str, list[float]] = defaultdict(list)
    with Index(folder) as index:
        start = time.perf_counter()
        engine = Engine(index, load(scorer))
        first = engine.answer(asked[0])
        opened = 1000 * (time.perf_counter() - start)
        search = _time(lambda text: index.search(text, RETRIEVED), asked)
        times = []
        for text in asked:
            start = time.perf_counter()
            answers = engine.answer(text)
            times.append(1000 * (time.perf_counter() - start))
            for stage in answers.trace:
                stages[stage.scorer].append(stage.milliseconds)
    assert first.answers
    return {
        "first_answer_ms": round(opened, 1),
        "search": search,
        "answer": get_percentiles(times, *PERCENTILES),
        "stages_p50_ms": {name: round(float(np.median(own)), 2) for name, own in stages.items()},
        "memory": read_memory(),
    }


def _time(function: Any, texts: Iterable[str]) -> dict[str, float]:
    times = []
    for text in texts:
        start = time.perf_counter()
        function(text)
        times.append(1000 * (time.perf_counter() - start))
    return get_percentiles(times, *PERCENTILES)


def read_memory() -> dict[str, float]:
    """Return the memory of this process in MB, on Linux."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields = {line.partition(":")[0]: line.split()[1] for line in lines if line.endswith(" kB")}
    return {name: round(int(fields[field]) / 1e3, 1) for name, field in MEMORY.items()}


def format_table(rows: list[dict[str, Any]]) -> str:
    """Return the table, with the ratio of the largest to the smallest in its last row."""
    columns = {
        "sentences": lambda row: row["sentences"],
        "indexed in, s": lambda row: row["seconds"],
        "size, MB": lambda row: sum(row["size_mb"].values()),
        "memory, MB": lambda row: row["memory"]["own_mb"],
        "mapped, MB": lambda row: row["memory"]["mapped_mb"],
        "search p50, ms": lambda row: row["search"]["p50_ms"],
        "p99": lambda row: row["search"]["p99_ms"],
        "answer p50, ms": lambda row: row["answer"]["p50_ms"],
        "answer p99": lambda row: row["answer"]["p99_ms"],
        "one document more p50, ms": lambda row: row["one_document"]["add"]["p50_ms"],
        "p95": lambda row: row["one_document"]["add"]["p95_ms"],
    }
    lines = [list(columns), ["---:"] * len(columns)]
    lines += [[f"{show(row):,.0f}" for show in columns.values()] for row in rows]
    if len(rows) > 1:
        lines.append([f"×{show(rows[-1]) / show(rows[0]):.1f}" for show in columns.values()])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plot(path: Path, rows: list[dict[str, Any]]) -> None:
    """Draw milliseconds against sentences."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    sizes = [row["sentences"] for row in rows]
    for what, quantile in (("answer", "p99"), ("answer", "p50"), ("search", "p50")):
        axes.plot(
            sizes, [row[what][f"{quantile}_ms"] for row in rows], "o-", label=f"{what} {quantile}"
        )
    added = [row["one_document"]["add"]["p50_ms"] for row in rows]
    axes.plot(sizes, added, "o-", label="one document more p50")
    axes.set(xscale="log", xlabel="sentences", ylabel="ms", ylim=(0, None))
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
