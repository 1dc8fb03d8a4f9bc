"""Compare the speed of this source tree with another checkout, in one run.

Usage: python -m benchmarks.regression OTHER [--repeats 7] [--only NAME] [--data DATA]
           > regression.json

OTHER is a clone of this repository at another commit; compile its kernel first with
`python -c 'import hatch_build, pathlib; hatch_build.compile_kernel(pathlib.Path())'` there.
Both trees run with this Python and its packages, in turn, so that other load affects both.
Tasks, through public interfaces only:

    ask      a new process answers a question over examples/docs, index in the cache
    cold     the same over an index that exists (`--index`), of 100,000 sentences
    rank     Cosinet ranks 1,000 candidates of 25 words, in one process
    pairs    the selector scores 64 candidates of 25 words, on one thread
    answer   one process opens an index (`open`), and its default cascade answers 200 questions one
             after another: the first of them (`first`), and the median of the others (`answer`)
    same_weights  the same with the models of the other tree in both, so that a difference is one
             of the code
    index    `rejoinder index add` of 100,000 sentences in 200 text files
    serve    a question to /v1/answer of `rejoinder serve`, over one connection
    rerank   96 documents of 64 tokens to /v2/rerank, over one connection
    memory   the largest peak memory of a process of that server, in MB

`answer` and `same_weights` need the data sets of the corpus `pooled` of `benchmarks.open_corpus`,
and are left out without --data; they also say for what share of the questions both trees give the
same answer.  The cascade of `same_weights` is a file with the stages of the other tree's default,
and the folders of its bundles.

Prints one JSON object: the commits of both trees, and for each task the median milliseconds of both
and the median over the rounds of the ratio of this tree to the other.
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
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.common import cache_bytecode, draw_texts, get_peak_memory, list_processes, serving
from benchmarks.corpora.pooled import read_pool

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

PAIRS = """
import statistics, sys, time
import rejoinder
scorer = rejoinder.load("selector", threads=1)
texts = open(sys.argv[1]).read().split("\\n")[:64]
times = []
for _ in range(12):
    start = time.perf_counter()
    scorer.score("how are glacier caves formed?", texts)
    times.append(time.perf_counter() - start)
print(1e3 * statistics.median(times[2:]))
"""
ANSWER = """
import json, statistics, sys, time
from pathlib import Path
import rejoinder
folder, questions, to, *scorer = sys.argv[1:]
times, answers, start = [], [], time.perf_counter()
with rejoinder.open(folder, **{"scorer": name for name in scorer}) as engine:
    opened = time.perf_counter() - start
    for question in json.loads(Path(questions).read_text(encoding="utf-8")):
        start = time.perf_counter()
        found = engine.answer(question).answers[:1]
        times.append(time.perf_counter() - start)
        answers.append([answer.sentence for answer in found])
Path(to).write_text(json.dumps(answers), encoding="utf-8")
print(1e3 * opened, 1e3 * times[0], 1e3 * statistics.median(times[1:]))
"""
BUILD = """
import json, sys
import rejoinder
documents, to = sys.argv[1:]
with rejoinder.Index(to, create=True) as index, open(documents, encoding="utf-8") as lines:
    index.add_documents([rejoinder.Document(**json.loads(line)) for line in lines])
"""
"""Each tree has an index of its own, because their formats may differ."""
RERANKED, TOKENS = 96, 64
QUESTIONS = 200

OTHER_WEIGHTS = "other_weights.toml"
LEFT_OUT = {"scorer", "cost"}
"""Keys of a stage that the cascade of `same_weights` does not take as they are."""

Task = Callable[[Path, Path], dict[str, float]]
"""Runs a task with the source of a tree, in the given folder; returns milliseconds (or MB)."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=TASKS, action="append")
    parser.add_argument("--data", type=Path, help="the folder of data sets")
    options = parser.parse_args()
    names = [name for name in options.only or TASKS if options.data or name not in NEED_DATA]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        cache_bytecode(folder / "bytecode")
        write_inputs(folder)
        trees = {"this": ROOT, "other": options.other.resolve()}
        if NEED_DATA.intersection(names):
            write_corpus(folder, options.data)
            write_cascade(folder, trees["other"])
        result: dict[str, Any] = {"commits": {name: get_commit(trees[name]) for name in trees}}
        for name in names:
            figures = measure(TASKS[name], trees, folder, 3 if name in LONG else options.repeats)
            if name in NEED_DATA:
                figures["answer"]["same_answers"] = compare_answers(folder, trees, name)
            result |= {name: figures} if name == "same_weights" else figures
    print(json.dumps({**result, "cores": os.cpu_count()}, indent=2))


def get_commit(tree: Path) -> str | None:
    """Return the commit of a tree, with `-dirty` if its files differ; None without git."""
    command = ["git", "-C", str(tree), "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


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


def write_corpus(folder: Path, data: Path) -> None:
    """Write the documents that each tree indexes, and questions that they answer."""
    pool = read_pool(data)
    rows = (
        {"id": item.id, "title": item.title, "sentences": list(item.sentences), "text": item.text}
        for item in pool.documents
    )
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "pooled.jsonl").write_text(lines, encoding="utf-8")
    step = len(pool.questions) // QUESTIONS  # some of every set
    questions = [question.text for question in pool.questions[::step]][:QUESTIONS]
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")


def write_cascade(folder: Path, other: Path) -> None:
    """Write the stages of another tree's default cascade, with the folders of its bundles.

    Only what an earlier version reads too: without calibration, which changes no order.
    """
    weights = other / "src/rejoinder/weights"
    default = tomllib.loads((weights / "default.toml").read_text(encoding="utf-8"))
    lines = ['name = "other-weights"']
    for stage in default["stage"]:
        scorer = stage["scorer"]
        bundle = weights / scorer
        shown = str(bundle) if bundle.is_dir() else scorer
        kept = {key: value for key, value in stage.items() if key not in LEFT_OUT}
        pairs = {"scorer": json.dumps(shown), **{key: json.dumps(kept[key]) for key in kept}}
        lines += ["", "[[stage]]", *(f"{key} = {value}" for key, value in pairs.items())]
    (folder / OTHER_WEIGHTS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def compare_answers(folder: Path, trees: dict[str, Path], task: str) -> float:
    """Return the share of questions with the same first answer in both trees."""
    texts = [(folder / name / f"{task}.json").read_text(encoding="utf-8") for name in trees]
    pairs = list(zip(*map(json.loads, texts), strict=True))
    return round(sum(one == other for one, other in pairs) / len(pairs), 3)


def measure(
    task: Task, trees: dict[str, Path], folder: Path, repeats: int
) -> dict[str, dict[str, float]]:
    """Return the medians of both trees and of their ratio, for each figure of a task."""
    for name, tree in trees.items():
        (folder / name).mkdir(exist_ok=True)
        task(tree, folder / name)  # warms the caches
    rounds = []
    for number in range(repeats):
        order = list(trees) if number % 2 else list(reversed(trees))
        rounds.append({name: task(trees[name], folder / name) for name in order})
    return {
        figure: {
            **{
                name: round(statistics.median(i[name][figure] for i in rounds), 2) for name in trees
            },
            "ratio": round(
                statistics.median(i["this"][figure] / i["other"][figure] for i in rounds), 3
            ),
        }
        for figure in rounds[0]["this"]
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


def ask(tree: Path, folder: Path) -> dict[str, float]:
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "ask", QUESTION, "examples/docs")
    return {"ask": 1e3 * (time.perf_counter() - start)}


def rank(tree: Path, folder: Path) -> dict[str, float]:
    return {"rank": float(run(tree, folder, "-c", RANK, str(folder.parent / "candidates.txt")))}


def cold(tree: Path, folder: Path) -> dict[str, float]:
    target = folder / "index"
    if not target.exists():
        index(tree, folder)
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "ask", QUESTION, "--index", str(target))
    return {"cold": 1e3 * (time.perf_counter() - start)}


def pairs(tree: Path, folder: Path) -> dict[str, float]:
    return {"pairs": float(run(tree, folder, "-c", PAIRS, str(folder.parent / "candidates.txt")))}


def answer(tree: Path, folder: Path) -> dict[str, float]:
    return _answer(tree, folder, "answer")


def same_weights(tree: Path, folder: Path) -> dict[str, float]:
    return _answer(tree, folder, "same_weights", str(folder.parent / OTHER_WEIGHTS))


def _answer(tree: Path, folder: Path, task: str, *scorer: str) -> dict[str, float]:
    """Return the milliseconds of opening, of the first question, and the median of the others."""
    target = folder / "pooled"
    if not target.exists():
        run(tree, folder, "-c", BUILD, str(folder.parent / "pooled.jsonl"), str(target))
    inputs = (target, folder.parent / "questions.json", folder / f"{task}.json")
    printed = run(tree, folder, "-c", ANSWER, *map(str, inputs), *scorer).split()
    return dict(zip(("open", "first", "answer"), map(float, printed), strict=True))


def index(tree: Path, folder: Path) -> dict[str, float]:
    shutil.rmtree(folder / "index", ignore_errors=True)
    documents, target = str(folder.parent / "docs"), str(folder / "index")
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "index", "add", documents, "--index", target)
    return {"index": 1e3 * (time.perf_counter() - start)}


def serve(tree: Path, folder: Path) -> dict[str, float]:
    return {"serve": _serve(tree, folder, "/v1/answer", {"question": QUESTION}, SERVED)[0]}


def rerank(tree: Path, folder: Path) -> dict[str, float]:
    return {"rerank": _rerank(tree, folder)[0]}


def memory(tree: Path, folder: Path) -> dict[str, float]:
    return {"memory": _rerank(tree, folder)[1]}


def _rerank(tree: Path, folder: Path) -> list[float]:
    texts = draw_texts(RERANKED, words=TOKENS)  # a common word is one token
    return _serve(tree, folder, "/v2/rerank", {"query": QUESTION, "documents": texts}, SERVED // 2)


def _serve(tree: Path, folder: Path, path: str, body: dict[str, Any], count: int) -> list[float]:
    """Return the median milliseconds of a request, and the largest peak memory of a process."""
    documents, target = "examples/docs", folder / "served"
    if not target.exists():
        run(tree, folder, "-m", "rejoinder", "index", "add", documents, "--index", str(target))
    command = ("rejoinder", "serve", str(target), "--port")
    with serving(*command, cwd=ROOT, env=make_environment(tree, folder)) as (port, process):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        times = []
        for _ in range(WARM_UP + count):
            start = time.perf_counter()
            connection.request("POST", path, json.dumps(body))
            reply = connection.getresponse()
            content = reply.read()
            assert reply.status == 200, content
            times.append(time.perf_counter() - start)
        connection.close()
        peak = max(map(get_peak_memory, list_processes(process.pid)))
    return [1e3 * statistics.median(times[WARM_UP:]), peak]


TASKS: dict[str, Task] = {
    "ask": ask,
    "cold": cold,
    "rank": rank,
    "pairs": pairs,
    "answer": answer,
    "same_weights": same_weights,
    "index": index,
    "serve": serve,
    "rerank": rerank,
    "memory": memory,
}
NEED_DATA = {"answer", "same_weights"}
LONG = {"index", "memory"}
"""Tasks of three rounds at most."""

if __name__ == "__main__":
    main()
