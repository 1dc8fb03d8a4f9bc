"""Compare small rerankers and answer engines with ours on a CPU: quality beside cost.

Usage: python -m benchmarks.compare_all --packages
       python -m benchmarks.compare_all --install-sizes
       python -m benchmarks.compare_all --data DATA --manuals FOLDER --weights WEIGHTS --cache CACHE
           [--set NAME]... [--contender NAME]... [--threads N]... [--questions 300]
           [--minutes 150] [--embed-minutes 30] [--again] [--page docs/comparison.md]
       python -m benchmarks.compare_all --page docs/comparison.md

Sets, of 300 questions drawn with a fixed seed, or all if there are about as many or fewer:

    wikiqa, trecqa, squad, selqa    rank the sentences of one document (P@1, MAP)
    pooled, manuals                 answer over a corpus (first answer right, right among five):
                                    those of benchmarks.open_corpus, the answerable questions

Every contender gets the same sentences and is set up as its own documentation says; the page prints
its settings.  It runs once for each set on one thread and once on two, in a process of its own that
is limited to as many cores, so that its peak memory and its cold start, from the start of the
process to the first answer, are its own; an earlier process has put its files into the disk's
cache.  After five questions to warm up, each question is timed by itself.  Over a corpus, the time
is that of one answer; our engine is asked again for five, which has a column of its own.

WEIGHTS holds `ms-marco-minilm-l12` and `bge-small`, as benchmarks.open_corpus says;
all-MiniLM-L6-v2 is a package (`rejoinder train static-vectors` names it).  --packages installs what
the environment lacks into environments of its own, below .venvs, from pinned requirements.
--install-sizes installs each contender's packages into an empty environment to measure them.
Contenders that lack something are left out, as standard error and the page say.  Embeddings are
computed once and kept in CACHE; an encoder that would need more than --embed-minutes for a corpus
is left out of it.

An interrupted run continues with the task that it was doing (--again starts over); another source
of rejoinder starts another run.  After --minutes no other task is begun.  About two hours on two
idle cores.
"""

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.citing import write_page
from benchmarks.common import cache_bytecode, describe_machine
from benchmarks.comparison.contenders import CONTENDERS
from benchmarks.comparison.costs import (
    find_missing,
    install_packages,
    measure_install_sizes,
    measure_weights,
    name_packages,
)
from benchmarks.comparison.measure import THREADS, Run, measure_sets
from benchmarks.comparison.page import BEGIN, END, draw, render
from benchmarks.comparison.sets import CORPORA, DOCUMENTS, QUESTIONS, read_sets
from benchmarks.comparison.summary import describe_contenders, summarize
from benchmarks.manuals.readers import ROOT
from rejoinder.storage.journal import append_journal

FOLDER = ROOT / "benchmarks" / "results"
RESULTS = FOLDER / "comparison.json"
SIZES = FOLDER / "comparison_sizes.json"
SETS = (*DOCUMENTS, *CORPORA)


def main() -> None:
    options = parse_options()
    names = options.contender or list(CONTENDERS)
    if options.packages:
        install_packages(names)
    if options.install_sizes:
        for sizes in measure_install_sizes(names, {} if options.again else read_json(SIZES)):
            write_json(SIZES, sizes)
    if options.cache:
        write_json(options.results, measure(options, names))
    if options.page:
        publish(read_json(options.results), options.page)


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--packages", action="store_true", help="install what is lacking")
    parser.add_argument("--install-sizes", action="store_true")
    parser.add_argument("--data", type=Path, help="the data sets; $REJOINDER_DATA by default")
    parser.add_argument("--manuals", type=Path, default=Path("manuals"))
    parser.add_argument("--weights", type=Path, metavar="FOLDER")
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="measure, and keep work here")
    parser.add_argument("--set", choices=SETS, action="append", dest="sets")
    parser.add_argument("--contender", choices=CONTENDERS, action="append")
    parser.add_argument("--threads", type=int, choices=THREADS, action="append")
    parser.add_argument("--questions", type=int, default=QUESTIONS, metavar="N", help="of each set")
    parser.add_argument("--minutes", type=float, default=150.0, metavar="M")
    parser.add_argument("--embed-minutes", type=float, default=30.0, metavar="M")
    parser.add_argument("--again", action="store_true", help="forget an earlier run")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path, help="write the tables there, draw the pictures")
    options = parser.parse_args()
    if not (options.packages or options.install_sizes or options.cache or options.page):
        parser.error("give --cache to measure, or --page to write what was measured")
    is_part = options.sets or options.contender or options.threads
    if options.cache and options.results == RESULTS and (is_part or options.questions < QUESTIONS):
        parser.error("this measures a part: give --results, for a file of its own")
    return options


def measure(options: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Ask all contenders that are here; return the result."""
    weights = options.weights.resolve() if options.weights else None
    left_out = find_left_out(names, weights)
    chosen = [name for name in names if name not in left_out]
    run = open_run(options, weights)
    sets = read_sets(options.sets or SETS, options.data, options.manuals, options.questions)
    start, load_before = time.monotonic(), os.getloadavg()[0]
    threads = options.threads or THREADS
    try:
        failed = measure_sets(run, sets, chosen, threads)
    finally:
        minutes = (time.monotonic() - start) / 60
        own = {"key": f"run {time.time_ns()}", "minutes": minutes, "load_before": load_before}
        append_journal(run.journal, own)
    entries = run.read()
    described = {own.name: own.describe() for own in sets}
    for name in CORPORA.keys() & described.keys():
        text = (run.locate(name) / "sentences.jsonl").read_bytes()
        described[name]["sentences"] = text.count(b"\n")
    rows = [{"name": name, **own} for name, own in described.items()]
    runs = [entry for key, entry in entries.items() if key.startswith("run ")]
    sizes = read_json(SIZES)
    return {
        "machine": describe_machine(),
        "minutes": round(sum(own["minutes"] for own in runs), 1),
        "load_before": round(max(own["load_before"] for own in runs), 2),
        "sets": described,
        "contenders": describe_contenders(
            chosen,
            {
                name: sizes[key]
                for name in chosen
                if (key := name_packages(CONTENDERS[name].packages)) in sizes
            },
            {name: measure_weights(CONTENDERS[name], weights) for name in chosen},
        ),
        "left_out": left_out | failed,
        **summarize(entries, rows, threads),
    }


def find_left_out(names: Sequence[str], weights: Path | None) -> dict[str, str]:
    """Return what contenders lack, of those that lack something; say so."""
    left_out = {}
    for name in names:
        if missing := find_missing(CONTENDERS[name], weights):
            left_out[name] = f"without {' and '.join(missing)}"
            print(f"{name}: left out, {left_out[name]}", file=sys.stderr)
    return left_out


def open_run(options: argparse.Namespace, weights: Path | None) -> Run:
    """Return the place of a run: another source, or another number of questions, has another."""
    cache = options.cache.resolve()
    folder = cache / f"comparison-{compute_digest()}-{options.questions}"
    if options.again:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    cache_bytecode(cache / "bytecode")
    return Run(folder, cache, weights, options.embed_minutes, options.minutes)


def compute_digest() -> str:
    """Return a digest of our source and weights."""
    digest = sha256()
    for path in sorted((ROOT / "src" / "rejoinder").rglob("*")):
        if path.suffix == ".py" or path.name in ("manifest.json", "default.toml", "thorough.toml"):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def publish(result: Mapping[str, Any], page: Path) -> None:
    """Write the tables between the marks of the page, and draw the pictures beside it."""
    highlighting = read_json(FOLDER / "highlighting.json")
    citing = read_json(FOLDER / "citing.json")
    draw(result, page.parent)
    write_page(page, render(result, highlighting, citing), BEGIN, END)


def read_json(path: Path) -> dict[str, Any]:
    """Return the object of a file; an empty one if it does not exist."""
    if not path.exists():
        return {}
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
