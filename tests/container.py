"""Do without a container engine what deploy/Containerfile says: build, start and check health.

Absolute paths of the image are below a folder, and the image's Python is the one that runs this.
What needs root is left out: packages of Debian, the user, the file system of the image.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

ROOT = Path(__file__).parent.parent
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
MAX_START_SECONDS = 120


class Instruction(NamedTuple):
    """An instruction such as `USER 10001`, of the stage with that number."""

    stage: int
    name: str
    text: str


def read_instructions(text: str) -> list[Instruction]:
    """Parse a Containerfile: comments are dropped, continued lines are joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    found: list[Instruction] = []
    stage = -1
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        name, _, rest = line.strip().partition(" ")
        stage += name == "FROM"
        if name:
            found.append(Instruction(stage, name, rest.strip()))
    return found


class Container:
    """The image that a Containerfile describes, in a folder."""

    def __init__(self, folder: Path, path: Path = CONTAINERFILE) -> None:
        self.folder = folder
        self.instructions = read_instructions(path.read_text(encoding="utf-8"))
        (self.port,) = self._read("EXPOSE")

    def copy(self) -> None:
        """Copy from the repository what the first stage copies."""
        for text in self._read("COPY", stage=0):
            *names, target = text.split()
            to = self._map(target)
            for name in names:
                if (ROOT / name).is_dir():
                    shutil.copytree(ROOT / name, to, ignore=shutil.ignore_patterns("*.so"))
                else:
                    Path(to).mkdir(parents=True, exist_ok=True)
                    shutil.copy(ROOT / name, to)

    def build(self) -> None:
        """Run the commands of the first stage."""
        for command in self._read("RUN", stage=0):
            if not command.startswith("apt-get"):
                self._run(["sh", "-c", self._map(command)])

    def check(self) -> None:
        """Index the examples, start the default command on a free port, and check its health."""
        for text in self._read("COPY"):
            _, source, target = text.split()
            assert source == target, f"an environment cannot be moved: {text}"
        (entry,), (default,) = map(self._read, ("ENTRYPOINT", "CMD"))
        entry_point, command = self._parse(entry), self._parse(default)
        self._run(
            [*entry_point, "index", "add", str(ROOT / "examples/docs"), "--index", command[-1]]
        )
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        log = self.folder / "server.log"
        with log.open("w", encoding="utf-8") as file:
            server = subprocess.Popen(
                [*entry_point, *command, "--port", str(port)],
                stderr=file,
                env=self._make_environment(),
            )
        try:
            end = time.monotonic() + MAX_START_SECONDS
            while not self.is_healthy(port):
                assert server.poll() is None, f"`{default}` ended: {log.read_text()}"
                assert time.monotonic() < end, f"not healthy: {log.read_text()}"
                time.sleep(0.2)
            (stop,) = self._read("STOPSIGNAL")
            server.send_signal(signal.Signals[stop])
            assert server.wait(MAX_START_SECONDS) == 0, f"{stop}: {log.read_text()}"
        finally:
            server.kill()
            server.wait()
        assert not self.is_healthy(port), "healthy without a server"

    def is_healthy(self, port: int) -> bool:
        """Run the health check on another port than the image's."""
        (text,) = self._read("HEALTHCHECK")
        command = text.partition("CMD")[2]
        assert f":{self.port}/" in command, f"port {self.port} is exposed, but checked: {command}"
        parts = self._parse(command.replace(f":{self.port}/", f":{port}/"))
        return not subprocess.run(
            parts, check=False, capture_output=True, env=self._make_environment()
        ).returncode

    def _read(self, name: str, stage: int | None = None) -> list[str]:
        """Return the texts of the instructions of a name, by default in the last stage."""
        last = self.instructions[-1].stage
        at = last if stage is None else stage
        return [item.text for item in self.instructions if (item.stage, item.name) == (at, name)]

    def _parse(self, text: str) -> list[str]:
        """Parse a command in the form of a JSON list."""
        return [self._map(part) for part in msgspec.json.decode(text, type=list[str])]

    def _map(self, text: str) -> str:
        """Put the absolute paths of the image below the folder."""
        return re.sub(r"(?<![\w.:/])/(?=\w)", f"{self.folder}/", text)

    def _make_environment(self) -> dict[str, str]:
        """Return this environment with the `python` of the image, and nothing of this source."""
        ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {**ours, "PATH": path, "XDG_CACHE_HOME": str(self.folder / "cache")}

    def _run(self, command: Sequence[str]) -> None:
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=self._make_environment()
        )
        assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
