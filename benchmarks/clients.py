"""Measure the server with 1, 4 and 16 clients, beside that of another checkout.

Usage: python -m benchmarks.clients --data DATA [--other OTHER] [--seconds 10] [--rounds 3]
           [--clients 1 4 16] [--setting 1x1 1x2 2x1 2x2] [--page docs/server.head.md]
           [--results benchmarks/results/clients.json]
       python -m benchmarks.clients --page docs/server.head.md

OTHER is a clone of this repository at another commit, prepared as for benchmarks.regression.  Each
tree indexes the corpus `pooled` of benchmarks.open_corpus.  A setting is a number of workers and
of threads, `2x1`: so many worker processes, each of which believes that it may use so many cores.
One worker with two threads is one process that computes; two workers with one thread are two.  In
every round both trees serve each setting in turn, and the clients of this process post, each the
next request once it has its reply:

    answer   a question to /v1/answer, another one each time
    rerank   a question and 50 sentences to /v2/rerank, others each time

Results have requests per second, p50 and p99 in milliseconds, the CPU time of a request in all
processes of the server, their memory, in which pages that several share count once (medians over
the rounds), and errors.  CPU time can be compared on a machine that does other work, too.  Linux.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.common import (
    cache_bytecode,
    describe_machine,
    list_processes,
    measure_cpu,
    measure_shared_memory,
    serving,
)
from benchmarks.engines import write_between
from benchmarks.regression import BUILD, ROOT, get_commit, make_environment, run, write_corpus
from benchmarks.serving import post_all

RESULTS = ROOT / "benchmarks" / "results" / "clients.json"
BEGIN, END = "<!-- clients: begin -->\n", "<!-- clients: end -->\n"
CLIENTS = (1, 4, 16)
SENTENCES = 50
WARM_UP_SECONDS = 1.0
CORES = "BENCHMARK_CORES"
BELIEVED = f"""
import os
os.sched_getaffinity = lambda _: set(range(int(os.environ["{CORES}"])))
"""
"""Makes processes use fewer or more threads than there are cores, in any version of the package:
Python runs it in the server and, because they get the same path, in its workers."""

Rows = list[dict[str, Any]]


class Setting(NamedTuple):
    """How a server computes."""

    workers: int
    threads: int

    def __str__(self) -> str:
        return f"{self.workers}x{self.threads}"


class Requests(NamedTuple):
    """Requests of one kind, which clients post one after the other."""

    path: str
    bodies: Sequence[Mapping[str, Any]]


def main() -> None:
    options = parse_options()
    if options.data:
        result = measure(options)
        options.results.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    else:
        result = json.loads(options.results.read_text(encoding="utf-8"))
    table = format_table(result["rows"])
    print(table)
    if options.page:
        write_between(options.page, BEGIN, END, f"\n{table}\n\n")


def parse_options() -> argparse.Namespace:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=rest, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    parser.add_argument("--other", type=Path, help="another checkout")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS))
    parser.add_argument("--setting", nargs="+", type=parse_setting, default=list_settings())
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    if not (options.data or options.page):
        parser.error("give --data to measure, or --page to write a table again")
    return options


def parse_setting(text: str) -> Setting:
    """Return the setting `WORKERSxTHREADS`."""
    workers, threads = map(int, text.split("x"))
    if workers < 1 or threads < 1:
        raise ValueError(text)
    return Setting(workers, threads)


def list_settings() -> list[Setting]:
    """Return one worker and one for each core, each with one thread and one for each core."""
    counts = sorted({1, os.cpu_count() or 1})
    return [Setting(workers, threads) for workers in counts for threads in counts]


def measure(options: argparse.Namespace) -> dict[str, Any]:
    trees = {"this": ROOT}
    if options.other:
        trees["other"] = options.other.resolve()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        cache_bytecode(folder / "bytecode")
        write_corpus(folder, options.data)
        rows = compare(trees, folder, options)
    return {
        "seconds": options.seconds,
        "rounds": options.rounds,
        "commits": {name: get_commit(tree) for name, tree in trees.items()},
        "machine": describe_machine(),
        "rows": rows,
    }


def compare(trees: Mapping[str, Path], folder: Path, options: argparse.Namespace) -> Rows:
    """Return a row for each tree, setting, kind of request and number of clients.

    Args:
        folder: holds `pooled.jsonl` and `questions.json`, as benchmarks.regression writes them.
    """
    indexes = {name: build_index(tree, folder, name) for name, tree in trees.items()}
    kinds = read_requests(folder)
    found: dict[tuple[Any, ...], Rows] = {}
    for number in range(options.rounds):
        names = list(trees) if number % 2 else list(trees)[::-1]
        for setting in options.setting:
            for name in names:
                with serve(trees[name], indexes[name], setting) as (address, pid):
                    for row in load(address, pid, kinds, options):
                        key = (name, setting, row["request"], row["clients"])
                        found.setdefault(key, []).append(row)
    order = sorted(found, key=lambda key: (key[2], key[3], key[1], key[0] != "this"))
    return [
        {"tree": name, **setting._asdict(), **summarize(found[name, setting, request, clients])}
        for name, setting, request, clients in order
    ]


def build_index(tree: Path, folder: Path, name: str) -> Path:
    """Return the tree's own index of the corpus."""
    (folder / name).mkdir()
    index = folder / name / "index"
    run(tree, folder / name, "-c", BUILD, str(folder / "pooled.jsonl"), str(index))
    return index


def read_requests(folder: Path) -> dict[str, Requests]:
    """Return the requests of each kind."""
    questions = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
    lines = (folder / "pooled.jsonl").read_text(encoding="utf-8").splitlines()
    sentences = [text for line in lines for text in json.loads(line)["sentences"]]
    parts = len(sentences) // SENTENCES
    return {
        "answer": Requests("/v1/answer", [{"question": text} for text in questions]),
        "rerank": Requests(
            "/v2/rerank",
            [
                {"query": text, "documents": sentences[part::parts][:SENTENCES]}
                for text, part in zip(questions, range(parts), strict=False)
            ],
        ),
    }


@contextmanager
def serve(tree: Path, index: Path, setting: Setting) -> Iterator[tuple[str, int]]:
    """Give the address of a tree's server, and the number of its process."""
    environment = make_setting(tree, index.parent, setting.threads)
    command = ("rejoinder", "serve", str(index), "--workers", str(setting.workers), "--port")
    with serving(*command, cwd=ROOT, env=environment) as (port, process):
        yield f"http://127.0.0.1:{port}", process.pid


def make_setting(tree: Path, folder: Path, threads: int) -> dict[str, str]:
    """Return the environment of processes that believe that they may use so many cores."""
    place = folder / "startup"
    place.mkdir(exist_ok=True)
    (place / "sitecustomize.py").write_text(BELIEVED, encoding="utf-8")
    environment = make_environment(tree, folder) | {CORES: str(threads)}
    path = os.pathsep.join([str(place), environment["PYTHONPATH"]])
    return {**environment, "PYTHONPATH": path}


def load(
    address: str, pid: int, kinds: Mapping[str, Requests], options: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Yield the figures of a server for each kind of request and number of clients."""
    for name, (path, bodies) in kinds.items():
        asyncio.run(post_all(address, path, bodies, max(options.clients), WARM_UP_SECONDS))
        for clients in options.clients:
            processes = list_processes(pid)
            before = measure_cpu(*processes)
            found = asyncio.run(post_all(address, path, bodies, clients, options.seconds))
            seconds = measure_cpu(*processes) - before
            figures = {
                "cpu_ms": 1000 * seconds / found["requests"],
                "memory_mb": measure_shared_memory(*processes),
            }
            yield {"request": name, "clients": clients, **found, **figures}


def summarize(rounds: Rows) -> dict[str, Any]:
    """Return the medians of the rounds, and all errors."""
    first = rounds[0]
    names = ("requests_per_second", "p50_ms", "p99_ms", "cpu_ms", "memory_mb")
    return {
        "request": first["request"],
        "clients": first["clients"],
        **{name: round(median(row[name] for row in rounds), 2) for name in names},
        "errors": dict(sum((Counter(row["errors"]) for row in rounds), Counter())),
    }


def format_table(rows: Rows) -> str:
    """Return a line for each setting, with the other tree's rate and the ratio to it."""
    heads = ["request", "clients", "workers", "threads", "requests/s", "p50, ms", "p99, ms"]
    heads += ["CPU, ms", "MB"]
    others = {_get_key(row): row for row in rows if row["tree"] == "other"}
    heads += ["before", "ratio"] if others else []
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)]]
    for row in rows:
        if row["tree"] == "other":
            continue
        names = ("requests_per_second", "p50_ms", "p99_ms", "cpu_ms", "memory_mb")
        figures = [row[name] for name in names]
        cells = [*_get_key(row), *(f"{figure:.1f}" for figure in figures)]
        if others:
            before = others[_get_key(row)]["requests_per_second"]
            cells += [f"{before:.1f}", f"{figures[0] / before:.2f}"]
        lines.append([str(cell) for cell in cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _get_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("request", "clients", "workers", "threads"))


if __name__ == "__main__":
    main()
