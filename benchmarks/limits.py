"""Measure the limits of this machine, and how near the stages of the default cascade come to them.

Usage: python -m benchmarks.limits [--data DATA] [--threads 1,2] [--rounds 7] > limits.json

Prints one JSON object:

- `machine_limits`, per thread, with so many threads at work at once: the peak of the instructions
  that multiply int8, int16, bf16 and fp32 numbers; the bandwidth of reading memory; and the rate of
  the kernel's own products in int8 and fp32 at the shapes of the selector.  A product and a sum are
  two operations.
- `stages`: Cosinet over 200 candidates of 25 words and the selector over 16 of them, from stored
  tokens.  For each the operations and bytes that it needs, the floor that they imply, the measured
  time, and the floor's share of it.

The floor is the larger of two times.  The first is that of all products at the peak of their
instruction: int8 and int16 (attention) in the selector, fp32 in Cosinet.  The second is that of
reading every byte once at full bandwidth: the selector's weights, or the table rows of Cosinet's
distinct words.  Everything else costs nothing in it (GELU, norms, softmax, rounding to int8,
Python), so it cannot be reached.  Cosinet's recurrence cannot reach it for a second reason: each
step waits for the one before.

limits.c is compiled for this run.  Without a C compiler all limits are null, and on processors
other than x86-64 the peaks of instructions and the floors.
"""

import argparse
import ctypes
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np

from benchmarks.common import CHANNELS, HIDDEN, KERNEL, describe_machine, make_texts
from rejoinder import models
from rejoinder.bundle.folder import WEIGHTS, open_bundle
from rejoinder.models.cosinet.network import CosinetNetwork
from rejoinder.models.onnx_session import Runtime
from rejoinder.models.ranker.scorer import RankerScorer
from rejoinder.models.scorer import Scorer
from rejoinder.models.selector.scorer import SelectorScorer
from rejoinder.models.static_vectors.vectors import load_vectors
from rejoinder.text.wordpiece import pretokenize
from rejoinder.types import Candidate

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-O3", "-std=gnu11", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math")
"""As for the kernel in the wheel (hatch_build.py)."""
PEAKS = ("int8", "int16", "bf16", "fp32")
PEAK_FACTOR = 5
"""More rounds for peaks, by which everything else is judged; each takes some 20 ms."""
ROWS = (48, 192)
"""A block of the feed-forward layers, and about the tokens of one call."""
SHAPES = {
    "projections": (384, 1152, 0),
    "joined": (384, 384, 1),
    "inner": (384, 1536, 0),
    "outer": (1536, 384, 1),
}
"""Depth and columns of the selector's products, and whether the result is added to the states."""
MEMORY_BYTES = 256 << 20
"""Larger than any cache."""
QUESTIONS = (
    "How are glacier caves formed in the mountains?",
    "Who wrote the first book about the history of the city?",
    "When did the team win its last championship at home?",
    "What is the difference between a river and a stream?",
)
"""Each with candidates of its own, so that no list finds all its words in the cache."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a stage needs at least: operations by precision, and bytes from memory."""

    operations: dict[str, int]
    bytes: int
    mean_tokens: float


@dataclass(frozen=True, slots=True)
class Limits:
    """Operations and bytes per second of one thread; 0 where one is not known."""

    peaks: dict[str, float]
    bandwidth: float

    def get_floor(self, work: Work, threads: int) -> dict[str, float | None]:
        """Return the milliseconds that the work takes at least on so many threads."""
        if not self.bandwidth or not all(self.peaks[name] for name in work.operations):
            return {"compute_ms": None, "memory_ms": None, "floor_ms": None}
        seconds = sum(count / self.peaks[name] for name, count in work.operations.items())
        compute = 1e3 * seconds / threads
        memory = 1e3 * work.bytes / self.bandwidth / threads
        return {
            "compute_ms": round(compute, 3),
            "memory_ms": round(memory, 3),
            "floor_ms": round(max(compute, memory), 3),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder of data sets; without it random words")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument(
        "--rounds", type=int, default=7, help="of each measurement, the best counts"
    )
    parser.add_argument("--candidates", type=int, default=200, help="that Cosinet scores")
    parser.add_argument("--pairs", type=int, default=16, help="that the selector scores")
    arguments = parser.parse_args()
    lists = make_lists(arguments.data, arguments.candidates)
    machine_limits, stages = [], []
    with tempfile.TemporaryDirectory() as folder:
        library = compile_library(Path(folder))
        for threads in map(int, arguments.threads.split(",")):
            limits = measure_limits(library, threads, arguments.rounds)
            products = measure_products(library, limits, threads, arguments.rounds)
            machine_limits.append(describe_limits(limits, threads) | {"products": products})
            stages += measure_stages(lists, limits, threads, arguments)
    result = {
        "machine": describe_machine(),
        "has_vnni": None if library is None else bool(library.has_vnni()),
        "machine_limits": machine_limits,
        "stages": stages,
    }
    print(json.dumps(result, indent=2))


def compile_library(folder: Path) -> ctypes.CDLL | None:
    """Compile limits.c; return None without a C compiler that can."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    target = folder / "limits.so"
    kernel = [str(Path(models.__path__[0], name)) for name in ("kernel.c", "transformer.c")]
    command = [compiler, *FLAGS, str(SOURCE), *kernel, "-o", str(target), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True)
        library = ctypes.CDLL(str(target))
    except (OSError, subprocess.CalledProcessError):
        return None
    for name in (*PEAKS, "bandwidth", "product"):
        getattr(library, f"measure_{name}").restype = ctypes.c_double
    return library


def measure_limits(library: ctypes.CDLL | None, threads: int, rounds: int) -> Limits:
    if library is None:
        return Limits(dict.fromkeys(PEAKS, 0.0), 0.0)
    peaks = {name: run_together(library, name, threads, PEAK_FACTOR * rounds) for name in PEAKS}
    return Limits(peaks, run_together(library, "bandwidth", threads, MEMORY_BYTES, rounds))


def measure_products(
    library: ctypes.CDLL | None, limits: Limits, threads: int, rounds: int
) -> list[dict[str, Any]]:
    """Return the rates of the kernel's products, in 10^9 operations per second."""
    if library is None:
        return []
    measured = []
    for rows in ROWS:
        for name, (depth, columns, is_residual) in SHAPES.items():
            shape = (rows, depth, columns, is_residual, rounds)
            rates = {
                "int8": run_together(library, "product", threads, 1, *shape),
                "fp32": run_together(library, "product", threads, 0, *shape),
            }
            shares = {
                kind: round(rate / limits.peaks[kind], 3) if rate and limits.peaks[kind] else None
                for kind, rate in rates.items()
            }
            measured.append(
                {
                    "product": name,
                    "shape": f"{rows} x {depth} x {columns}",
                    "gops": {kind: round(rate / 1e9, 1) for kind, rate in rates.items()},
                    "share_of_peak": shares,
                }
            )
    return measured


def run_together(library: ctypes.CDLL, name: str, threads: int, *numbers: int) -> float:
    """Return the mean rate of threads that measure at the same time."""
    start = Barrier(threads)
    measure = getattr(library, f"measure_{name}")  # an attribute keeps its type of result

    def run(_: int) -> float:
        start.wait()
        return float(measure(*map(ctypes.c_int64, numbers)))

    with ThreadPoolExecutor(threads) as pool:
        return statistics.fmean(pool.map(run, range(threads)))


def describe_limits(limits: Limits, threads: int) -> dict[str, Any]:
    peaks = {name: round(rate / 1e9, 1) or None for name, rate in limits.peaks.items()}
    return {
        "threads": threads,
        "peak_gops": peaks,
        "bandwidth_gb": round(limits.bandwidth / 1e9, 1) or None,
    }


def make_lists(folder: Path | None, count: int) -> list[tuple[str, list[Candidate]]]:
    """Return questions, each with so many candidates of its own."""
    texts = make_texts(folder, count * len(QUESTIONS))
    candidates = [Candidate(str(at), text, position=at) for at, text in enumerate(texts)]
    return [
        (question, candidates[at * count : (at + 1) * count])
        for at, question in enumerate(QUESTIONS)
    ]


def measure_stages(
    lists: Sequence[tuple[str, list[Candidate]]],
    limits: Limits,
    threads: int,
    options: argparse.Namespace,
) -> list[dict[str, Any]]:
    cosinet = RankerScorer(open_bundle(WEIGHTS / "cosinet"), CosinetNetwork, threads=threads)
    bundle = open_bundle(WEIGHTS / "selector")
    selector = SelectorScorer(bundle, Runtime(threads))
    stored = [
        (question, [replace(item, tokens=cosinet.encode(item.text)) for item in candidates])
        for question, candidates in lists
    ]
    chosen = [(question, candidates[: options.pairs]) for question, candidates in stored]
    cosinet_work = [count_cosinet(*given) for given in lists]
    selector_work = [
        count_selector([feed["ids"].size for feed in selector.read(*given)], bundle.manifest.config)
        for given in chosen
    ]
    return [
        {"stage": name, "threads": threads, "candidates": len(given[0][1])}
        | compare(work, time_lists(scorer, given, options.rounds), limits, threads)
        for name, scorer, given, work in (
            ("cosinet", cosinet, stored, cosinet_work),
            ("selector", selector, chosen, selector_work),
        )
    ]


def count_cosinet(question: str, candidates: Sequence[Candidate]) -> Work:
    """Return the least that Cosinet needs for a list.

    A position is the sum of five rows of the table and of five products with relatedness.
    """
    words = pretokenize(question)
    texts = [pretokenize(candidate.text) for candidate in candidates]
    positions = sum(map(len, texts))
    distinct = len({word for text in texts for word in text})
    width = load_vectors().width
    convolution = 3 * KERNEL * CHANNELS * (positions + len(words) * len(texts))
    question_products = 2 * len(words) * width * KERNEL * CHANNELS
    relatedness = 2 * distinct * len(words) * width
    head = 2 * len(texts) * 2 * (2 * CHANNELS * HIDDEN + HIDDEN * HIDDEN + HIDDEN)
    row_bytes = 4 * (KERNEL * CHANNELS + width)
    return Work(
        {"fp32": convolution + question_products + relatedness + head},
        distinct * row_bytes,
        positions / len(texts),
    )


def count_selector(lengths: Sequence[int], config: Mapping[str, Any]) -> Work:
    """Return the least that the selector needs for pairs of so many tokens."""
    bert = config.get("architecture") or config["bert"]
    layers, width, inner = (
        int(bert[name]) for name in ("num_hidden_layers", "hidden_size", "intermediate_size")
    )
    weights = layers * (4 * width * width + 2 * width * inner)
    tokens = sum(lengths)
    attention = 2 * sum(length * length for length in lengths) * width
    return Work(
        {"int8": 2 * tokens * weights, "int16": 2 * layers * attention},
        weights + tokens * width,
        tokens / len(lengths),
    )


def time_lists(
    scorer: Scorer, lists: Sequence[tuple[str, list[Candidate]]], rounds: int
) -> list[float]:
    """Return the best milliseconds of each list, with all lists in each round."""
    best = [float("inf")] * len(lists)
    for _ in range(rounds + 1):  # the first one fills the table of words
        for at, (question, candidates) in enumerate(lists):
            best[at] = min(best[at], time_call(lambda q=question, c=candidates: scorer.score(q, c)))  # type: ignore[misc]
    return best


def compare(
    work: Sequence[Work], times: Sequence[float], limits: Limits, threads: int
) -> dict[str, Any]:
    """Return the mean of lists: what they need, the floor, and the measured time."""
    mean = Work(
        {
            name: round(statistics.fmean(item.operations[name] for item in work))
            for name in work[0].operations
        },
        round(statistics.fmean(item.bytes for item in work)),
        round(statistics.fmean(item.mean_tokens for item in work), 1),
    )
    measured = float(np.mean(times))
    floor = limits.get_floor(mean, threads)
    share = None if floor["floor_ms"] is None else round(floor["floor_ms"] / measured, 3)
    return {
        "mean_tokens": mean.mean_tokens,
        "operations": mean.operations,
        "bytes": mean.bytes,
        **floor,
        "measured_ms": round(measured, 3),
        "share_of_peak": share,
    }


def time_call(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


if __name__ == "__main__":
    main()
