"""The limits of a machine: its instructions, its memory, and the kernel's products at our shapes.

limits.c is compiled for each run.  Without a C compiler nothing is known, and on processors other
than x86-64 only the bandwidth and the products in fp32.
"""

import ctypes
import os
import shutil
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from typing import Any

from rejoinder import models

SOURCE = Path(__file__).with_name("limits.c")
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
KINDS = {"int8": 1, "bf16": 2, "fp32": 0}
"""Of products, with their numbers in limits.c; the kernel has none in bf16."""
REASONS = {
    "int8": "the kernel has no int8 products here: it needs AVX-512 VNNI",
    "bf16": "this processor or the C compiler has no AVX-512 BF16",
    "fp32": "the kernel has no products in fp32 here",
}
"""Why a kind of products is left out."""
MEMORY_BYTES = 256 << 20
"""Larger than any cache."""


UNKNOWN = {"compute_ms": None, "memory_ms": None, "floor_ms": None}


@dataclass(frozen=True, slots=True)
class Work:
    """What a stage needs at least: operations by kind, and bytes from memory."""

    operations: dict[str, int]
    """Those that are not among `PEAKS` cost nothing in the floor."""
    bytes: int
    mean_tokens: float | None = None
    """Of a text that the stage reads."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Operations and bytes per second of one thread; 0 where one is not known."""

    peaks: dict[str, float]
    bandwidth: float

    def get_floor(self, work: Work, threads: int) -> dict[str, float | None]:
        """Return the milliseconds that the work takes at least on so many threads."""
        products = {kind: count for kind, count in work.operations.items() if kind in self.peaks}
        if not self.bandwidth or not all(self.peaks[kind] for kind in products):
            return dict(UNKNOWN)
        seconds = sum(count / self.peaks[kind] for kind, count in products.items())
        compute = 1e3 * seconds / threads
        memory = 1e3 * work.bytes / self.bandwidth / threads
        return {
            "compute_ms": shorten(compute),
            "memory_ms": shorten(memory),
            "floor_ms": shorten(max(compute, memory)),
        }


def shorten(number: float) -> float:
    """Return a number with four significant digits: stages differ by orders of magnitude."""
    return float(f"{number:.4g}")


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
    """Return the rates of products, in 10^9 operations per second."""
    if library is None:
        return []
    measured = []
    for rows in ROWS:
        for name, (depth, columns, is_residual) in SHAPES.items():
            shape = (rows, depth, columns, is_residual, rounds)
            rates = {
                kind: run_together(library, "product", threads, number, *shape)
                for kind, number in KINDS.items()
            }
            shares = {
                kind: round(rate / limits.peaks[kind], 3) if limits.peaks[kind] else None
                for kind, rate in rates.items()
                if rate
            }
            measured.append(
                {
                    "product": name,
                    "shape": f"{rows} x {depth} x {columns}",
                    "gops": {kind: round(rate / 1e9, 1) for kind, rate in rates.items() if rate},
                    "share_of_peak": shares,
                    "left_out": {kind: REASONS[kind] for kind, rate in rates.items() if not rate},
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
