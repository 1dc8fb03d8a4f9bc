"""Test the adapters with the real frameworks, each in its own environment.

Usage: python -m tests.adapters.run [NAME...]

For each framework, runs the tests with the coverage of the adapter, the example, and the code in
its section of docs/adapters.md.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.environments import HOME, ROOT, make_environment

HERE = Path(__file__).parent
SECTIONS = {
    "rerankers": ["rerankers"],
    "haystack": ["Haystack"],
    "langchain": ["LangChain"],
    "llama-index": ["LlamaIndex"],
    "pyterrier": ["PyTerrier"],
    "evaluators": ["sentence-transformers and BEIR", "MTEB"],
}
MODULES = {"evaluators": "mteb"}
"""The adapter that a framework's tests must cover, if its name differs."""

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "LANGSMITH_TRACING": "false",
    "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
}


def main() -> None:
    for name in sys.argv[1:] or SECTIONS:
        python = make_environment(name, HERE / "requirements" / f"{name}.txt")
        sys.stderr.write(f"{name} ...\n")
        test(python, name)
        with tempfile.TemporaryDirectory() as folder:
            run(python, str(ROOT / "examples/adapters" / f"with_{_to_module(name)}.py"))
            for section in SECTIONS[name]:
                run_section(python, section, Path(folder))


def test(python: Path, name: str) -> None:
    """Run a framework's tests; keep the coverage beside its environment."""
    module = _to_module(name)
    covered = MODULES.get(name, module)
    run(
        python,
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "filterwarnings=default"),
        *(f"--cov=rejoinder.adapters.{covered}", "--cov-branch", "--cov-fail-under=98"),
        *(f"--cov-config={os.devnull}", "--cov-report=term-missing:skip-covered"),
        str(HERE / "frameworks" / f"test_{module}.py"),
        COVERAGE_FILE=str(HOME / name / "coverage"),
    )


def run_section(python: Path, section: str, folder: Path) -> None:
    """Run the code of a section, in a folder with the index that the page uses."""
    page = (ROOT / "docs/adapters.md").read_text(encoding="utf-8")
    match = re.search(
        rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE
    )
    blocks = re.findall(r"```python\n(.*?)```", match[1] if match else "", re.DOTALL)
    assert blocks, f"docs/adapters.md has no code for {section}"
    docs = str(ROOT / "examples/docs")
    run(python, "-m", "rejoinder", "index", "add", docs, "--index", str(folder / "my-index"))
    for block in blocks:
        run(python, "-c", block, cwd=folder)


def run(python: Path, *arguments: str, cwd: Path = ROOT, **variables: str) -> None:
    """Run a command; if it fails, exit with its output."""
    done = subprocess.run(
        [str(python), *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **QUIET, **variables},
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stdout}\n{done.stderr}")
    if "pytest" in arguments:
        sys.stderr.write(f"  {done.stdout.strip().splitlines()[-1]}\n")


def _to_module(name: str) -> str:
    return name.replace("-", "_")


if __name__ == "__main__":
    main()
