"""Start a real server in its own process, and end it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

MAX_SECONDS = 120
"""Generous, for a busy machine."""


@dataclass(frozen=True)
class Running:
    """A running server."""

    address: str
    process: subprocess.Popen[str]
    log: Path

    def list_workers(self) -> list[int]:
        """Return the process ids of the workers."""
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(word) for word in task.read_text().split()]

    def read_metric(self, name: str) -> float:
        """Return a metric without labels."""
        shown = httpx.get(f"{self.address}/metrics", timeout=MAX_SECONDS).text
        match = re.search(rf"^rejoinder_{name} (\S+)$", shown, re.MULTILINE)
        assert match, shown
        return float(match[1])

    def wait_until(
        self, condition: Callable[[], bool], what: str, *, seconds: float = MAX_SECONDS
    ) -> None:
        """Wait until a condition holds."""
        end = time.monotonic() + seconds
        while not condition():
            assert self.process.poll() is None, f"the server ended: {self.log.read_text()[-2000:]}"
            assert time.monotonic() < end, f"not within {seconds:g} s: {what}"
            time.sleep(0.02)

    def count_files(self) -> int:
        """Return how many files and connections the HTTP process has open."""
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def measure_memory(self) -> float:
        """Return the anonymous memory of the server and its workers, in megabytes."""
        kilobytes = 0
        for pid in (self.process.pid, *self.list_workers()):
            status = Path(f"/proc/{pid}/status").read_text()
            kilobytes += int(status.partition("RssAnon:")[2].split()[0])
        return kilobytes / 1000

    def stop(self) -> int:
        """Send SIGTERM, and return the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(MAX_SECONDS)


@contextmanager
def serving(folder: Path, *arguments: str, port: int = 0) -> Iterator[Running]:
    """Yield a server, on a free port by default; its log is in the folder."""
    log = folder / "server.log"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "rejoinder", "serve", *arguments, "--port", str(port)],
            stdout=file,
            stderr=file,
            text=True,
            env=environment,
        )
    try:
        yield Running(_wait_for_address(process, log), process, log)
    finally:
        process.kill()
        process.wait()


def _wait_for_address(process: subprocess.Popen[str], log: Path) -> str:
    end = time.monotonic() + MAX_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if match := re.search(r'"address": "(\S+)"', log.read_text()):
            return match[1]
        time.sleep(0.05)
    raise AssertionError(f"the server did not start: {log.read_text()}")
