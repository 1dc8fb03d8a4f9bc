"""What reading costs: the time of `index add` in two trees, and the memory for a large text."""

import os
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import measure_memory
from benchmarks.manuals.readers import (
    READERS,
    find_python,
    find_readers,
    make_environment,
    run_reader,
)
from rejoinder.models.static_vectors.vectors import load_vectors

SUFFIXES = {"html": {".html"}, "text": {".txt", ".md"}, "pdf": {".pdf"}}
"""Files that both trees read."""
GROUPS = {"html_and_text": ("html", "text"), "pdf": ("pdf",)}
TEXT_BYTES = 100_000_000
WORDS = 18
"""Words of a generated sentence."""


def measure_time(trees: dict[str, Path], manuals: Path, rounds: int) -> dict[str, Any]:
    """Return seconds of indexing with all trees, and of reading alone with all readers."""
    with tempfile.TemporaryDirectory() as temporary:
        folders = {name: Path(temporary, name) for name in SUFFIXES}
        counts = {name: _copy(manuals, folders[name], SUFFIXES[name]) for name in SUFFIXES}
        indexing = {}
        for group, names in GROUPS.items():
            inputs, target = [folders[name] for name in names], Path(temporary, "index")
            seconds = _time_in_turn(
                {name: partial(_index, tree, inputs, target) for name, tree in trees.items()},
                rounds,
            )
            files = sum(counts[name] for name in names)
            indexing[group] = {"files": files, **_compare(seconds)}
        return {"indexing": indexing, "reading": _time_reading(folders, trees, rounds)}


def _time_reading(
    folders: dict[str, Path], trees: dict[str, Path], rounds: int
) -> dict[str, dict[str, float]]:
    def read(reader: str, folder: Path) -> None:
        deque(run_reader(reader, folder, trees["before"]), maxlen=0)

    result: dict[str, dict[str, float]] = {}
    for name, folder in folders.items():
        readers = [reader for reader in find_readers() if name in READERS[reader]]
        tasks = {reader: partial(read, reader, folder) for reader in readers}
        for reader, times in _time_in_turn(tasks, rounds).items():
            result.setdefault(reader, {})[name] = round(min(wall for wall, _ in times), 1)
    return result


def _time_in_turn(
    tasks: Mapping[str, Callable[[], None]], rounds: int
) -> dict[str, list[tuple[float, float]]]:
    """Return wall-clock and CPU seconds of child processes; the order changes every round."""
    import resource

    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for number in range(rounds):
        for name in list(tasks) if number % 2 else reversed(list(tasks)):
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            tasks[name]()
            wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            seconds[name].append((wall, used))
    return seconds


def _copy(manuals: Path, folder: Path, suffixes: set[str]) -> int:
    files = [path for path in manuals.rglob("*") if path.suffix in suffixes and path.is_file()]
    for path in files:
        target = folder / path.relative_to(manuals)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return len(files)


def _index(tree: Path, inputs: Sequence[Path], target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    if _start_indexing(tree, inputs, target).wait():
        raise SystemExit(f"index add failed in {tree}")


def _start_indexing(tree: Path, inputs: Sequence[Path], target: Path) -> "subprocess.Popen[bytes]":
    command = [find_python(tree), "-m", "rejoinder", "index", "add"]
    return subprocess.Popen(
        [*command, *map(str, inputs), "--index", str(target)],
        env=make_environment(tree),
        cwd=tree,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _compare(seconds: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    best = {name: tuple(map(min, zip(*times, strict=True))) for name, times in seconds.items()}
    result: dict[str, Any] = {
        name: {"seconds": round(wall, 1), "processor_seconds": round(used, 1)}
        for name, (wall, used) in best.items()
    }
    if {"before", "rejoinder"} <= best.keys():
        for place, kind in enumerate(("ratio", "processor_ratio")):
            result[kind] = round(best["rejoinder"][place] / best["before"][place], 2)
    return result


def measure_peaks(trees: dict[str, Path]) -> dict[str, Any]:
    """Return the highest memory of `index add` over 100 MB of generated text, in MB."""
    result: dict[str, Any] = {}
    for name, separator in {"paragraphs": "\n\n", "no_blank_line": "\n"}.items():
        with tempfile.TemporaryDirectory() as temporary:
            source = Path(temporary, "text")
            source.mkdir()
            with (source / "large.txt").open("w", encoding="utf-8") as file:
                file.writelines(_write_text(separator))
            result[name] = {
                tree: round(_measure_peak(path, source, Path(temporary, tree)))
                for tree, path in trees.items()
            }
    return result


def _write_text(separator: str) -> Iterator[str]:
    """Yield paragraphs of five random sentences."""
    rng, written = np.random.default_rng(0), 0
    common = np.array(load_vectors().vocabulary[1000:9000])
    while written < TEXT_BYTES:
        words = rng.choice(common, (5, WORDS))
        paragraph = " ".join(" ".join(row).capitalize() + "." for row in words) + separator
        written += len(paragraph.encode())
        yield paragraph


def _measure_peak(tree: Path, folder: Path, target: Path) -> float:
    """Return the highest memory of the process with its children, sampled, or of one of them."""
    process, peak, ended = _start_indexing(tree, [folder], target), 0.0, 0
    while not ended:
        with suppress(OSError):  # a child may end while it is looked at
            peak = max(peak, measure_memory(*_find_family(process.pid)))
        time.sleep(0.05)
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"index add failed in {tree}")
    return max(peak, usage.ru_maxrss * 1024 / 1e6)


def _find_family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    family = [pid]
    for member in family:
        with suppress(OSError):
            children = Path(f"/proc/{member}/task/{member}/children").read_text(encoding="ascii")
            family += map(int, children.split())
    return family
