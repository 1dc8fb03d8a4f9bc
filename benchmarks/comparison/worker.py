"""One contender, one set, in a process of its own.

Usage: python -m benchmarks.comparison.worker TASK

TASK is JSON (`measure.Task`).  Writes JSON lines: versions of packages; then one for each question,
or one with the seconds of an index.  When it is done it says so and waits, so that its memory can
be read.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from benchmarks.comparison.setting import Setting

WARM_UP = 5


def main() -> None:
    # Libraries print: only this module writes to the output.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as output:
        os.dup2(2, 1)
        task = json.loads(sys.argv[1])
        limit_cores(task["threads"])
        for line in chain(run(task), [{"done": True}]):
            output.write(json.dumps(line) + "\n")
            output.flush()
        sys.stdin.read()


def limit_cores(count: int) -> None:
    """Run on so many cores, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:count])


def run(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Do a task; yield the lines."""
    paths = {key: Path(task[key]) if task[key] else None for key in ("weights", "manuals")}
    folder, cache = Path(task["folder"]), Path(task["cache"])
    setting = Setting(task["set"], folder, task["threads"], cache=cache, **paths)
    module, _, name = task["function"].partition(":")
    make = getattr(import_module(f"benchmarks.comparison.{module}"), name)
    made = make(setting, **task["arguments"])
    yield {"versions": {name: version(name) for name in task["packages"]}}
    if task["kind"] == "index":
        start = perf_counter()
        seconds = made()
        yield {"seconds": perf_counter() - start if seconds is None else seconds}
        return
    questions = read_questions(folder / "questions.jsonl")[: task.get("limit")]
    ask = rank if task["kind"] == "rank" else search
    yield from ask(made, questions, task["started"])


def read_questions(path: Path) -> list[dict[str, Any]]:
    """Return questions, with their sentences if they are asked inside a document."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def rank(
    made: Callable[..., list[int]], questions: list[dict[str, Any]], started: float
) -> Iterator[dict[str, Any]]:
    """Yield the order of the sentences for each question."""
    for number, item in enumerate(questions[:WARM_UP]):
        made(item["question"], item["sentences"])
        if not number:
            yield {"cold_ms": 1000 * (monotonic() - started)}
    for item in questions:
        start = perf_counter()
        places = made(item["question"], item["sentences"])
        yield {"ms": _count_ms(start), "places": [int(place) for place in places]}


def search(made: Any, questions: list[dict[str, Any]], started: float) -> Iterator[dict[str, Any]]:
    """Yield the answers to each question: one, and five."""
    for number, item in enumerate(questions[:WARM_UP]):
        made.answer(item["question"])
        if not number:
            yield {"cold_ms": 1000 * (monotonic() - started)}
    for item in questions:
        start = perf_counter()
        answers = made.answer(item["question"])
        line = {"ms": _count_ms(start), "answers": answers[:1], "five": answers}
        if made.answer_five:
            start = perf_counter()
            line |= {"five": made.answer_five(item["question"]), "five_ms": _count_ms(start)}
        yield line


def _count_ms(start: float) -> float:
    return round(1000 * (perf_counter() - start), 3)


if __name__ == "__main__":
    main()
