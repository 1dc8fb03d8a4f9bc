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
    answer   the default cascade answers 200 questions over an index, one after another
    first    the first question of that process
    index    `rejoinder index add` of 100,000 sentences in 200 text files
    serve    a question to /v1/answer of `rejoinder serve`, over one connection
    rerank   96 documents of 64 tokens to /v2/rerank, over one connection
    memory   the largest peak memory of a process of that server, in MB

`answer` and `first` need the data sets of the corpus `pooled` of `benchmarks.open_corpus`, and are
left out without --data; `answer` also says for how many questions both trees give the same answer.
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
folder, questions, to = sys.argv[1:]
times, answers = [], []
with rejoinder.open(folder) as engine:
    for question in json.loads(Path(questions).read_text(encoding="utf-8")):
        start = time.perf_counter()
        found = engine.answer(question).answers[:1]
        times.append(time.perf_counter() - start)
        answers.append([answer.sentence for answer in found])
Path(to).write_text(json.dumps(answers), encoding="utf-8")
print(1e3 * times[0], 1e3 * statistics.median(times[1:]))
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

Task = Callable[[Path, Path], float]
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
        if NEED_DATA.intersection(names):
            write_corpus(folder, options.data)
        trees = {"this": ROOT, "other": options.other.resolve()}
        result = {
            name: measure(TASKS[name], trees, folder, 3 if name in LONG else options.repeats)
            for name in names
        }
        if "answer" in names:
            result["answer"]["same_answers"] = compare_answers(folder, trees)
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


def compare_answers(folder: Path, trees: dict[str, Path]) -> float:
    """Return the share of questions with the same first answer in both trees."""
    texts = [(folder / name / "answers.json").read_text(encoding="utf-8") for name in trees]
    pairs = list(zip(*map(json.loads, texts), strict=True))
    return round(sum(one == other for one, other in pairs) / len(pairs), 3)


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


def cold(tree: Path, folder: Path) -> float:
    target = folder / "index"
    if not target.exists():
        index(tree, folder)
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "ask", QUESTION, "--index", str(target))
    return 1e3 * (time.perf_counter() - start)


def pairs(tree: Path, folder: Path) -> float:
    return float(run(tree, folder, "-c", PAIRS, str(folder.parent / "candidates.txt")))


def answer(tree: Path, folder: Path) -> float:
    return _answer(tree, folder)[1]


def first(tree: Path, folder: Path) -> float:
    return _answer(tree, folder)[0]


def _answer(tree: Path, folder: Path) -> list[float]:
    """Return the milliseconds of the first question, and the median of the others."""
    target = folder / "pooled"
    if not target.exists():
        run(tree, folder, "-c", BUILD, str(folder.parent / "pooled.jsonl"), str(target))
    inputs = (target, folder.parent / "questions.json", folder / "answers.json")
    return [float(part) for part in run(tree, folder, "-c", ANSWER, *map(str, inputs)).split()]


def index(tree: Path, folder: Path) -> float:
    shutil.rmtree(folder / "index", ignore_errors=True)
    documents, target = str(folder.parent / "docs"), str(folder / "index")
    start = time.perf_counter()
    run(tree, folder, "-m", "rejoinder", "index", "add", documents, "--index", target)
    return 1e3 * (time.perf_counter() - start)


def serve(tree: Path, folder: Path) -> float:
    return _serve(tree, folder, "/v1/answer", {"question": QUESTION}, SERVED)[0]


def rerank(tree: Path, folder: Path) -> float:
    return _rerank(tree, folder)[0]


def memory(tree: Path, folder: Path) -> float:
    return _rerank(tree, folder)[1]


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
    "first": first,
    "index": index,
    "serve": serve,
    "rerank": rerank,
    "memory": memory,
}
NEED_DATA = {"answer", "first"}
LONG = {"index", "memory"}
"""Tasks of three rounds at most."""

if __name__ == "__main__":
    main()
