"""A fresh clone of this repository, and the shell of the person who works in it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 900
PORT = 8080


@dataclass(frozen=True)
class Step:
    """A command with the output that is printed under it, or a block of Python."""

    code: str
    output: str = ""
    is_python: bool = False


def read_steps(text: str) -> list[Step]:
    """Return the commands and the Python of a page, in its order."""
    steps = []
    for language, block in re.findall(r"^```(console|python)\n(.*?)^```", text, re.M | re.S):
        if language == "python":
            steps.append(Step(block, is_python=True))
        else:
            commands = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.M)
            steps += [Step(command, output) for command, output in commands]
    return steps


@dataclass
class Clone:
    """A fresh clone, and the shell of the person who works in it."""

    folder: Path
    environment: dict[str, str]
    packages: Path
    """The installed packages that the clone sees, as links."""
    activation: list[str] = field(default_factory=list)
    """Commands that change the shell itself, for every later command."""

    def run(self, step: Step) -> subprocess.CompletedProcess[str]:
        """Run a step to its end; it must succeed."""
        done = self.try_(step)
        assert done.returncode == 0, f"{step.code}\n{done.stdout}{done.stderr}"
        if step.code.startswith(". "):
            self.activation.append(step.code)
        return done

    def try_(self, step: Step) -> subprocess.CompletedProcess[str]:
        """Run a step to its end."""
        code = ["python", "-c", step.code] if step.is_python else ["sh", "-c", step.code]
        return subprocess.run(
            self._in_shell(code),
            cwd=self.folder,
            env=self.environment,
            check=False,
            capture_output=True,
            encoding="utf-8",
            timeout=MAX_SECONDS,
        )

    @contextmanager
    def serve(self, step: Step, port: int) -> Iterator[Path]:
        """Run a server until the block ends, when it must end with success; yield its log."""
        log = self.folder / "server.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                self._in_shell(["sh", "-c", f"exec {step.code}"]),
                cwd=self.folder,
                env={**self.environment, "REJOINDER_SERVE_PORT": str(port)},
                stdout=file,
                stderr=file,
            )
        try:
            end = time.monotonic() + MAX_SECONDS
            while not is_taken(port):
                assert process.poll() is None, log.read_text(encoding="utf-8")
                assert time.monotonic() < end, log.read_text(encoding="utf-8")
                time.sleep(0.05)
            yield log
            process.send_signal(signal.SIGTERM)
            assert process.wait(MAX_SECONDS) == 0, log.read_text(encoding="utf-8")
        finally:
            process.kill()
            process.wait()

    def show_packages(self, extra: str = "") -> None:
        """Let the clone see what the core needs, or an extra: pip then finds it installed."""
        names = [("rejoinder", extra)]
        for name, wanted in names:  # grows while it is read
            found = distribution(name)
            for text in found.requires or ():
                needed = Requirement(text)
                if needed.marker is None or needed.marker.evaluate({"extra": wanted}):
                    own = [(needed.name, each) for each in ("", *needed.extras)]
                    names += [item for item in own if item not in names]
            for top in {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}:
                link = self.packages / top
                if name != "rejoinder" and not link.exists():
                    link.symlink_to(Path(str(found.locate_file(top))))

    def _in_shell(self, command: list[str]) -> list[str]:
        script = "\n".join([*self.activation, 'exec "$@"'])
        return ["sh", "-c", script, "sh", *command]


def is_taken(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def find_port() -> int:
    """Return the port that README names, or a free one if another program has it."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0 if is_taken(PORT) else PORT))
        return int(server.getsockname()[1])


def make_clone(parent: Path) -> Clone:
    """Clone this repository; its .venv has what the core depends on, but not rejoinder itself.

    The packages are those of the environment that runs the tests: torch takes minutes to install.
    make and pip find them installed, and install rejoinder on top as they do for a newcomer.  Those
    of an extra are not seen before `show_packages`.
    """
    missing = [tool for tool in ("git", "make", "curl") if not shutil.which(tool)]
    if missing or not (ROOT / ".git").exists():
        pytest.skip(f"needs a git checkout and {', '.join(missing or ['git'])}")
    pytest.importorskip("torch")
    folder = parent / "rejoinder"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True, capture_output=True)
    venv.create(folder / ".venv", symlinks=True, with_pip=True)
    (site_packages,) = folder.glob(".venv/lib/python*/site-packages")
    # A path file, so that pip never removes a package of the environment that runs the tests.
    packages = folder.parent / "packages"
    packages.mkdir()
    (site_packages / "base.pth").write_text(f"{packages}\n")
    own = Path(sys.prefix).resolve()
    path = [
        item
        for item in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if not Path(item).resolve().is_relative_to(own)
    ]
    environment = {
        **os.environ,
        "PATH": os.pathsep.join(path),
        "COLUMNS": "200",
        "OMP_WAIT_POLICY": "PASSIVE",
    }
    of_make = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")  # `make test` would have make name its folders
    for name in ("PYTHONPATH", "VIRTUAL_ENV", "REJOINDER_DATA", *of_make):
        environment.pop(name, None)
    clone = Clone(folder, environment, packages)
    clone.show_packages()
    return clone
