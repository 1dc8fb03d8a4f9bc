"""Shared by the benchmarks: synthetic inputs, servers, percentiles, memory and the machine."""

import http.client
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from rejoinder.bundle.folder import Manifest, write_bundle
from rejoinder.datasets.catalogue import open_dataset
from rejoinder.models.static_vectors.vectors import load_vectors, to_files

CHANNELS, HIDDEN, KERNEL = 300, 150, 5
"""The sizes of Cosinet + BiRNN in the paper."""
MAX_START_SECONDS = 300


def write_cosinet(folder: Path) -> Path:
    """Write a Cosinet + BiRNN bundle with random weights and the shipped vectors.

    It is as fast as a trained one.  Returns the folder.
    """
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> NDArray[np.float32]:
        return (rng.normal(size=shape) / shape[-1] ** 0.5).astype(np.float32)

    vectors = load_vectors()
    weights = {"output.weight": draw(1, 2 * HIDDEN), "output.bias": draw(1)}
    for side in ("question", "candidate"):
        weights[f"encoder.{side}.convolution.weight"] = draw(CHANNELS, vectors.width + 1, KERNEL)
        weights[f"encoder.{side}.convolution.bias"] = draw(CHANNELS)
    for suffix in ("", "_reverse"):
        weights[f"head.network.weight_ih_l0{suffix}"] = draw(HIDDEN, 2 * CHANNELS)
        weights[f"head.network.weight_hh_l0{suffix}"] = draw(HIDDEN, HIDDEN)
        weights[f"head.network.bias_ih_l0{suffix}"] = draw(HIDDEN)
        weights[f"head.network.bias_hh_l0{suffix}"] = draw(HIDDEN)
    config = {"model": "cosinet", "vector_width": vectors.width, "head": "birnn"}
    manifest = Manifest("cosinet", config | {"are_pieces": True}, training={"data": ["none"]})
    write_bundle(folder, manifest, {"weights.safetensors": save(weights), **to_files(vectors)})
    return folder


def draw_texts(count: int, words: int = 25) -> list[str]:
    """Return random texts of common words, the same ones at each call."""
    rng = np.random.default_rng(0)
    common = np.array(load_vectors().vocabulary[1000:9000])
    return [" ".join(rng.choice(common, words)) for _ in range(count)]


def make_texts(folder: Path | None, count: int, words: int = 25) -> list[str]:
    """Return texts of so many words: the words of WikiQA in their order, or random ones."""
    if folder is None:
        return draw_texts(count, words)
    examples = open_dataset("wikiqa", split="train", folder=folder)
    all_words = [
        word for example in examples for item in example.candidates for word in item.text.split()
    ]
    return [" ".join(all_words[at * words : (at + 1) * words]) for at in range(count)]


@contextmanager
def serving(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Iterator[tuple[int, "subprocess.Popen[bytes]"]]:
    """Run a server module with a free port as its last argument; yield the port once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments, str(port)], cwd=cwd, env=env, stderr=subprocess.DEVNULL
    )
    try:
        end = time.monotonic() + MAX_START_SECONDS
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > end:
                sys.exit(f"python -m {' '.join(arguments)} {port}: the server did not start")
            time.sleep(0.1)
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        body = json.dumps({"query": "why?", "documents": ["So."]})
        connection.request("POST", "/v2/rerank", body, {"Content-Type": "application/json"})
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def get_percentiles(times: Sequence[float], *percents: int) -> dict[str, float]:
    """Return percentiles of milliseconds under names like `p50_ms`."""
    return {f"p{n}_ms": round(float(np.percentile(times, n)), 2) for n in percents}


def measure_memory(*pids: int) -> float:
    """Return the resident memory of processes (of this one if none is given), in MB, on Linux."""
    pages = sum(
        int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        for pid in pids or (os.getpid(),)
    )
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def measure_shared_memory(*pids: int) -> float:
    """Return the memory of processes in MB, on Linux; a page of several counts in parts."""
    return sum(read_rollup(pid)["Pss"] for pid in pids) / 1e3


def measure_cpu(*pids: int) -> float:
    """Return the seconds of CPU time that processes have taken, on Linux."""
    fields = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in pids)
    return sum(int(own[11]) + int(own[12]) for own in fields) / os.sysconf("SC_CLK_TCK")


def read_rollup(pid: int) -> dict[str, int]:
    """Return the kilobytes of each kind of memory of a process, like `Pss`, on Linux."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()[1:]
    return {line.partition(":")[0]: int(line.split()[1]) for line in lines}


def cache_bytecode(folder: Path) -> None:
    """Let Python processes keep bytecode in a folder, as pip compiles that of a wheel."""
    os.environ["PYTHONPYCACHEPREFIX"] = str(folder)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def get_peak_memory(pid: int) -> float:
    """Return the largest resident memory that a process has had, in MB, on Linux."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(
        int(line.split()[1]) / 1e3 for line in status.splitlines() if line.startswith("VmHWM")
    )


def list_processes(pid: int) -> list[int]:
    """Return a process and its descendants, on Linux."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text(encoding="ascii").split():
            found += list_processes(int(child))
    return found


def describe_machine() -> dict[str, Any]:
    """Return the part of a result that says where it was measured."""
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "kind": platform.machine(),
    }
