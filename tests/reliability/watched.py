"""`rejoinder index add --watch` over a folder in which files change, beside a server."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import httpx2 as httpx

from tests.index.rereading import replace_file
from tests.server.running import MAX_SECONDS, Running

FILES = 5


class WatchedFolder:
    """A folder that a process follows, and the edition of each file in it."""

    def __init__(self, folder: Path, index: Path) -> None:
        self._folder = folder
        self._index = index
        self._numbers = count(1)
        self.changes = 0
        """How many were made and found."""
        self._editions = dict.fromkeys(range(FILES), 0)
        folder.mkdir()
        for file in self._editions:
            self._write(file)

    @contextmanager
    def following(self) -> Iterator["subprocess.Popen[str]"]:
        """Yield the process that follows the folder; in the end it stops as users stop it."""
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        command = [sys.executable, "-m", "rejoinder", "index", "add", str(self._folder), "--watch"]
        log = self._folder.with_name("watch.log")
        with log.open("w") as output:
            process = subprocess.Popen(
                [*command, "--index", str(self._index)],
                stdout=output,
                stderr=output,
                text=True,
                env=environment,
            )
        try:
            yield process
            process.send_signal(signal.SIGTERM)
            assert process.wait(MAX_SECONDS) == 0, log.read_text()[-2000:]
        finally:
            process.kill()
            process.wait()

    def wait_for_all(self, running: Running) -> None:
        """Wait until the server answers from every file."""
        for file in self._editions:
            self._wait_for(running, file, before=None)

    def change_one(self, running: Running) -> None:
        """Replace a file, and wait until the server answers from its new edition alone."""
        number = next(self._numbers)
        file = number % FILES
        before = self._editions[file]
        self._editions[file] = number
        self._write(file)
        self._wait_for(running, file, before=before)
        self.changes += 1

    def _write(self, file: int) -> None:
        replace_file(self._folder / f"{file}.txt", f"{self._describe(file)} " * 20)

    def _describe(self, file: int, edition: int | None = None) -> str:
        shown = self._editions[file] if edition is None else edition
        return f"Watched page{file} tells of penguins in edition{shown}."

    def _wait_for(self, running: Running, file: int, *, before: int | None) -> None:
        """Wait until the new edition answers; until then it is the one before, or none."""
        expected = {self._describe(file)}
        allowed = [set(), expected] if before is None else [{self._describe(file, before)}, set()]
        question = f"what does watched page{file} tell of penguins?"

        def has_followed() -> bool:
            reply = httpx.post(
                f"{running.address}/v1/answer",
                json={"question": question, "top": 5},
                timeout=MAX_SECONDS,
            )
            assert reply.status_code == 200, reply.text
            answers = {item["sentence"] for item in reply.json()["answers"]}
            found = {text for text in answers if f"page{file} " in text}
            assert found in (expected, *allowed), f"{found} instead of {expected}"
            return found == expected

        running.wait_until(has_followed, f"{expected} to be followed")


def measure_memory(process: "subprocess.Popen[str]") -> float:
    """Return the anonymous memory of a process, in megabytes."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1000
