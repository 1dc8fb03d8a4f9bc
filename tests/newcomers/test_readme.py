"""README.md in a fresh clone: its commands and its Python, in the order in which it prints them."""

import json
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
from dataclasses import dataclass, field, replace
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
MAX_SECONDS = 900
PORT = 8080
WIKIQA = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


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
    def serve(self, step: Step, port: int) -> Iterator[None]:
        """Run a server until the block ends; it must then end with success."""
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
            yield
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


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """Return a clone whose .venv has the dependencies of the core, but not rejoinder itself.

    They are those of the environment that runs the tests: torch takes minutes to install.  make and
    pip find them installed, and install rejoinder on top as they do for a newcomer.  Those of an
    extra are not seen before README installs it.
    """
    missing = [tool for tool in ("git", "make", "curl") if not shutil.which(tool)]
    if missing or not (ROOT / ".git").exists():
        pytest.skip(f"needs a git checkout and {', '.join(missing or ['git'])}")
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("newcomer") / "rejoinder"
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


def write_data(folder: Path) -> None:
    """Write tiny data sets in the layouts of WikiQA and TREC-QA, and questions of one's own."""
    questions = folder / "examples" / "questions.jsonl"
    rows = [json.loads(line) for line in questions.read_text(encoding="utf-8").splitlines()]
    wikiqa, trecqa = folder / "DATA" / "wikiqa", folder / "DATA" / "trecqa"
    wikiqa.mkdir(parents=True)
    trecqa.mkdir()
    lines = [
        f"{row['id']}\t{row['question']}\t{row['id']}\tPage\t{row['id']}-{place}"
        f"\t{item['text']}\t{item['label']}\n"
        for row in rows
        for place, item in enumerate(row["candidates"])
    ]
    for split in ("train", "dev", "test"):
        (wikiqa / f"WikiQA-{split}.tsv").write_text(WIKIQA + "".join(lines), encoding="utf-8")
    judged = [
        {
            "question": row["question"],
            "candidates": [
                {"label": item["label"], "sentence": item["text"]} for item in row["candidates"]
            ],
        }
        for row in rows
    ]
    text = "".join(json.dumps(row) + "\n" for row in judged)
    (trecqa / "test.jsonl").write_text(text, encoding="utf-8")
    shutil.copy(questions, folder / "my-questions.jsonl")


def test_every_command_and_python_block_works_in_the_printed_order(clone: Clone) -> None:
    steps = read_steps((clone.folder / "README.md").read_text(encoding="utf-8"))
    write_data(clone.folder)
    servers, port, is_installed = [], find_port(), False

    assert len(steps) > 10
    while steps:
        step = steps.pop(0)
        if step.code.startswith("rejoinder serve"):
            with clone.serve(step, port):
                assert steps[0].code.startswith("curl "), "a client follows its server"
                client = steps.pop(0).code.replace(f"localhost:{PORT}", f"localhost:{port}")
                answered = json.loads(clone.run(Step(client)).stdout)
                assert answered["answers"], answered
            servers.append(step)
            continue
        is_pip = step.code.startswith("pip install")
        if is_pip and (extra := re.search(r"\[(.+)\]", step.code)):
            clone.show_packages(extra[1])
        if is_pip and is_installed:
            # To build the wheel of 45 MB takes 10 s, and it has the same content with every extra:
            # from the second time on, pip resolves the extra but does not build.
            step = replace(step, code=step.code.replace("install", "install --dry-run", 1))
        done = clone.run(step)
        if step.output:
            assert done.stdout == step.output, step.code
        elif not step.code.startswith(". "):
            assert done.stdout, f"{step.code} prints nothing"
        if is_pip:
            assert "does not provide the extra" not in done.stderr, done.stderr
            is_installed = True
    assert servers


def test_the_next_commands_that_make_ask_prints_work(clone: Clone) -> None:
    shown = clone.run(Step("make ask")).stderr
    following = re.findall(r"^(?:next:)? +(\S.*)$", shown.partition("\nnext:")[2], re.M)

    assert len(following) == 2, shown
    first, second = (clone.run(Step(command)).stdout for command in following)
    assert re.findall(r"^\d\. ", first, re.M) == ["1. ", "2. ", "3. "]
    assert re.match(r"\d+ (added|unchanged); ", second)


def test_make_ask_takes_a_question_and_a_folder(clone: Clone) -> None:
    (clone.folder / "notes").mkdir()
    (clone.folder / "notes" / "sloths.txt").write_text("Sloths sleep for ten hours a day.\n")
    readme = (clone.folder / "README.md").read_text(encoding="utf-8")
    command = 'make ask Q="…" DOCS="path/to/folder"'
    assert f"`{command}`" in readme

    asked = command.replace("…", "how long do sloths sleep?").replace("path/to/folder", "notes")

    assert clone.run(Step(asked)).stdout.startswith("Sloths sleep for ten hours a day.\n    notes/")


def test_without_an_extra_a_command_names_it(clone: Clone) -> None:
    clone.run(Step("make ask"))
    hidden = clone.folder.parent / "hidden"
    clone.packages.rename(hidden)
    clone.packages.mkdir()
    try:
        clone.show_packages()
        shown = clone.try_(Step(".venv/bin/rejoinder serve my-index"))
    finally:
        shutil.rmtree(clone.packages)
        hidden.rename(clone.packages)

    assert shown.returncode == 1
    assert "needs extra packages: pip install 'rejoinder[serve]'" in shown.stderr
