"""Build the wheel, install it with the core dependencies only, and use it offline.

Usage: python -m tests.check_wheel

This is what a user gets from `pip install rejoinder`: no torch, no extras, few megabytes, and no
network connection.  Prints the size of each package, as docs/install.md lists it.

Then, on Linux, builds on top of it what deploy/Containerfile builds, and starts it.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from tests.container import Container

ROOT = Path(__file__).parent.parent
MAX_SIZE_MB = 260
"""Of all packages, without pip and without the bytecode that Python writes."""
MAX_WHEEL_MB = 75
"""Of our own wheel, which a package index serves and pip downloads."""
SIZES = """
import importlib.metadata, json

sizes = {}
for package in importlib.metadata.distributions():
    paths = [file.locate() for file in package.files if file.suffix != ".pyc"]
    sizes[package.metadata["Name"]] = sum(path.stat().st_size for path in paths if path.is_file())
print(json.dumps(sizes))
"""

OFFLINE = """
import sys

def refuse(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname"}:
        raise RuntimeError(f"rejoinder tried to use the network: {event} {arguments}")

sys.addaudithook(refuse)
from rejoinder.cli import main
main()
"""

CALLS = [
    ["ask", "How are glacier caves formed?", str(ROOT / "examples" / "docs")],
    ["rank", "How hot is tea?", str(ROOT / "examples" / "candidates.txt")],
    ["models", "list"],
    ["ask", "How hot is tea?", str(ROOT / "README.md")],
    ["data", "list"],
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        container = Container(Path(folder))
        python = install(container)
        for missing in ("torch", "ir_measures", "spacy"):
            assert run(python, "-c", f"import {missing}").returncode, (
                f"{missing} is installed with the core"
            )
        for call in CALLS:
            result = run(python, "-c", OFFLINE, *call)
            assert result.returncode == 0, f"rejoinder {call[0]}: {result.stderr}"
            assert result.stdout, f"rejoinder {call[0]} printed nothing"
        refused = run(
            python, "-c", OFFLINE, "evaluate", "bm25", str(ROOT / "examples/questions.jsonl")
        )
        assert "pip install 'rejoinder[evaluate]'" in refused.stderr, refused.stderr
        refused = run(python, "-c", OFFLINE, "serve")
        assert "pip install 'rejoinder[serve]'" in refused.stderr, refused.stderr
        refused = run(python, "-c", OFFLINE, "mcp", "my-index")
        assert "pip install 'rejoinder[mcp]'" in refused.stderr, refused.stderr
        refused = run(python, "-c", "import rejoinder.adapters.langchain")
        assert "pip install 'rejoinder[langchain]'" in refused.stderr, refused.stderr
        encoder = "from rejoinder.adapters.cross_encoder import CrossEncoder; "
        ranked = run(python, "-c", encoder + "print(CrossEncoder().rank('Who?', ['Ada.']))")
        assert "corpus_id" in ranked.stdout, ranked.stderr
        sizes = measure(python)
        manual = python.parent.parent / "share" / "man" / "man1" / "rejoinder.1"
        assert manual.exists(), "the wheel brings no manual page"
        if sys.platform == "linux":
            container.build()  # where the core is installed, so that nothing is downloaded twice
            container.check()
            sys.stdout.write("the container's default command starts and is healthy\n")
    size = sum(sizes.values())
    for name, megabytes in sorted(sizes.items(), key=lambda item: -item[1]):
        sys.stdout.write(f"{megabytes:6.1f} MB  {name}\n")
    assert size <= MAX_SIZE_MB, f"the core takes {size:.1f} MB of {MAX_SIZE_MB}"
    sys.stdout.write(f"the wheel works offline without extras; the core takes {size:.1f} MB\n")


def install(container: Container) -> Path:
    """Install the wheel into a new environment; return its Python."""
    container.copy()  # what is enough for the image is enough for the wheel
    folder = container.folder
    build = run(
        *(Path(sys.executable), "-m", "pip", "wheel"),
        *("-q", "--no-deps", "-w", str(folder), str(folder / "source")),
    )
    assert build.returncode == 0, build.stderr
    (wheel,) = folder.glob("rejoinder-*-py3-none-*.whl")  # for every Python
    size = wheel.stat().st_size / 1e6
    assert size <= MAX_WHEEL_MB, f"{wheel.name} has {size:.1f} MB of {MAX_WHEEL_MB}"
    sys.stdout.write(f"{size:6.1f} MB  {wheel.name}\n")
    environment = folder / "opt" / "rejoinder"
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    constraints = str(ROOT / "constraints.txt")
    done = run(python, "-m", "pip", "install", "-q", "-c", constraints, str(wheel))
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(python), *arguments], check=False, capture_output=True, text=True)


def measure(python: Path) -> dict[str, float]:
    """Return the megabytes of each package of an environment, but pip and setuptools."""
    sizes: dict[str, int] = json.loads(run(python, "-c", SIZES).stdout)
    return {name: size / 1e6 for name, size in sizes.items() if name not in {"pip", "setuptools"}}


if __name__ == "__main__":
    main()
