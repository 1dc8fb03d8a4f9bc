"""Measure the cold start: the import, `rejoinder rank` with a bundle, and `ask` on an index.

Usage: python -m benchmarks.cold_start [--repeats 15] > cold_start.json

Prints one JSON object: the median wall-clock and CPU time and the peak resident memory of
`import numpy`, of `import rejoinder`, of ranking 100 lines of 25 words with a full-sized
Cosinet + BiRNN, and of asking an index of 20,000 sentences with the default cascade, including
loading, with a warm disk cache and Python's bytecode cached.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.common import cache_bytecode, draw_texts, write_cosinet

QUESTION = "How are glacier caves formed?"
RANK = ["-m", "rejoinder", "rank", QUESTION, "--scorer"]
ASK = ["-m", "rejoinder", "ask", QUESTION, "--index"]
DOCUMENTS, SENTENCES = 200, 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=15)
    print(json.dumps(measure(parser.parse_args().repeats), indent=2))


class Cost(NamedTuple):
    """Time and memory of one process."""

    wall_ms: float
    cpu_ms: float
    memory_mb: float


def measure(repeats: int) -> dict[str, Any]:
    """Return the median cost of each call, and the ratio of the import to numpy's."""
    with tempfile.TemporaryDirectory() as folder:
        cache_bytecode(Path(folder, "bytecode"))
        bundle, lines = write_cosinet(Path(folder, "m")), Path(folder, "lines.txt")
        lines.write_text("\n".join(draw_texts(100)), encoding="utf-8")
        calls = {
            "import_numpy": ["-c", "import numpy"],
            "import_rejoinder": ["-c", "import rejoinder"],
            "rank_100_lines": [*RANK, str(bundle), str(lines)],
            "ask_index": [*ASK, str(write_index(Path(folder, "index")))],
        }
        for call in calls.values():
            run(call)  # warms the disk cache
        # In turn, so that other load on the machine affects all alike.
        rounds = [{name: run(call) for name, call in calls.items()} for _ in range(repeats)]
    median = {
        name: Cost(*map(statistics.median, zip(*(costs[name] for costs in rounds), strict=True)))
        for name in calls
    }
    ratio = median["import_rejoinder"].wall_ms / median["import_numpy"].wall_ms
    return {
        **{
            name: {key: round(value, 1) for key, value in cost._asdict().items()}
            for name, cost in median.items()
        },
        "import_to_numpy": round(ratio, 2),
        "repeats": repeats,
        "cores": os.cpu_count(),
    }


def write_index(folder: Path) -> Path:
    """Index texts of common words, in another process: a child counts the memory of this one."""
    texts = iter(draw_texts(DOCUMENTS * SENTENCES))
    path = folder.with_suffix(".jsonl")
    with path.open("w", encoding="utf-8") as file:
        for number in range(DOCUMENTS):
            text = "".join(f"{sentence.capitalize()}. " for sentence in islice(texts, SENTENCES))
            file.write(json.dumps({"id": str(number), "text": text}) + "\n")
    run(["-m", "rejoinder", "index", "add", str(path), "--index", str(folder)])
    return folder


def run(arguments: Sequence[str]) -> Cost:
    """Run Python once; return its cost."""
    start = time.perf_counter()
    child = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, list(arguments))
    cpu = usage.ru_utime + usage.ru_stime
    return Cost(1e3 * wall, 1e3 * cpu, usage.ru_maxrss * 1024 / 1e6)


if __name__ == "__main__":
    main()
