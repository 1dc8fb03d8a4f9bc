"""Compare the speed of this source tree with another checkout, in one run.

Usage: python -m benchmarks.regression OTHER [--repeats 7] [--only NAME] > regression.json

OTHER is a clone of this repository at another commit; compile its kernel first with
`python -c 'import hatch_build, pathlib; hatch_build.compile_kernel(pathlib.Path())'` there.
Both trees run with this Python and its packages, in turn, so that other load affects both.
Four tasks, through public interfaces only:

    ask      a new process answers a question over examples/docs, index in the cache
    rank     Cosinet ranks 1,000 candidates of 25 words, in one process
    index    `rejoinder index add` of 100,000 sentences in 200 text files
    serve    a question to /v1/answer of `rejoinder serve`, over one connection

Prints one JSON object: for each task the median milliseconds of both trees, and the median over
the rounds of the ratio of this tree to the other.
"""

import argparse
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import draw_texts, serving

ROOT = Path(__file__).parents[1]
QUESTION = "How are glacier caves formed?"
SENTENCES = 100_000
FILES = 200
SERVED = 100
"""Questions per round."""
WARM_UP = 20
RANK = """
import json, statistics, sys, time
import rejoinder
scorer, texts = rejoinder.load("cosinet"), open(sys.argv[1]).read().split("\\n")
times = []
for _ in range(30):
    start = time.perf_counter()
    rejoinder.rank("how are glacier caves formed?", texts, scorer=scorer)
    times.append(time.perf_counter() - start)
print(1e3 * statistics.median(times[5:]))
"""

Task = Callable[[Path, Path], float]
"""Runs a task with the source of a tree, in the given folder; returns milliseconds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=TASKS, action="append")
    options = parser.parse_args()
    names = options.only or list(TASKS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_inputs(folder)
        trees = {"this": ROOT, "other": options.other.resolve()}
        result = {
            name: measure(TASKS[name], trees, folder, 3 if name == "index" else options.repeats)
            for name in names
        }
    print(json.dumps({**result, "cores": os.cpu_count()}, indent=2))


def write_inputs(folder: Path) -> None:
    texts = draw_texts(1000)
    (folder / "candidates.txt").write_text("\n".join(texts), encoding="utf-8")
    (folder / "docs").mkdir()
    per_file = SENTENCES // FILES
    for number in range(FILES):
        sentences = [
            f"{texts[(number * per_file + place) % 1000].capitalize()} {number} {place}."
            for place in range(per_file)
        ]
        (folder / "docs" / f"{number}.txt").write_text(" ".join(sentences), encoding="utf-8")


def measure(task: Task, trees: dict[str, Path], folder: Path, repeats: int) -> dict[str, Any]:
    for name, tree in trees.items():
        (folder / name).mkdir(exist_ok=True)
        task(tree, folder / name)  # warms the caches
    rounds = []
    for number in range(repeats):
        order = list(trees) if number % 2 else list(reversed(trees))
        rounds.append({name: task(trees[name], folder / name) for name in order})
    return {
        **{name: round(statistics.median(item[name] for item in rounds), 2) for name in trees},
        "ratio": round(statistics.median(item["this"] / item["other"] for item in rounds), 3),
    }


def run(tree: Path, folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        check=True,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=make_environment(tree, folder),
    )
    return done.stdout


def make_environment(tree: Path, folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(tree / "src"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }


def ask(tree: Path, folder: Path) -> float:
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "ask", QUESTION, "examples/docs")
    return 1e3 * (time.perf_counter() - start)


def rank(tree: Path, folder: Path) -> float:
    return float(run(tree, folder, "-c", RANK, str(folder.parent / "candidates.txt")))


def index(tree: Path, folder: Path) -> float:
    shutil.rmtree(folder / "index", ignore_errors=True)
    documents, target = str(folder.parent / "docs"), str(folder / "index")
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "index", "add", documents, "--index", target)
    return 1e3 * (time.perf_counter() - start)


def serve(tree: Path, folder: Path) -> float:
    documents, target = "examples/docs", folder / "served"
    if not target.exists():
        run(tree, folder, "-m", "rejoinder", "index", "add", documents, "--index", str(target))
    command = ("rejoinder", "serve", str(target), "--port")
    with serving(*command, cwd=ROOT, env=make_environment(tree, folder)) as (port, _):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        times = []
        for _ in range(WARM_UP + SERVED):
            start = time.perf_counter()
            connection.request("POST", "/v1/answer", json.dumps({"question": QUESTION}))
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            reply.read()
            times.append(time.perf_counter() - start)
        connection.close()
    return 1e3 * statistics.median(times[WARM_UP:])


TASKS: dict[str, Task] = {"ask": ask, "rank": rank, "index": index, "serve": serve}

if __name__ == "__main__":
    main()
