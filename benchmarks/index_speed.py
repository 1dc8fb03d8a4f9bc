"""Measure indexes of several sizes: building, searching, adding and removing one document.

Usage: python -m benchmarks.index_speed FOLDER... [--sentences 100000 1000000] [--documents 30]
           [--questions 200] [--embed BUNDLE] [--compare] [--scorer SCORER] [--sidecar BUNDLE]
           [--results benchmarks/results/index_speed.json] [--page docs/index.md]

The indexes hold the text of the files below the folders (the manuals of benchmarks/manuals, say)
as Markdown files; where that is too little, copies with other words (benchmarks/corpora/varied.py).
Questions are those about the manuals.  A document more is a file of 20 new sentences:

    add             `Index.add` in an index that is open
    search          the first search of the same index thereafter
    search_reader   the first search of another process's index, which reads the change
    remove          `Index.remove`
    command         an index is opened, the file is added, and the index is closed

Sentences have vectors, of the shipped encoder or of --embed.  With --compare, each index is
measured once more without, and the ratios are printed; each is then built twice, in the order
without, with, with, without, so that a machine that slows down or speeds up favours neither, and
`add` is the mean.

With --scorer the questions are answered as well, and with --sidecar once more after the index has
stored that bundle's rows.  Times are wall-clock times, beside CPU times, which other load on the
machine changes less.  Prints the table of the page and writes the results.
"""

import argparse
import json
import os
import random
import re
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.common import describe_machine, get_percentiles
from benchmarks.corpora.questions import MANUALS_DEV, read_manual_questions
from benchmarks.corpora.varied import Corpus, read_pages
from benchmarks.manuals.readers import ROOT
from rejoinder.cascade.loading import load
from rejoinder.documents.discovery import find_files
from rejoinder.engine.engine import RETRIEVED, Engine
from rejoinder.index.index import Index
from rejoinder.models.registry import open_sentence_encoder, open_sidecar

RESULTS = ROOT / "benchmarks" / "results" / "index_speed.json"
ALTERNATING = [False, True, True, False]
BEGIN, END = "<!-- index speed: begin -->\n", "<!-- index speed: end -->\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--sentences", nargs="+", type=int, default=[100_000, 1_000_000])
    parser.add_argument("--documents", type=int, default=30, help="added one by one")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--embed", type=Path, metavar="BUNDLE")
    parser.add_argument("--compare", action="store_true", help="measure without vectors too")
    parser.add_argument("--scorer")
    parser.add_argument("--sidecar", type=Path, metavar="BUNDLE")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write the table there")
    options = parser.parse_args()
    questions = sample_questions(options.questions)
    corpus = Corpus(read_pages(find_files(options.folders)))
    indexes = []
    for size in options.sentences:
        with tempfile.TemporaryDirectory() as temporary:
            text = corpus.write(Path(temporary, "text"), size)
            builds: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
            for number, has_vectors in enumerate(ALTERNATING if options.compare else [True]):
                folder = Path(temporary, str(number))
                result = build_index(folder, text, options.embed, has_vectors=has_vectors)
                if not builds[has_vectors]:
                    result |= measure(folder, corpus, questions, options)
                shutil.rmtree(folder)
                builds[has_vectors].append(result)
            indexes += [average_builds(results) for results in builds.values() if results]
    written = {"indexes": indexes, "machine": describe_machine()}
    options.results.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    table = format_table(indexes)
    print(table)
    if options.compare:
        print_ratios(indexes)
    if options.page:
        write_page(options.page, table)


def measure(
    folder: Path, corpus: Corpus, questions: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    with Index(folder) as index:
        result: dict[str, Any] = {"search": time_searches(index, questions)}
        if options.scorer:
            result["answer"] = time_answers(index, options.scorer, questions)
        if options.sidecar:
            result["sidecar"] = store_sidecar(index, options.sidecar)
            result["sidecar"]["answer"] = time_answers(index, options.scorer, questions)
    more = folder.with_name(f"{folder.name}-more")
    more.mkdir()
    # Text is read in this process: others start one, whatever the size of the index.
    paths = [corpus.write_document(more / f"{n}.txt") for n in range(2 * options.documents)]
    result["one_document"] = time_documents(folder, paths, questions)
    return result


def sample_questions(count: int) -> list[str]:
    texts = [question.text for question in read_manual_questions(MANUALS_DEV)]
    return random.Random(0).sample(texts, min(count, len(texts)))


def build_index(
    folder: Path, text: Path, bundle: Path | None, *, has_vectors: bool
) -> dict[str, Any]:
    encoder = open_sentence_encoder(bundle) if bundle and has_vectors else None
    start, used = time.perf_counter(), _get_cpu_seconds()
    with Index(folder, create=True, encoder=encoder) as index:
        if not has_vectors:
            index.drop_vectors()
        index.add([text])
    seconds, used = time.perf_counter() - start, _get_cpu_seconds() - used
    start = time.perf_counter()
    with Index(folder) as index:
        opened = time.perf_counter() - start
        counts, candidates = index.count(), index.store.count_candidates()
    return {
        "documents": counts.documents,
        "sentences": counts.sentences,
        "candidates": candidates,
        "add_s": round(seconds, 1),
        "add_cpu_s": round(used, 1),
        "open_ms": round(1000 * opened, 1),
        "size_mb": get_sizes(folder),
    }


def average_builds(builds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the first of the builds with the mean of their times."""
    means = {key: round(mean(build[key] for build in builds), 1) for key in ("add_s", "add_cpu_s")}
    return builds[0] | means


def time_searches(index: Index, questions: list[str]) -> dict[str, float]:
    index.search(questions[0], RETRIEVED)  # loads the models
    clock = Clock()
    for question in questions:
        with clock.timing("search"):
            index.search(question, RETRIEVED)
    return clock.summarize()["search"]


def time_answers(index: Index, scorer: str | None, questions: list[str]) -> dict[str, Any]:
    engine = Engine(index, load(scorer) if scorer else None)
    engine.answer(questions[0], top=3)
    clock = Clock()
    for question in questions:
        with clock.timing("answer"):
            engine.answer(question, top=3)
    return {"scorer": scorer or "retrieval-order", **clock.summarize()["answer"]}


def store_sidecar(index: Index, bundle: Path) -> dict[str, Any]:
    sidecar = open_sidecar(bundle)
    start = time.perf_counter()
    index.store_sidecar(sidecar)
    seconds = round(time.perf_counter() - start, 1)
    return {"store_s": seconds, "size_mb": get_sizes(index.folder)["sidecar"]}


def time_documents(folder: Path, paths: list[Path], questions: list[str]) -> dict[str, Any]:
    """Add files one by one, half of them with an index that is opened for each."""
    clock = Clock()
    half = len(paths) // 2
    with Index(folder) as index, Index(folder) as reader:
        for path, question in zip(paths[:half], questions * half, strict=False):
            with clock.timing("add"):
                index.add([path])
            with clock.timing("search"):
                index.search(question, RETRIEVED)
            with clock.timing("search_reader"):
                reader.search(question, RETRIEVED)
        for path in paths[:half]:
            with clock.timing("remove"):
                index.remove([path])
    for path in paths[half:]:
        with clock.timing("command"), Index(folder) as index:
            index.add([path])
    return clock.summarize()


class Clock:
    """Times of named actions, in milliseconds."""

    def __init__(self) -> None:
        self._wall: dict[str, list[float]] = defaultdict(list)
        self._cpu: dict[str, list[float]] = defaultdict(list)

    @contextmanager
    def timing(self, name: str) -> Iterator[None]:
        """Time the block."""
        start, used = time.perf_counter(), time.process_time()
        yield
        self._wall[name].append(1000 * (time.perf_counter() - start))
        self._cpu[name].append(1000 * (time.process_time() - used))

    def summarize(self) -> dict[str, dict[str, float]]:
        """Return percentiles for each name."""
        return {
            name: {
                **get_percentiles(times, 50, 95),
                "cpu_p50_ms": get_percentiles(self._cpu[name], 50)["p50_ms"],
            }
            for name, times in self._wall.items()
        }


def get_sizes(folder: Path) -> dict[str, float]:
    """Return the size of each part of an index, in MB: `index` is the SQLite file."""
    sizes: dict[str, float] = defaultdict(float)
    for path in folder.rglob("*"):
        if path.is_file():
            part = re.split(r"[-.]", path.relative_to(folder).parts[0])[0]
            sizes[part] += path.stat().st_size / 1e6
    return {part: round(size, 1) for part, size in sorted(sizes.items()) if size}


def _get_cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "sentences": lambda item: f"{item['sentences']:,}",
    "documents": lambda item: f"{item['documents']:,}",
    "vectors": lambda item: "yes" if "vectors" in item["size_mb"] else "no",
    "indexed in": lambda item: f"{item['add_s']:.0f} s",
    "size": lambda item: f"{_sum_sizes(item):.0f} MB",
    "opened in": lambda item: f"{item['open_ms']:.0f} ms",
    "search p50": lambda item: f"{item['search']['p50_ms']:.1f} ms",
    "p95": lambda item: f"{item['search']['p95_ms']:.1f} ms",
    "one document more": lambda item: f"{item['one_document']['add']['p50_ms']:.0f} ms",
    "opened, added, closed": lambda item: f"{item['one_document']['command']['p50_ms']:.0f} ms",
    "searched thereafter": lambda item: f"{item['one_document']['search']['p50_ms']:.1f} ms",
    "one document less": lambda item: f"{item['one_document']['remove']['p50_ms']:.0f} ms",
}


def format_table(indexes: list[dict[str, Any]]) -> str:
    rows = [list(COLUMNS), ["---"] * len(COLUMNS)]
    rows += [[show(item) for show in COLUMNS.values()] for item in indexes]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def print_ratios(indexes: list[dict[str, Any]]) -> None:
    for own, plain in zip(indexes[::2], indexes[1::2], strict=True):
        time_, size = own["add_s"] / plain["add_s"], _sum_sizes(own) / _sum_sizes(plain)
        cpu = own["add_cpu_s"] / plain["add_cpu_s"]
        print(f"{own['sentences']:,} sentences, vectors to none: ", end="")
        print(f"time {time_:.2f}, CPU {cpu:.2f}, disk {size:.2f}")


def _sum_sizes(item: dict[str, Any]) -> float:
    return float(sum(item["size_mb"].values()))


def write_page(page: Path, table: str) -> None:
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    page.write_text(before + BEGIN + table + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
