"""Everything that does not need POSIX works without it."""

import ast
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest
from playwright.sync_api import Browser

from tests.browser import TIMEOUT_MS, ask, browser
from tests.portable.sitecustomize import MODULES
from tests.server.running import serving

__all__ = ["browser"]

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "examples" / "docs"
QUESTION = "how are glacier caves formed?"
ANSWER = "Most glacier caves are formed by meltwater"

IMPORT_ALL = """
import pkgutil, sys, rejoinder
from importlib import import_module
from rejoinder.errors import MissingExtraError

for module in pkgutil.walk_packages(rejoinder.__path__, "rejoinder."):
    if module.name not in {"rejoinder.__main__", "rejoinder.models._kernel"}:  # ctypes loads it
        try:
            import_module(module.name)
        except MissingExtraError:  # of a framework that has an environment of its own
            assert module.name.startswith("rejoinder.adapters."), module.name
        print(module.name)
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="runs without POSIX already")


@pytest.fixture(autouse=True)
def _without_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take what only POSIX has from the processes that a test starts."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "portable"), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "portable"))


def run(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        input=typed,
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_names_are_gone() -> None:
    code = "import os, signal; print(hasattr(os, 'sched_getaffinity'), hasattr(signal, 'SIGHUP'))"

    assert run("-c", code).stdout == "False False\n"


def test_every_module_can_be_imported() -> None:
    modules = len(list((ROOT / "src" / "rejoinder").rglob("*.py")))

    assert len(run("-c", IMPORT_ALL).stdout.split()) == modules - 2  # rejoinder, and its __main__


def test_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "page.html").write_text("<p>Green tea is brewed at 75 degrees.</p>")

    done = run("-m", "rejoinder", "ask", QUESTION, str(DOCS))
    page = run("-m", "rejoinder", "ask", "how hot is green tea?", str(tmp_path / "page.html"))

    assert done.stdout.startswith(ANSWER)
    assert page.stdout.startswith("Green tea is brewed at 75 degrees.")
    assert page.stderr.count("this system limits no memory") == 1
    assert page.stderr.count("this system has no locks") == 1


def test_index(tmp_path: Path) -> None:
    index = str(tmp_path / "index")

    run("-m", "rejoinder", "index", "add", str(DOCS), "--index", index)
    assert "no problems" in run("-m", "rejoinder", "index", "check", "--index", index).stdout
    asked = run("-m", "rejoinder", "ask", QUESTION, "--index", index)

    assert asked.stdout.startswith(ANSWER)


PART = """
import sys
from pathlib import Path
import pyarrow
from rejoinder.batch.job_output import get_part_name, write_part

folder = Path(sys.argv[1])
write_part(folder, 0, pyarrow.record_batch({"n": [1, 2]}))
print((folder / get_part_name(0)).stat().st_size > 0)
"""


def test_a_part_of_a_table_is_written(tmp_path: Path) -> None:
    assert run("-c", PART, str(tmp_path)).stdout == "True\n"


HISTORY = """
import sys
from pathlib import Path
from rejoinder.cli.prompt import MAX_HISTORY, _History

path = Path(sys.argv[1])
path.write_text("a question\\n" * (MAX_HISTORY + 1))
_History(path).add("another")
print(len(path.read_text().splitlines()) - MAX_HISTORY, oct(path.stat().st_mode)[-3:])
"""


def test_a_long_history_of_questions_is_cut(tmp_path: Path) -> None:
    assert run("-c", HISTORY, str(tmp_path / "history")).stdout == "1 600\n"


PROMPT = """
from rejoinder.cli.prompt import read_typed

print(*read_typed(), *read_typed())
"""


def test_questions_are_typed_without_readline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))

    done = run("-c", PROMPT, typed="how hot?\nexit\nhow cold?\n")

    assert done.stdout == "how hot? how cold?\n"
    assert done.stderr.count("this system has no readline") == 1
    assert (tmp_path / "rejoinder" / "history").read_text() == "how hot?\nhow cold?\n"


def test_no_module_of_tests_imports_what_only_posix_has() -> None:
    """pytest imports every module of tests and what it uses, also of tests that it leaves out."""
    found = [
        f"{path}: {name}"
        for path in sorted([*ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")])
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [*(alias.name for alias in node.names), getattr(node, "module", None)]
        if name in MODULES
    ]

    assert found == []


def test_every_test_is_collected() -> None:
    """As `make quick` collects them on Windows."""
    collected = run("-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider").stdout

    assert "tests/storage/test_files.py: " in collected


def test_rank() -> None:
    done = run("-m", "rejoinder", "rank", "How hot is tea?", "examples/candidates.txt", "--json")

    assert json.loads(done.stdout)


def test_serve(tmp_path: Path, browser: Browser) -> None:
    index = str(tmp_path / "index")
    run("-m", "rejoinder", "index", "add", str(DOCS), "--index", index)

    with serving(tmp_path, index, "--workers", "1") as server:
        reply = httpx.post(f"{server.address}/v1/answer", json={"question": QUESTION}, timeout=60)
        page = browser.new_page()
        page.set_default_timeout(TIMEOUT_MS)
        page.goto(server.address)
        page.wait_for_selector(".invitation:has-text('sentence')")
        ask(page, QUESTION)
        shown = page.locator(".answer mark").first.inner_text()
        page.close()
        log = server.log.read_text()
        server.process.send_signal(signal.SIGTERM)
        status = server.process.wait(60)

    assert reply.json()["answers"][0]["sentence"].startswith(ANSWER)
    assert shown.startswith(ANSWER)
    assert log.count("this system has no SIGHUP") == 1
    assert log.count("this system has no `nice`") == 1
    assert status == 0
    assert "stopping after all accepted requests" in server.log.read_text()
