"""Real clusters on this machine: each scheduler, master and worker is a process on loopback."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import pytest

START_SECONDS = 120
HOST = "127.0.0.1"


@dataclass
class Cluster:
    """Where it is, and its workers, which can be killed and started."""

    address: str
    command: list[str]
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start_worker(self) -> None:
        self.workers.append(start(self.command, self.folder))

    def kill_worker(self) -> None:
        """Kill the oldest worker, and all that it has started, with -9."""
        kill_tree(self.workers.pop(0))


@contextmanager
def dask_cluster(workers: int = 2) -> Iterator[Cluster]:
    with _scratch() as folder:
        found = folder / "scheduler.json"
        quiet = ["--no-dashboard", "--scheduler-file", str(found)]
        python = [sys.executable, "-W", "ignore", "-m"]
        scheduler = start(
            [*python, "distributed.cli.dask_scheduler", "--host", HOST, "--port", "0", *quiet],
            folder,
        )
        try:
            wait_until(lambda: found.exists() and bool(found.read_text()), scheduler, folder)
            address = str(json.loads(found.read_text())["address"])
            worker = [*python, "distributed.cli.dask_worker", address, "--nthreads", "1"]
            worker += ["--no-nanny", "--no-dashboard", "--host", HOST]
            worker += ["--local-directory", str(folder)]
            with _running(Cluster(address, worker, folder), workers) as cluster:
                yield cluster
        finally:
            kill_tree(scheduler)


@contextmanager
def spark_cluster(workers: int = 2) -> Iterator[Cluster]:
    if why := find_why_no_spark():
        pytest.skip(why)
    with _scratch() as folder:
        port = find_free_port()
        ports = ["--port", str(port), "--webui-port", "0"]
        run = [str(_find_spark() / "bin" / "spark-class")]
        master = start(
            [*run, "org.apache.spark.deploy.master.Master", "--host", HOST, *ports], folder
        )
        try:
            wait_until(lambda: is_open(port), master, folder)
            address = f"spark://{HOST}:{port}"
            worker = [*run, "org.apache.spark.deploy.worker.Worker", "--host", HOST]
            worker += ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
            worker += ["--work-dir", str(folder), address]
            with _running(Cluster(address, worker, folder), workers) as cluster:
                yield cluster
        finally:
            kill_tree(master)


@contextmanager
def _running(cluster: Cluster, workers: int) -> Iterator[Cluster]:
    try:
        for _ in range(workers):
            cluster.start_worker()
        yield cluster
    finally:
        for worker in cluster.workers:
            kill_tree(worker)


@contextmanager
def _scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rejoinder-cluster-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """Start a process whose workers find this source tree."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": HOST,
        "OMP_NUM_THREADS": "1",
    }
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            command,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env=environment,
            cwd=folder,
            preexec_fn=end_with_parent,
        )


def end_with_parent() -> None:
    """Ask Linux to end this process when the test's own is killed."""
    set_death_signal = 1
    ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that we have started, and all below it, with -9."""
    for pid in [*list_children(process.pid), process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def list_children(pid: int) -> list[int]:
    """Return the processes below one, from the system's own list."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry.parent.name))
    found, waiting = [], [pid]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def wait_until(
    is_ready: Callable[[], bool], process: subprocess.Popen[bytes], folder: Path
) -> None:
    end = time.monotonic() + START_SECONDS
    while not is_ready():
        log = (folder / "log").read_text(errors="replace")[-2000:]
        assert process.poll() is None, f"it ended: {log}"
        assert time.monotonic() < end, f"it does not start: {log}"
        time.sleep(0.1)


def find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


def find_why_no_spark() -> str:
    """Return why Spark cannot run here; nothing where it can."""
    if find_spec("pyspark") is None:
        return "needs pyspark"
    return "" if shutil.which("java") else "needs Java: apt install default-jre-headless"


def _find_spark() -> Path:
    spec = find_spec("pyspark")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent
