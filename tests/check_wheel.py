"""Build the wheel, install it with the core dependencies only, and use it offline.

Usage: python tests/check_wheel.py

This is what a user gets from `pip install rejoinder`: no torch, no extras, under 350 MB, and no
network connection.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
MAX_SIZE_MB = 350

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
        python = install(Path(folder))
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
        size = get_size_mb(python.parent.parent)
    assert size < MAX_SIZE_MB, f"the core environment takes {size} MB of {MAX_SIZE_MB}"
    sys.stdout.write(f"the wheel works offline without extras; its environment takes {size} MB\n")


def install(folder: Path) -> Path:
    """Install the wheel into a new environment; return its Python."""
    build = run(
        Path(sys.executable), "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)
    )
    assert build.returncode == 0, build.stderr
    (wheel,) = folder.glob("rejoinder-*.whl")
    venv.create(folder / "core", with_pip=True)
    python = folder / "core" / "bin" / "python"
    constraints = str(ROOT / "constraints.txt")
    done = run(python, "-m", "pip", "install", "-q", "-c", constraints, str(wheel))
    assert done.returncode == 0, done.stderr
    return python


def run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(python), *arguments], check=False, capture_output=True, text=True)


def get_size_mb(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) // 1_000_000


if __name__ == "__main__":
    main()
