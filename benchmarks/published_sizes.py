"""Read, evaluate and export generated files of published formats and sizes, within 8 GB.

Usage: python -m benchmarks.published_sizes --folder FOLDER [--share 1] > published_sizes.json

Writes ASNQ (train, dev with its two lists, dev++), the full dev files of Natural Questions,
InsuranceQA V1 and YahooQA into the folder, unless they are there, and runs each task in a process
of its own: reading every split, evaluating BM25 on ASNQ dev, writing its run as a TREC file,
exporting ASNQ train as JSON lines, reranking the whole lists of ASNQ and ASNQ++, and training a
selector with context.  `--share 0.01` writes a hundredth of each file.  Prints one
JSON object; the table goes to stderr.  The whole size takes 5 GB of disk, 12 with the export.  How
training copes with these files is measured by `benchmarks.large_training --data FOLDER`.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import generated
from benchmarks.common import describe_machine
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.datasets.readers.jsonl import write_examples
from rejoinder.evaluation import evaluate
from rejoinder.evaluation.trec import write_run

LIMIT_MB = 8_000
STEPS = 200
"""Of a training."""
READ = (
    *("asnq:train", "asnq:dev", "asnq:cascade-dev", "asnq:cascade-test", "asnq++:dev"),
    *("asnq-pages:dev", "nq-la:dev", "insuranceqa-v1:test1", "yahooqa:train"),
)
WRITERS = (
    generated.write_asnq,
    generated.write_nq_dev,
    generated.write_insuranceqa,
    generated.write_yahooqa,
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.task:
        print(json.dumps(measure(arguments.task, arguments.folder)))
        return
    if not (arguments.folder / "yahooqa").exists():
        write_all(arguments.folder, arguments.share)
    rows = [run(task, arguments.folder) for task in TASKS]
    print(show(rows), file=sys.stderr)
    result = {"share": arguments.share, "rows": rows, "machine": describe_machine()}
    print(json.dumps(result, indent=2))
    if any(row["peak_mb"] > LIMIT_MB for row in rows):
        sys.exit(f"more than {LIMIT_MB:,} MB")


def write_all(folder: Path, share: float) -> None:
    """Write a share of every data set."""
    for write in WRITERS:
        write(folder, share)


def run(task: str, folder: Path) -> dict[str, Any]:
    """Return the measures of a task in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.published_sizes"]
    command += ["--task", task, "--folder", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    return {"task": task, **json.loads(done.stdout)}


def measure(task: str, folder: Path) -> dict[str, Any]:
    """Run a task here; return its counts, its seconds of CPU and the memory of this process."""
    import resource  # not on Windows, where tests import this module, too

    started = time.process_time()
    questions, candidates = TASKS[task](folder)
    return {
        "questions": questions,
        "candidates": candidates,
        "seconds": round(time.process_time() - started, 1),
        # In KiB on Linux.
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 // 10**6,
    }


def show(rows: Sequence[dict[str, Any]]) -> str:
    """Return the rows as a Markdown table."""
    head = ["task", "questions", "candidates", "seconds", "peak_mb"]
    lines = [" | ".join(head), "|".join("---" for _ in head)]
    lines += [" | ".join(str(row[name]) for name in head) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def read(name: str, folder: Path) -> tuple[int, int]:
    """Read a split, one question after another; return its questions and candidates."""
    questions = candidates = 0
    for example in open_dataset(name, folder=folder):
        questions += 1
        candidates += len(example.candidates)
    return questions, candidates


def evaluate_and_write_run(folder: Path) -> tuple[int, int]:
    """Evaluate BM25 on ASNQ dev, and write its rankings as a TREC run."""
    report = evaluate("bm25", "asnq:dev", folder=folder)
    with TemporaryDirectory(dir=folder) as place:
        write_run(Path(place, "bm25.run"), report.rankings, "bm25")
    result = report.to_dict()
    return result["questions"], result["candidates"]


def export_train(folder: Path) -> tuple[int, int]:
    """Write ASNQ train in our own format."""
    with TemporaryDirectory(dir=folder) as place:
        path = Path(place, "train.jsonl")
        write_examples(path, open_dataset("asnq", split="train", folder=folder))
    return read("asnq:train", folder)


def rerank_all(folder: Path) -> tuple[int, int]:
    """Rerank the whole lists of ASNQ and of ASNQ++, with scorers that cost next to nothing."""
    from rejoinder.papers.sequential.reproduction import SequentialOptions, reproduce_sequential

    options = SequentialOptions(selectors=["bm25"], questions=None, folder=folder)
    own = [row for row in reproduce_sequential(options) if row["dataset"].startswith("asnq")]
    return sum(row["questions"] for row in own), sum(row["pairs"] for row in own)


def train_with_context(folder: Path) -> tuple[int, int]:
    """Train a small selector that reads neighbours on ASNQ train, for a few steps."""
    from benchmarks.large_training import train

    train("selector-local", folder, STEPS)
    return read("asnq:train", folder)


def _make_reader(name: str) -> Callable[[Path], tuple[int, int]]:
    return lambda folder: read(name, folder)


TASKS: dict[str, Callable[[Path], tuple[int, int]]] = {
    **{f"read {name}": _make_reader(name) for name in READ},
    "evaluate bm25 on asnq:dev, write a run": evaluate_and_write_run,
    "export asnq:train, read it": export_train,
    "sequential --all on asnq:dev and asnq++:dev": rerank_all,
    f"train a selector with context on asnq:train, {STEPS} steps": train_with_context,
}


if __name__ == "__main__":
    main()
