"""Runs the tasks: each contender, on each set, on one thread and on two, in a process of its own.

A task that is done has a line in a journal, so an interrupted run continues.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Timer
from typing import Any

from benchmarks.common import get_peak_memory
from benchmarks.comparison.bi_encoders import MINUTES
from benchmarks.comparison.contenders import CONTENDERS, INDEXES
from benchmarks.comparison.costs import find_python, measure_folder
from benchmarks.comparison.sets import CorpusSet, QuestionSet, write_sentences
from benchmarks.comparison.setting import Setting
from benchmarks.manuals.readers import ROOT
from rejoinder.storage.journal import append_journal, read_journal

THREADS = (1, 2)
INDEX_THREADS = 2
TASK_MINUTES = 15
"""The most that a task may take; it is left out if it takes more."""
INDEX_MINUTES = 90
LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "ORT_DISABLE_TELEMETRY": "1"}


@dataclass(frozen=True)
class Task:
    """What a worker does."""

    name: str
    """Of the contender, or of the index."""
    set: str
    threads: int
    kind: str
    """`rank`, `search` or `index`."""
    function: str
    arguments: dict[str, Any]
    packages: tuple[str, ...] = ()
    environment: str = ""
    limit: int | None = None
    """How many questions are asked, if not all."""

    @property
    def key(self) -> str:
        """The name of its entry in the journal."""
        return f"{self.kind} {self.set} {self.name} {self.threads}"


class TaskError(Exception):
    """A task failed; the message is the last line of what it wrote."""


@dataclass(frozen=True)
class Run:
    """Where everything is."""

    folder: Path
    """The journal, and a folder for each set."""
    cache: Path
    weights: Path | None
    embed_minutes: float = 60.0
    """The most that one encoder may take for one corpus."""
    minutes: float = float("inf")
    """After so many, no other task is begun."""

    @property
    def journal(self) -> Path:
        """The file with the entries."""
        return self.folder / "journal.jsonl"

    def read(self) -> dict[str, dict[str, Any]]:
        """Return the entries by their keys."""
        return {entry["key"]: entry for entry in read_journal(self.journal)}

    def locate(self, set: str) -> Path:
        """Return the folder of a set."""
        return self.folder / set


def measure_sets(
    run: Run, sets: Sequence[QuestionSet], names: Sequence[str], threads: Sequence[int] = THREADS
) -> dict[str, str]:
    """Do the tasks that are not in the journal; return why others failed, by contender and set."""
    end = time.monotonic() + 60 * run.minutes
    failed: dict[str, str] = {}
    warm: set[str] = set()
    for own in sets:
        prepare_set(run, own)
        chosen = [name for name in names if can_do(name, own)]
        without = {}
        if isinstance(own, CorpusSet):
            without = build_indexes(run, own, chosen)
        for name in chosen:
            lacking = [without[index] for index in CONTENDERS[name].indexes if index in without]
            if lacking:
                failed[f"{name}, {own.name}"] = lacking[0]
                continue
            for task in list_tasks(name, own, threads):
                try:
                    ask(run, own, task, warm, end)
                except TaskError as error:
                    failed[f"{name}, {own.name}"] = str(error)
                    break
    for place, reason in failed.items():
        print(f"{place}: left out: {reason}", file=sys.stderr)
    return failed


def can_do(name: str, own: QuestionSet) -> bool:
    """Return whether a contender answers questions of this kind."""
    contender = CONTENDERS[name]
    return bool(contender.search if isinstance(own, CorpusSet) else contender.ranker)


def list_tasks(name: str, own: QuestionSet, threads: Iterable[int]) -> Iterator[Task]:
    """Yield the tasks of a contender on a set."""
    contender = CONTENDERS[name]
    arguments, function = dict(contender.arguments), contender.ranker
    if isinstance(own, CorpusSet):
        arguments |= contender.search_arguments
        function = contender.search
    packages = tuple(package for package in contender.packages if package != ".")
    for count in threads:
        yield Task(
            *(name, own.name, count, own.kind, function, arguments, packages),
            environment=contender.environment,
        )


def prepare_set(run: Run, own: QuestionSet) -> None:
    """Write what contenders read."""
    folder = run.locate(own.name)
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "questions.jsonl").exists():
        own.write(folder)


def build_indexes(run: Run, own: CorpusSet, names: Iterable[str]) -> dict[str, str]:
    """Build the indexes that contenders need, ours first; return why others could not be built."""
    needed = {index for name in names for index in CONTENDERS[name].indexes}
    failed = {}
    for name in ["rejoinder", *(index for index in INDEXES if index in needed - {"rejoinder"})]:
        builder = INDEXES[name]
        task = Task(
            *(name, own.name, INDEX_THREADS, "index", builder.function, dict(builder.arguments)),
            environment=builder.environment,
        )
        try:
            build_index(run, own, task)
        except TaskError as error:
            failed[name] = str(error)
            if name == "rejoinder":
                sys.exit(f"{own.name}: our own index was not built, which the others need: {error}")
    return failed


def build_index(run: Run, own: CorpusSet, task: Task) -> None:
    """Build an index that is not there yet; an incomplete one is built again."""
    folder = run.locate(own.name)
    if task.key not in run.read():
        shutil.rmtree(folder / task.name, ignore_errors=True)
        print(task.key, file=sys.stderr)
        lines, peak = work(run, task, own.manuals, 60 * INDEX_MINUTES)
        size = measure_folder(folder / task.name) / 1e6
        own_entry = {"seconds": round(lines[-1]["seconds"], 2), "mb": round(size, 3)}
        append_journal(run.journal, {"key": task.key, **own_entry, "peak_mb": round(peak, 1)})
    if task.name == "rejoinder" and not (folder / "sentences.jsonl").exists():
        write_sentences(Setting(own.name, folder, 1, run.weights, run.cache))


def ask(run: Run, own: QuestionSet, task: Task, warm: set[str], end: float) -> None:
    """Ask a contender all questions, unless it was asked before.

    Args:
        warm: names of contenders whose packages and weights are in the disk's cache.
        end: the moment after which it is not asked.

    Raises:
        TaskError: it failed, or it is too late.
    """
    if task.key in run.read():
        return
    if time.monotonic() > end:
        raise TaskError("the time of this run was up; the same command continues it")
    print(task.key, file=sys.stderr)
    if task.name not in warm:
        work(run, replace(task, limit=1), None, 60 * TASK_MINUTES)
        warm.add(task.name)
    load_before = os.getloadavg()[0]
    lines, peak = work(run, task, None, 60 * TASK_MINUTES)
    replies = [line for line in lines if "ms" in line]
    entry = {
        "key": task.key,
        "values": own.judge(replies),
        "ms": [reply["ms"] for reply in replies],
        "five_ms": [reply.get("five_ms", reply["ms"]) for reply in replies],
        "cold_ms": round(lines[1]["cold_ms"], 1),
        "peak_mb": round(peak, 1),
        "versions": lines[0]["versions"],
        "load_before": round(load_before, 2),
    }
    append_journal(run.journal, entry)


def work(
    run: Run, task: Task, manuals: Path | None, seconds: float
) -> tuple[list[dict[str, Any]], float]:
    """Run a worker; return its lines, and its largest memory in MB.

    Raises:
        TaskError: it failed, or took too long.
    """
    setting = {
        **asdict(task),
        "folder": str(run.locate(task.set)),
        "cache": str(run.cache),
        "weights": str(run.weights) if run.weights else None,
        "manuals": str(manuals) if manuals else None,
        "started": (started := time.monotonic()),
    }
    command = [find_python(task.environment), "-m", "benchmarks.comparison.worker"]
    with (
        (run.folder / "worker.log").open("w+", encoding="utf-8") as log,
        subprocess.Popen(
            [*command, json.dumps(setting)],
            cwd=ROOT,
            env=make_environment_variables(run, task.threads),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as child,
    ):
        timer = Timer(seconds, child.kill)
        timer.start()
        try:
            lines, peak = listen(child)
        finally:
            timer.cancel()
            child.kill()  # an interrupted run leaves no worker behind
        if not peak:
            log.seek(0)
            said = log.read().strip().splitlines() or [f"ended with {child.returncode}"]
            late = f"it takes more than {seconds / 60:.0f} minutes"
            raise TaskError(late if time.monotonic() - started > seconds else said[-1])
    return lines, peak


def listen(child: "subprocess.Popen[str]") -> tuple[list[dict[str, Any]], float]:
    """Return the lines of a worker, and its memory when it was done; 0 if it ended before."""
    assert child.stdout is not None
    lines: list[dict[str, Any]] = []
    for text in child.stdout:
        line = json.loads(text)
        if "done" in line:
            return lines, get_peak_memory(child.pid)
        lines.append(line)
    child.wait()
    return lines, 0.0


def make_environment_variables(run: Run, threads: int) -> dict[str, str]:
    """Return the environment of a worker."""
    return {
        **os.environ,
        **OFFLINE,
        **dict.fromkeys(LIBRARIES, str(threads)),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH")))
        ),
        MINUTES: str(run.embed_minutes),
    }
